//===- Dapple.h - DAPPLE's latency and search -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner of DAPPLE (Fan et al., PPoPP 2021) on plain numbers. It ranks
// plans by a closed formula, the latency L of a synchronous pipeline in which
// transfers count as stages, and builds them stage by stage: all layers that
// are not planned yet form one last stage on all remaining devices.
//
// L is an estimate, not a bound: bubbles inside the pivot stage are ignored.
// On random problems the mean error is 0.5 %, the max 31 %.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DAPPLE_H
#define STAGEWRIGHT_PLANNING_DAPPLE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stagewright {

/// A stage, of computation or of a transfer: its seconds for one microbatch,
/// and those of its all-reduce, once a step.
struct DappleStage {
  double forward = 0, backward = 0, allReduce = 0;

  double load() const { return forward + backward; }
};

struct DappleLatency {
  double seconds = 0;
  size_t pivot = 0; ///< The stage with the fewest bubbles.
};

/// The latency L of `stages`, at least one, in pipeline order. With Q the
/// pivot, M microbatches and A_s the all-reduce of stage s:
///   L = sum_{s<=Q} F_s + (M - 1) (F_Q + B_Q)
///       + max_s (A_s + (s <= Q ? sum_{s..Q} B : - sum_{Q..s} B)).
/// Q starts at the last stage. From there to the front, it moves to stage s if
/// M - 1 microbatches take longer on s than M - 1 on Q plus one on all stages
/// between s and Q. L >= M (F_s + B_s) for every s. Time O(S).
DappleLatency dappleLatency(const std::vector<DappleStage> &stages,
                            int64_t microbatches);

/// Devices that a stage may take, with a number that identifies the set.
struct DappleGroup {
  size_t id = 0;
  std::vector<size_t> devices; ///< Increasing.
};

/// The planning problem and its costs.
struct DappleInput {
  size_t layers = 0;
  int64_t microbatches = 1;
  std::vector<size_t> hostOf; ///< By device.
  /// By host: its kind. Hosts of one kind and size are interchangeable.
  std::vector<size_t> kindOf;
  /// The costs of layers [first, end) on the devices of a group.
  std::function<DappleStage(size_t first, size_t end, const DappleGroup &)>
      stage;
  /// The transfer of the values across the cut before layer `cut`; it has no
  /// all-reduce.
  std::function<DappleStage(size_t cut, const DappleGroup &from,
                            const DappleGroup &to)>
      channel;
  /// Min seconds of forward and backward of each layer on any device, used to
  /// prune prefixes. Empty: no pruning.
  std::vector<double> leastLoad = {};
  /// The value that ranks pipelines, if not L. It must be at least (M - 1)
  /// times the load of every stage.
  std::function<double(const std::vector<DappleStage> &)> rank = {};
  int64_t maxReplicas = 0; ///< Max devices of a stage; 0: no limit.
  int64_t stages = 0;      ///< Requested compute stages; 0: any number.
};

/// Layers [first, end) on `devices`.
struct DapplePlace {
  size_t first = 0, end = 0;
  std::vector<size_t> devices;
};

struct DapplePlan {
  double latency = 0;
  std::vector<DapplePlace> stages;
};

/// The sets of `count` free devices that the placement policies choose if the
/// first `used[h]` devices of host h are taken: Fresh First fills unused hosts
/// first, Append First hosts in use, Scatter First takes one device of each
/// host in turn, hosts in use first. Without duplicates.
std::vector<std::vector<size_t>>
dapplePlacements(const std::vector<std::vector<size_t>> &hosts,
                 const std::vector<size_t> &used, size_t count);

/// The plans found, one for each number of stages, the one of least latency
/// first; none if no plan has the requested stages and replicas.
///
/// For each number of layers and occupancy of the hosts (a state), the search
/// keeps two prefixes of stages: the one with the least latency (TPL in the
/// paper) and the one whose own stages have the least. Unless another number of
/// stages is requested, it tries data parallelism and all plans of two stages
/// on the devices that the policies choose. For N layers and G devices it takes
/// O(states) memory and O(states N G) time.
std::vector<DapplePlan> searchDapple(const DappleInput &input);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DAPPLE_H
