//===- Pipeline.h - a pipeline as resources and blocks ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's model of a plan: stages that compute, channels between them
// that carry a microbatch's values forwards and its gradients backwards, and
// the resources that both occupy. Compute and transfers never occupy the same
// resource.
//
// A stage's backward is one block (I and W together, with the forward run again
// where the stage recomputes) unless a schedule orders I and W apart.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINE_H
#define STAGEWRIGHT_SIMULATION_PIPELINE_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/Timing.h"
#include <limits>
#include <memory>

namespace stagewright {

struct PipelineStage {
  StageTimes times; ///< Recomputation is part of inputGradient.
  /// From the end of the stage's last backward to the end of its all-reduce,
  /// unless another stage's all-reduce on its processor delays it.
  Seconds tail;
  /// The part of its all-reduce that overlaps the stage's last backward; used
  /// if collectives slow down compute.
  Seconds overlapped = {};
  /// Microbatch m runs on processors[m % size]; one unless whole microbatches
  /// go to replicas in turn. Stages may share a processor.
  std::vector<size_t> processors;

  /// Seconds to copy a microbatch's offloaded values to host memory after its
  /// forward, and as long back before its backward; overlaps with compute.
  Seconds copying = {};
  /// Copies of microbatch m occupy leavingLanes[m % size] to the host and
  /// comingLanes[m % size] back; empty if nothing is copied.
  std::vector<size_t> leavingLanes = {}, comingLanes = {};
  /// Slots per processor: a forward waits until the values of the forward this
  /// many before it are copied; a copy back waits for the second backward
  /// before its own.
  size_t leavingSlots = 1;

  Seconds backward() const {
    return times.inputGradient + times.weightGradient;
  }
};

/// All values that one stage sends to another, and their gradients.
struct PipelineChannel {
  size_t from = 0, to = 0; ///< Stages; from < to, unless `distance` > 0.
  Seconds forward, backward;
  /// Transfers of microbatch m occupy forwardLanes[m % size] or
  /// backwardLanes[m % size]; these are equal if the channel is half duplex.
  std::vector<size_t> forwardLanes, backwardLanes;
  /// Resources shared with other channels, such as NICs, that transfers in this
  /// direction occupy in addition, for all of their time but `latency`: by
  /// lane, one list for all lanes, or none.
  std::vector<std::vector<size_t>> forwardShared, backwardShared;
  Seconds latency = {};
  bool hasForward = true, hasBackward = true;
  /// Microbatch m + distance of stage `to` waits for m of stage `from`: 1 for
  /// parameters that the next iteration uses. Only in forward-only models.
  int64_t distance = 0;
};

/// A transfer from stage `from` to stage `to` after the last backward of
/// `from`: the gradient of a tied parameter.
struct PipelineTie {
  size_t from = 0, to = 0;
  Seconds seconds;
};

/// How transfers that are under way at once use the links in
/// PipelineChannel::forwardShared and backwardShared. With all but Turns, a
/// transfer is a flow: it moves the bytes that the slowest of its links carries
/// in the transfer's time less its latency, at a rate that is set again
/// whenever a flow starts or ends. A connection is a lane of a channel in one
/// direction, with at most one flow at a time; deg(l) is the number of
/// connections that use link l.
enum class LinkSharing {
  Turns, ///< A transfer has its links to itself; others wait for it.
  /// Online execution scheduling: the min over links l of rate(l) / deg(l) is
  /// guaranteed, whatever starts later. The rest goes to the present flows by
  /// max-min water-filling.
  Oes,
  Guaranteed, ///< Only the guaranteed rates.
  Fair,       ///< Max-min fair rates, about those of TCP.
  Fifo        ///< In the order of the starts, each flow takes all that is left.
};

/// "turns", "oes", "guaranteed", "fair", "fifo".
const char *toString(LinkSharing sharing);
/// Any of these except "turns".
Result<LinkSharing> parseLinkSharing(std::string_view name);

struct PipelineModel {
  std::vector<PipelineStage> stages; ///< In topological order.
  std::vector<PipelineChannel> channels;
  std::vector<PipelineTie> ties;
  size_t numProcessors = 0, numLinks = 0; ///< Lanes and shared links.
  int64_t microbatches = 1;
  bool forwardOnly = false;
  /// Factor on the time of compute while an all-reduce runs on the same
  /// processor: on the overlapped part of a stage's last backward, and on
  /// blocks of other stages that start during a tail. Galvatron measures 1.126.
  double collectiveSlowdown = 1;
  LinkSharing sharing = LinkSharing::Turns;
  /// Bytes per second, by link; unused for Turns and for lanes.
  std::vector<double> linkRates = {};

  /// Checks what the simulator relies on: at least one stage and microbatch,
  /// finite times that are not negative, numbers of stages, processors and
  /// links in range, channels from lower to higher stages unless they have a
  /// distance, and positive rates of shared links.
  Status check() const;

  /// Whether a channel leads to a later microbatch, so that a stage may wait
  /// for a later stage.
  bool hasReturns() const;
};

/// How each resource chooses its next block. R_i is the number of processors of
/// stage i and all later stages: S - i if every stage has one.
enum class ExecutionOrder {
  /// By increasing window, backward first: block j of microbatch m belongs to
  /// window m / w + j, where w is the least number of processors of a stage
  /// (docs/planner.md, section 5).
  Window,
  /// Any ready block, backward first, then the lowest microbatch, then the
  /// lowest stage or channel; of messages of backwards, the highest channel.
  Greedy,
  /// Greedy with at most R_i microbatches in flight on stage i (DAPPLE P_A), an
  /// equal part of them on each of its r processors.
  CapA,
  /// Greedy with at most 2 R_i - r (DAPPLE P_B).
  EarlyBackward,
  /// All forwards, then all backwards; Greedy if the model has returns.
  GPipe,
  /// R_i forwards, then strictly one backward, one forward, distributed to the
  /// processors; pipelines side by side each run their own 1F1B.
  OneFOneB
};

/// The number of microbatches per window.
size_t windowWidth(const PipelineModel &model);

/// All execution orders, in declaration order.
std::vector<ExecutionOrder> allExecutionOrders();

/// "window", "greedy", "cap-a", "early-backward", "gpipe", "1f1b".
const char *toString(ExecutionOrder order);
Result<ExecutionOrder> parseExecutionOrder(std::string_view name);

/// Makespan of the step: from the first start to the last end of a block, of a
/// tail or of a tie; infinite if it is more than `atMost`, and for Window if
/// links share rates or a channel has a distance. `model` must pass check().
/// Deterministic; O(blocks) for Window, O(blocks log S) for the others. No
/// order deadlocks, even if stages share processors.
///
/// Times are integers in a unit of 10^n seconds, with at most 10^14 units in
/// the longest block: sums are exact, equal times compare equal, and the
/// relative error of the result is less than 1e-9.
///
/// Window: d(n) is the longest path of channels from a source to stage n, D the
/// largest. With one processor a stage, microbatch m has its F_n in window
/// m + 2 d(n), its B_n in m + 4 D - 2 d(n), its transfer u -> v in m + 2 d(u) +
/// 1, and its transfer back v -> u in m + 4 D - 2 d(v) + 1. Every resource
/// takes blocks by (window, backward first, number), except that B of the
/// deepest stage follows its F. This is one total order.
///
/// Other orders, at each time: first, blocks end; then ready transfers start,
/// those of zero length first, the others by priority (backward first, lowest
/// microbatch, lowest number) if all their resources are free; then compute
/// starts, by the same priority or in the stated order. In-flight caps count
/// forwards started minus backwards ended on a processor. If stages share a
/// processor, GPipe runs them one after the other; 1F1B keeps the order of each
/// stage and chooses among stages by priority.
Seconds
makespanOf(const PipelineModel &model, ExecutionOrder order,
           Seconds atMost = Seconds(std::numeric_limits<double>::infinity()));

/// makespanOf() for many models: reuses its memory between calls.
class PipelineSimulator {
public:
  PipelineSimulator();
  ~PipelineSimulator();
  Seconds
  makespanOf(const PipelineModel &model, ExecutionOrder order,
             Seconds atMost = Seconds(std::numeric_limits<double>::infinity()));

private:
  std::unique_ptr<class PipelineEngine> engine;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINE_H
