//===- Profile.h - measured seconds of nodes --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file that `pp-run --profile` writes: seconds of each node for one
// microbatch on one class of device.
//
//   {"device_class": "cpu-core", "nodes": {"h0.F": 0.00213, "h0.I": 0.0042},
//    "actions": {"0F": 0.00431, "0B": 0.0089}, "hops": {"0>1": 0.00002},
//    "step": {"seconds": 0.105, "before": 0.0001, "after": 0.0004}}
//
// Times of actions, by stage and kind, include the time between their nodes but
// no waiting; hops, by ranks, last from the send to the end of its receive.
// Everything but the class and the nodes is optional.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_PROFILE_H
#define STAGEWRIGHT_COST_PROFILE_H

#include "stagewright/Support/Units.h"
#include <map>
#include <optional>

namespace stagewright {

/// The time of a whole step, and the parts of it without actions.
struct ProfiledStep {
  Seconds seconds;
  Seconds before, after; ///< Before the first action; after the last.
};

/// Measured seconds; `nodes` by name.
struct Profile {
  std::string deviceClass;
  std::map<std::string, Seconds> nodes;
  std::map<std::string, Seconds> actions; ///< By stage and kind, as in "0F".
  std::map<std::string, Seconds> hops;    ///< By ranks, as in "0>1".
  std::optional<ProfiledStep> step;
};

/// Parses the JSON above; errors name `file`.
Result<Profile> parseProfile(const std::string &json, const std::string &file);

/// Reads the file at `path`.
Result<Profile> loadProfile(const std::string &path);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_PROFILE_H
