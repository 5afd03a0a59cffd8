//===- Generators.h - schedules by name -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each generator is one function in a file of its own under
// lib/Scheduling/Generators, with its picture; this header is the list of them.
// A generator knows no times, but for the ratio of a hop to a stage that some
// choose their warm-up by; two more search among orders and are told costs.
// Symbols: p ranks, v chunks per rank, M microbatches.
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

/// What a generator is asked for.
struct ScheduleShape {
  int64_t ranks = 1;
  int64_t microbatches = 1;
  bool forwardOnly = false; ///< Inference: no backward actions.
  int64_t chunks = 1;       ///< Stages per rank.
  /// Microbatches that a chunk runs before the next chunk's turn (interleaved
  /// schedules); 0: the schedule's own choice.
  int64_t group = 0;
  /// Time of a hop over time of a forward: what latency-aware warm-ups go by.
  double hopRatio = 0;
  /// By rank: replicas that take microbatches in turn, which need as many more
  /// in flight (1F1B and its like); empty: one each.
  std::vector<int64_t> replicas = {};
  /// Last ranks that have no last chunk: as many stages fewer.
  int64_t spare = 0;
  /// What stages cost and ranks have room for, where that is known: what
  /// `searched` goes by.
  std::shared_ptr<const ScheduleProblem> costs = {};
};

// Bubbles are those of equal stages with the times F, I, W of a rank's whole
// share, B = I + W, c of a hop. Memory is in activations of a rank's whole
// share. Sections are those of the papers named. "Reference:" names the public
// generator whose order it is.

/// All forwards, then all backwards, microbatches in increasing order (Huang et
/// al., GPipe, NeurIPS 2019). Holds M activations on every rank; bubble
/// (p - 1)(F + B + 2c).
Result<Schedule> generateGPipe(const ScheduleShape &shape);

/// One forward, one backward: rank r runs p - r forwards, then alternates (the
/// flush schedule of PipeDream-2BW; P_A of DAPPLE, PPoPP 2021, is this order,
/// and `dapple-a` its other name). Holds min(p - r, M) activations on rank r;
/// bubble (p - 1)(F + B + 2c) + 2c floor((p - 1)(M - 1) / p).
Result<Schedule> generateOneFOneB(const ScheduleShape &shape);

/// 1F1B with just as many more forwards first as hide the hops: rank r runs
/// q + (q - 1) k, q = p - r, k = ceil(2 c / (F + B)) = ceil(2 x / 3) for x =
/// hopRatio, a backward taken for two forwards. Holds as many activations, at
/// most M; bubble (p - 1)(F + B + 2c).
Result<Schedule> generateEagerOneFOneB(const ScheduleShape &shape);

/// 1F1B with 2 (p - r) - 1 warm-up forwards on rank r, so that transfers run
/// beside compute (P_B of DAPPLE, PPoPP 2021, `dapple-b`; Eager1F1B of JaxPP).
/// Holds min(2 (p - r) - 1, M) activations; bubble (p - 1)(F + B + 2c) for
/// transfers of 2c <= F + B.
Result<Schedule> generateEarlyBackward(const ScheduleShape &shape);

/// What each stage runs in the window order of planners.md 1.5: max(1, 4 (p - 1
/// - r)) warm-up forwards on rank r, then one backward, one forward. Holds as
/// many activations, at most M; a step takes at most (M + 4p - 4) C, C the most
/// that a stage or a channel works for one microbatch, if the channels keep to
/// the windows too.
Result<Schedule> generateWindow(const ScheduleShape &shape);

/// Interleaved 1F1B, depth first (Narayanan et al., SC 2021): chunks take turns
/// of G microbatches, (v - 1) G + 2 (p - r - 1) forwards first, G = `group` or
/// p. The last turn may be shorter, but no turn below p microbatches unless all
/// M are one turn (as in Megatron-LM). For G = p holds ((v - 1) p + 2 (p - 1 -
/// r)
/// + 1) / v; bubble (p - 1)(F + B) / v + 2 (p v - 1) c for hops up to half a
/// chunk.
Result<Schedule> generateInterleaved(const ScheduleShape &shape);

/// Breadth first (Lamy-Poirier, MLSys 2023): all microbatches through one chunk
/// after another, backwards from the last chunk to the first, microbatches in
/// increasing order. Holds M; bubble (p - 1)(F + B) / v. Each stage's weights
/// are needed in one piece of time only.
Result<Schedule> generateBreadthFirst(const ScheduleShape &shape);

/// Breadth first with backwards in decreasing order of microbatches. Reference:
/// PyTorch's ScheduleLoopedBFS.
Result<Schedule> generateLoopedBreadthFirst(const ScheduleShape &shape);

/// ZB-H1 (Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024): 1F1B with I
/// in place of B, and W of microbatch j - r behind I of j on rank r. Holds
/// min(p, M) on every rank; bubble (p - 1)(F + I - W + 4c) for 2c <= W <=
/// min(F, I) and M > p. Reference: sail-sg, branch arxiv.
Result<Schedule> generateZbH1(const ScheduleShape &shape);

/// ZB-H2 (the same paper): 2 (p - r) - 1 forwards first, W of j - 2r behind I
/// of j. Holds min(2p - 1, M) on every rank; bubble of the span (p - 1)(F + I -
/// 2W
/// + 2c), of the makespan (p - 1) max(F + c, F + I - 2W + 2c), for W <=
/// min(F, I), 2c <= W, M >= 2p - 1. Reference: sail-sg, branch arxiv.
Result<Schedule> generateZbH2(const ScheduleShape &shape);

/// ZB-H2 with floor(2 (q - 1) x) more forwards first, q = p - r, x = hopRatio,
/// at most 1, and as many more W put off as rank 0 has more forwards than rank
/// r. The warm-ups are those of Shardy's ZeroBubbleH2 (Zero-, Half- and
/// FullTxLatency at x = 0, 1/2, 1). Holds min(2p - 1 + floor(2 (p - 1) x), M)
/// at most.
Result<Schedule> generateZbH2Latency(const ScheduleShape &shape);

/// Interleaved 1F1B with I and W apart: (v - 1) G + p - r - 1 forwards first,
/// then forward and I by turns, a W behind each after r of them. M as for
/// `interleaved`. Holds p; bubble (p - 1) F / v. Reference: PyTorch's
/// ScheduleInterleavedZeroBubble.
Result<Schedule> generateInterleavedZb(const ScheduleShape &shape);

/// Chunks around the devices in groups of p microbatches as `interleaved-zb`,
/// but for any M and any number of stages, and with what a rank holds bounded:
/// list scheduling for equal times, in which W goes first where a rank would
/// hold more than p of its share, a chunk between I and W counted twice, and a
/// microbatch enters while fewer than p + ceil(p / 8) are on their way
/// (LoopWithin.h; ours). Holds at most as many; no closed form of the bubble.
Result<Schedule> generateLoopedZb(const ScheduleShape &shape);

/// The same with p + ceil(p / 8) of a rank's share, and as many more on their
/// way.
Result<Schedule> generateLoopedZbWide(const ScheduleShape &shape);

/// ZB-V (Qi et al., Pipeline Parallelism with Controllable Memory, NeurIPS
/// 2024): two chunks, V placement, M >= 2p - 1. Holds p; bubble of the span 0
/// at F = I = W, of the makespan (p - 1) F / 2. Reference: PyTorch's
/// ScheduleZBVZeroBubble.
Result<Schedule> generateZbV(const ScheduleShape &shape);

/// V-Half (the same paper): a building block of period 6 whose forwards come
/// down in steps of 2. Holds about p / 2 + 1. Its starts are those of the
/// paper; how gaps are closed and W placed is ours (VBlock.h).
Result<Schedule> generateVHalf(const ScheduleShape &shape);

/// V-Min (the same paper): the building block that holds least, about
/// (p + 4) / 3 activations.
Result<Schedule> generateVMin(const ScheduleShape &shape);

/// DualPipe (DeepSeek-V3 technical report, 2024): microbatches 0 .. M/2 - 1 go
/// from stage 0 on rank 0 on, the others from stage 0 on rank p - 1 on;
/// forwards of the one are paired with backwards of the other. Twin placement:
/// every stage's weights lie on two ranks. p even, M even, M >= 2p. Holds p + 1
/// of the stages' activations; bubble (p / 2 - 1)(F&B + B - 3W), times of a
/// stage, where a pair is one piece of work of time F&B. Reference:
/// deepseek-ai.
Result<Schedule> generateDualPipe(const ScheduleShape &shape);

/// DualPipe cut in half: V placement with two chunks on p ranks, no second copy
/// of weights; M >= 2p. Holds p + 1/2; bubble that of DualPipe on 2p ranks.
/// Reference: PyTorch's ScheduleDualPipeV and deepseek-ai's DualPipeV.
Result<Schedule> generateDualPipeV(const ScheduleShape &shape);

/// Chimera (Li and Hoefler, SC 2021): two 1F1B pipelines in opposite directions
/// share the ranks, half of the microbatches each, units of p microbatches one
/// behind the other (direct concatenation). Twin placement; p and M even. Holds
/// between p / 2 + 1 and p activations; bubble (p - 2) F for F = B and M a
/// multiple of p. Reference: nnScaler's sched_chimera_direct (p = 4).
Result<Schedule> generateChimera(const ScheduleShape &shape);

/// Inference through several chunks: groups of G (`group` or p) microbatches go
/// through all chunks, one group behind the other. The order of one chunk's
/// microbatches is kept, so that pieces of one long prompt may follow one
/// another. No bubble between groups if M is a multiple of p.
Result<Schedule> generateForwardOnly(const ScheduleShape &shape);

/// What shards run, of which every p stages in a row are a level: G (`group` or
/// 2) microbatches go through all levels by turns, forwards and backwards,
/// before the next begin, so that one crosses to the other ranks while another
/// computes. Holds G; no bubble where the ranks of a level do not wait for one
/// another and a crossing is shorter than a stage. In a pipeline, whose stages
/// do wait, all but one rank are idle. Not in the list of all generators.
Result<Schedule> generateLevels(const ScheduleShape &shape);

/// The best order that a search finds for the shape's costs and memory
/// (AutoSchedule.h); backwards are whole. Not in the list of all generators: it
/// is what a plan is improved with in the end. For up to 2^14 actions.
Result<Schedule> generateSearched(const ScheduleShape &shape);

/// The same with I and W apart.
Result<Schedule> generateSearchedZb(const ScheduleShape &shape);

/// One entry of the list of generators.
struct Generator {
  const char *name;   ///< As in `kind=`.
  const char *symbol; ///< Name of the schedule in IR.
  Placement placement;
  /// Chunks per rank it is defined for; `mostChunks` 0: any number from
  /// `leastChunks` on.
  int64_t leastChunks, mostChunks;
  /// Defined for every M >= 1 by loops (Segments.h). The others fail outside
  /// their domain or have an order that only a known M gives.
  bool anyMicrobatches;
  bool splitsBackward; ///< Has I and W in place of B.
  const char *summary; ///< One line for `--help`.
  /// An error says which of the shape's numbers it is not defined for, and what
  /// would do.
  Result<Schedule> (*generate)(const ScheduleShape &shape);
  bool anyStages = false;  ///< Some ranks may have a chunk fewer.
  bool isSearched = false; ///< For any placement but twins, by its costs.
};

/// All generators that go by a rule, in the order of the documentation.
std::span<const Generator> allGenerators();

/// The generator that searches, with I and W apart or backwards whole.
const Generator &searchedGenerator(bool splitsBackward);

/// The generator of shards.
const Generator &levelsGenerator();

/// The generator called `name`, `dapple-a` or `dapple-b`, that of shards, or
/// one that searches; the error lists the others.
Result<Generator> findGenerator(std::string_view name);

/// A schedule as a function of the number of microbatches.
using ScheduleFamily = std::function<Schedule(int64_t microbatches)>;

/// `generator`, defined for every M, with everything but M fixed and one stage
/// per rank.
ScheduleFamily familyOf(const Generator &generator, int64_t ranks,
                        bool forwardOnly);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_H
