//===- PublishedRows.h - rows of the zero-bubble papers ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profiled rows of the zero-bubble paper (ICLR 2024; one stage per rank) and of
// the V-schedules (ZBV; each rank has two chunks, whose times are added), with
// the bubble rates of the span that the papers' heuristics reach with one chunk
// per rank.
//
// A layer holds 34 h + 5 a s bytes from F to I and 32 h from I to W, per token,
// for width h, a heads and sequences of s = 1024. For the rows of the
// V-schedules neither h nor a is published with the profile; the model's h =
// 4096, a = 32 of the 6.2B rows is assumed, which gives 32 h / (34 h + 5 a s) =
// 0.432.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_PUBLISHEDROWS_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_PUBLISHEDROWS_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

struct PublishedRow {
  int64_t ranks, microbatches;
  double forward, inputGradient, weightGradient, hop;
  double hidden, heads;

  double activation() const { return 34 * hidden + 5 * heads * 1024; }
  double kept() const { return 32 * hidden; }
  double work() const {
    return double(microbatches) * (forward + inputGradient + weightGradient);
  }
  /// The problem with memory for `share` times p activations per rank.
  ScheduleProblem problem(double share) const {
    ScheduleProblem result;
    result.ranks = ranks;
    result.microbatches = microbatches;
    result.stages.assign(ranks,
                         {Seconds(forward), Seconds(inputGradient),
                          Seconds(weightGradient), activation(), kept(), 0});
    result.hops.assign(ranks - 1, Seconds(hop));
    result.memory = share * double(ranks) * activation();
    return result;
  }
};

inline constexpr PublishedRow kZeroBubbleRows[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 2304, 24},
    {8, 32, 18.513, 18.086, 9.331, 0.626, 2304, 24},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 2304, 24},
    {8, 24, 29.718, 29.444, 19.927, 0.527, 4096, 32},
    {8, 32, 29.802, 29.428, 19.530, 0.577, 4096, 32},
    {8, 64, 29.935, 29.621, 19.388, 0.535, 4096, 32},
    {32, 96, 10.419, 10.207, 7.715, 0.408, 6144, 48},
    {32, 128, 10.408, 10.204, 7.703, 0.408, 6144, 48},
    {32, 256, 10.402, 10.248, 7.698, 0.460, 6144, 48}};
inline constexpr double kZb1p[] = {.1585, .1242, .0674, .1323, .1045,
                                   .0554, .1421, .1106, .0594};
inline constexpr double kZb2p[] = {.0433, .0039, .0026, .0029, .0022,
                                   .0010, .0038, .0029, .0018};

inline constexpr PublishedRow kSweepRows[] = {
    {16, 48, 2 * 14407, 2 * 14380, 2 * 9676, 1610, 4096, 32},
    {16, 64, 2 * 14412, 2 * 14393, 2 * 9688, 1621, 4096, 32},
    {16, 128, 2 * 14316, 2 * 14306, 2 * 9639, 1619, 4096, 32},
    {24, 72, 2 * 6763, 2 * 6969, 2 * 5251, 755, 4096, 32},
    {24, 96, 2 * 6783, 2 * 6984, 2 * 5259, 758, 4096, 32},
    {24, 192, 2 * 6785, 2 * 6990, 2 * 5260, 770, 4096, 32},
    {32, 96, 2 * 9458, 2 * 9748, 2 * 7288, 879, 4096, 32},
    {32, 128, 2 * 9469, 2 * 9744, 2 * 7306, 892, 4096, 32},
    {32, 256, 2 * 9447, 2 * 9644, 2 * 7193, 887, 4096, 32}};
struct PublishedSweep {
  double share;
  double rates[9]; ///< by row: "Single chunk, heuristic"
};
inline constexpr PublishedSweep kSweep[] = {
    {1.0, {.1536, .1198, .0637, .1439, .1121, .0595, .1429, .1111, .0593}},
    {1.25, {.0998, .0768, .0399, .0911, .0699, .0363, .0907, .0696, .0359}},
    {1.5, {.0632, .0483, .0248, .0659, .0503, .0259, .0654, .0499, .0254}},
    {1.75, {.0350, .0266, .0135, .0393, .0297, .0152, .0387, .0293, .0146}},
    {2.0, {.0077, .0052, .0026, .0111, .0083, .0043, .0104, .0078, .0036}}};

} // namespace stagewright

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_PUBLISHEDROWS_H
