//===- DappleArrangements.h - devices used and devices left -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to DAPPLE's search: which devices are in use, and which the next
// stage may take. Prefixes of stages with the same devices in use share an
// arrangement, so that its choices are computed once.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DAPPLEARRANGEMENTS_H
#define STAGEWRIGHT_PLANNING_DAPPLEARRANGEMENTS_H

#include "stagewright/Planning/Dapple.h"
#include <map>

namespace stagewright {

struct Arrangement;

/// Devices for the next stage, and those left after it.
struct Choice {
  const DappleGroup *group = nullptr;
  const DappleGroup *all = nullptr; ///< All devices left.
  /// If a stage may not have all devices left: as many of them as it may have;
  /// else null.
  const DappleGroup *few = nullptr;
  Arrangement *after = nullptr;
};

/// Which devices are in use, and the choices for the next stage.
struct Arrangement {
  std::vector<size_t> used; ///< By host.
  size_t free = 0;
  std::vector<Choice> choices; ///< Computed on first use.
  bool isFilled = false;
};

/// The key of a prefix of stages. Of the prefixes with the same number of
/// layers and equal keys only the best are kept. Keys are ordered by devices in
/// use, so that a prefix comes before those that extend it.
struct Occupancy {
  size_t devices = 0;
  size_t stages = 0; ///< 0 unless their number is requested.
  /// Of each host its kind and the number of its devices in use; sorted.
  std::vector<std::pair<size_t, size_t>> hosts;

  auto operator<=>(const Occupancy &) const = default;
};

class DappleArrangements {
public:
  explicit DappleArrangements(const DappleInput &input);

  Arrangement &of(const std::vector<size_t> &used);
  /// The arrangement with no device in use.
  Arrangement &empty() { return of(std::vector<size_t>(hosts.size(), 0)); }
  const std::vector<Choice> &choicesOf(Arrangement &arrangement);
  /// All devices, or as many as a stage may have.
  const DappleGroup &whole();
  Occupancy occupancyOf(const std::vector<size_t> &used, size_t stages) const;
  bool allows(size_t replicas) const {
    return input.maxReplicas == 0 || replicas <= size_t(input.maxReplicas);
  }

private:
  const DappleGroup &groupOf(const std::vector<size_t> &devices);

  const DappleInput &input;
  std::vector<std::vector<size_t>> hosts;
  std::map<std::vector<size_t>, DappleGroup> groups;
  std::map<std::vector<size_t>, Arrangement> arrangements;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DAPPLEARRANGEMENTS_H
