//===- Generators.h - schedules by name -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each generator is one function in a file of its own under
// lib/Scheduling/Generators, with a picture of its order; this header lists
// them. Generators do not use times, except that some choose their warm-up by
// the ratio of a hop to a forward. Two more, `searched` and `searched-zb`,
// search for an order and need costs. Symbols: p ranks, v chunks per rank, M
// microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_H

#include "stagewright/Scheduling/Placement.h"
#include "stagewright/Scheduling/Schedule.h"
#include <functional>
#include <memory>
#include <span>

namespace stagewright {

struct ScheduleProblem;

/// The input of a generator.
struct ScheduleShape {
  int64_t ranks = 1;
  int64_t microbatches = 1;
  bool forwardOnly = false; ///< Inference: no backward actions.
  int64_t chunks = 1;       ///< Stages per rank.
  /// Microbatches that a chunk runs before the next chunk runs its own
  /// (interleaved schedules); 0: the schedule's default.
  int64_t group = 0;
  /// Time of a hop / time of a forward, for latency-aware warm-ups.
  double hopRatio = 0;
  /// By rank: number of replicas that take microbatches in turn. The warm-up of
  /// 1F1B and similar orders then counts the replicas of this and all later
  /// ranks instead of these ranks. Empty: one each.
  std::vector<int64_t> replicas = {};
  /// Number of ranks without a last chunk; they are the last ranks. There are
  /// that many stages fewer.
  int64_t spare = 0;
  /// Costs of stages and memory of ranks, if known; used by `searched` and
  /// `searched-zb`.
  std::shared_ptr<const ScheduleProblem> costs = {};
};

// Bubbles are for equal stages, where F, I, W are the times of all chunks of a
// rank, B = I + W, and c is the time of a hop. Memory is in activations of all
// chunks of a rank. Sections are those of the papers named. "Reference:" names
// the public generator that has the same order.

/// All forwards, then all backwards, microbatches in increasing order (Huang et
/// al., GPipe, NeurIPS 2019). Holds M activations on every rank; bubble
/// (p - 1)(F + B + 2c).
Result<Schedule> generateGPipe(const ScheduleShape &shape);

/// One forward, one backward: rank r runs p - r forwards, then alternates (the
/// flush schedule of PipeDream-2BW; P_A of DAPPLE, PPoPP 2021, is this order,
/// and `dapple-a` its other name). Holds min(p - r, M) activations on rank r;
/// bubble (p - 1)(F + B + 2c) + 2c floor((p - 1)(M - 1) / p).
Result<Schedule> generateOneFOneB(const ScheduleShape &shape);

/// 1F1B with the fewest additional warm-up forwards that hide the hops: rank r
/// runs q + (q - 1) k forwards first, q = p - r, k = ceil(2 c / (F + B)) =
/// ceil(2 x / 3) for x = hopRatio, if a backward takes as long as two forwards.
/// Holds as many activations as warm-up forwards, at most M; bubble
/// (p - 1)(F + B + 2c).
Result<Schedule> generateEagerOneFOneB(const ScheduleShape &shape);

/// 1F1B with 2 (p - r) - 1 warm-up forwards on rank r, so that transfers
/// overlap with compute (P_B of DAPPLE, PPoPP 2021, `dapple-b`; Eager1F1B of
/// JaxPP). Holds min(2 (p - r) - 1, M) activations; bubble (p - 1)(F + B + 2c)
/// for transfers of 2c <= F + B.
Result<Schedule> generateEarlyBackward(const ScheduleShape &shape);

/// The order of each stage in the window order of docs/planner.md, section 5:
/// max(1, 4 (p - 1 - r)) warm-up forwards on rank r, then alternately one
/// backward and one forward. Holds as many activations as warm-up forwards, at
/// most M. If channels follow the windows too, a step takes at most
/// (M + 4p - 4) C, where C is the max time that a stage or a channel works for
/// one microbatch.
Result<Schedule> generateWindow(const ScheduleShape &shape);

/// Interleaved 1F1B, depth first (Narayanan et al., SC 2021): chunks alternate
/// after G microbatches each, G = `group` or p; (v - 1) G + 2 (p - r - 1)
/// warm-up forwards. The last group may be smaller, but no group has fewer than
/// p microbatches unless it has all M (as in Megatron-LM). For G = p holds
/// ((v - 1) p + 2 (p - 1 - r) + 1) / v; bubble (p - 1)(F + B) / v + 2 (p v - 1)
/// c for hops up to half a chunk.
Result<Schedule> generateInterleaved(const ScheduleShape &shape);

/// Breadth first (Lamy-Poirier, MLSys 2023): all microbatches go through one
/// chunk, then through the next; backwards from the last chunk to the first;
/// microbatches in increasing order. Holds M; bubble (p - 1)(F + B) / v. Each
/// stage's weights are needed in one interval for all forwards and one for all
/// backwards.
Result<Schedule> generateBreadthFirst(const ScheduleShape &shape);

/// Breadth first with backwards in decreasing order of microbatches. Reference:
/// PyTorch's ScheduleLoopedBFS.
Result<Schedule> generateLoopedBreadthFirst(const ScheduleShape &shape);

/// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024): 1F1B with I
/// in place of B, and W of microbatch j - r after I of j on rank r. Holds
/// min(p, M) on every rank; bubble (p - 1)(F + I - W + 4c) for 2c <= W <=
/// min(F, I) and M > p. Reference: sail-sg, branch arxiv.
Result<Schedule> generateZbH1(const ScheduleShape &shape);

/// ZB-H2 (the same paper): 2 (p - r) - 1 warm-up forwards, W of j - 2r after I
/// of j. Holds min(2p - 1, M) on every rank; bubble of the span
/// (p - 1)(F + I - 2W + 2c), of the makespan (p - 1) max(F + c, F + I - 2W +
/// 2c), for W <= min(F, I), 2c <= W, M >= 2p - 1. Reference: sail-sg, branch
/// arxiv.
Result<Schedule> generateZbH2(const ScheduleShape &shape);

/// ZB-H2 with floor(2 (q - 1) x) more warm-up forwards on rank r, q = p - r,
/// x = min(hopRatio, 1), and with W delayed by floor(2 r x) more microbatches.
/// The warm-ups are those of Shardy's ZeroBubbleH2 (Zero-, Half- and
/// FullTxLatency at x = 0, 1/2, 1). Holds at most
/// min(2p - 1 + floor(2 (p - 1) x), M).
Result<Schedule> generateZbH2Latency(const ScheduleShape &shape);

/// Interleaved 1F1B with I and W apart: (v - 1) G + p - r - 1 warm-up forwards,
/// then forward and I alternate, with a W after each I from the r-th on. The
/// same M are valid as for `interleaved`. Holds p; bubble (p - 1) F / v.
/// Reference: PyTorch's ScheduleInterleavedZeroBubble.
Result<Schedule> generateInterleavedZb(const ScheduleShape &shape);

/// Loop placement with groups of p microbatches as in `interleaved-zb`, but for
/// any M and any number of stages, and with bounded memory: list scheduling for
/// equal times (LoopWithin.h; ours). W goes first where a rank would otherwise
/// hold more than p activations; an activation whose I has run and whose W has
/// not counts twice. A microbatch enters while fewer than p + ceil(p / 8) are
/// in flight. Holds at most p + ceil(p / 8); no closed form of the bubble.
Result<Schedule> generateLoopedZb(const ScheduleShape &shape);

/// The same with a limit of p + ceil(p / 8) activations on a rank, and of
/// p + 2 ceil(p / 8) microbatches in flight.
Result<Schedule> generateLoopedZbWide(const ScheduleShape &shape);

/// ZB-V (Qi et al., Pipeline Parallelism with Controllable Memory, NeurIPS
/// 2024): two chunks, V placement, M >= 2p - 1. Holds p; bubble of the span 0
/// at F = I = W, of the makespan (p - 1) F / 2. Reference: PyTorch's
/// ScheduleZBVZeroBubble.
Result<Schedule> generateZbV(const ScheduleShape &shape);

/// V-Half (the same paper): a building block of period 6 slots whose forwards
/// are 2 slots apart from rank to rank on the way down. Holds about p / 2 + 1.
/// Start times are those of the paper; closing gaps and placing W is ours
/// (VBlock.h).
Result<Schedule> generateVHalf(const ScheduleShape &shape);

/// V-Min (the same paper): the building block with the least memory, about
/// (p + 4) / 3 activations.
Result<Schedule> generateVMin(const ScheduleShape &shape);

/// DualPipe (DeepSeek-V3 technical report, 2024): microbatches 0 .. M/2 - 1
/// start at stage 0 on rank 0, the others at stage 0 on rank p - 1; forwards of
/// one half are paired with backwards of the other. Twin placement: every
/// stage's weights are on two ranks. p even, M even, M >= 2p. Holds p + 1
/// activations of a stage; bubble (p / 2 - 1)(F&B + B - 3W) in times of a
/// stage, where F&B is the time of a pair. Reference: deepseek-ai.
Result<Schedule> generateDualPipe(const ScheduleShape &shape);

/// DualPipe cut in half: V placement with two chunks on p ranks, no second copy
/// of weights; M >= 2p. Holds p + 1/2; bubble that of DualPipe on 2p ranks.
/// Reference: PyTorch's ScheduleDualPipeV and deepseek-ai's DualPipeV.
Result<Schedule> generateDualPipeV(const ScheduleShape &shape);

/// Chimera (Li and Hoefler, SC 2021): two 1F1B pipelines in opposite directions
/// share the ranks and have half of the microbatches each; units of p
/// microbatches follow each other (direct concatenation). Twin placement; p and
/// M even. Holds between p / 2 + 1 and p activations; bubble (p - 2) F for
/// F = B and M a multiple of p. Reference: nnScaler's sched_chimera_direct (p =
/// 4).
Result<Schedule> generateChimera(const ScheduleShape &shape);

/// Inference through several chunks: groups of G (`group` or p) microbatches go
/// through all chunks, one group after another. Each chunk runs microbatches in
/// increasing order, so that they may be consecutive pieces of one long prompt.
/// No bubble between groups if M is a multiple of p.
Result<Schedule> generateForwardOnly(const ScheduleShape &shape);

/// The order of tensor-parallel shards, where each p consecutive stages are a
/// level: G (`group` or 2) microbatches alternate through all levels, forwards
/// and backwards, before the next G begin, so that one microbatch is sent to
/// the other ranks while another is computed. Holds G; no bubble if the ranks
/// of a level do not wait for each other and a transfer takes less time than a
/// stage. In a pipeline, whose stages do wait, all but one rank would be idle.
/// Not in the list of all generators.
Result<Schedule> generateLevels(const ScheduleShape &shape);

/// The best order that a search finds for the shape's costs and memory
/// (AutoSchedule.h); backwards are whole. Not in the list of all generators:
/// planners use it as a last step to improve a plan. For up to 2^14 actions.
Result<Schedule> generateSearched(const ScheduleShape &shape);

/// The same with I and W apart.
Result<Schedule> generateSearchedZb(const ScheduleShape &shape);

/// One entry of the list of generators.
struct Generator {
  const char *name;   ///< As in `kind=`.
  const char *symbol; ///< Name of the schedule in IR.
  Placement placement;
  /// Min and max chunks per rank; `mostChunks` 0: no maximum.
  int64_t leastChunks, mostChunks;
  /// Defined for every M >= 1 by loops (Segments.h). The others fail for some
  /// M, or their order cannot be written as loops over M.
  bool anyMicrobatches;
  bool splitsBackward; ///< Has I and W in place of some or all B.
  const char *summary; ///< One line for `--help`.
  /// If a value in `shape` is not supported, the error names it and the values
  /// that are.
  Result<Schedule> (*generate)(const ScheduleShape &shape);
  bool anyStages = false;  ///< Some ranks may have one chunk fewer.
  bool isSearched = false; ///< Searches by costs; any placement but Twin.
  /// Whether it goes through the levels of shards one by one, in whichever
  /// stage of a pipeline they are.
  bool goesByLevels = false;
};

/// All generators except `levels` and those that search, in the order of the
/// documentation.
std::span<const Generator> allGenerators();

/// The generator that searches, with I and W apart or with whole backwards.
const Generator &searchedGenerator(bool splitsBackward);

/// The generator with this name, also `dapple-a`, `dapple-b`, `levels` and
/// those that search; the error lists the names.
Result<Generator> findGenerator(std::string_view name);

/// A schedule as a function of the number of microbatches.
using ScheduleFamily = std::function<Schedule(int64_t microbatches)>;

/// The schedules of `generator`, which must be defined for every M, as a
/// function of M, with one stage per rank.
ScheduleFamily familyOf(const Generator &generator, int64_t ranks,
                        bool forwardOnly);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_H
