//===- ZbvCells.h - published rates for V placement -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bubble rates of the span that the ZB-V heuristic reaches with memory for x p
// activations on each of p ranks. A transformer layer of width h with a heads
// holds 34 h + 5 a 1024 bytes per token until I, and 32 h from I to W. All
// models of the table have heads of 128 elements (a = h / 128), so the two are
// 74 h and 32 h, with a ratio of 37 to 16 for every h.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_SCHEDULING_ZBVCELLS_H
#define STAGEWRIGHT_TEST_SCHEDULING_ZBVCELLS_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::zbv {

struct Row {
  int64_t ranks, microbatches;
  double forward, inputGradient, weightGradient, hop; ///< us per chunk
};

inline constexpr Row kRows[] = {
    {16, 48, 14407, 14380, 9676, 1610},  {16, 64, 14412, 14393, 9688, 1621},
    {16, 128, 14316, 14306, 9639, 1619}, {24, 72, 6763, 6969, 5251, 755},
    {24, 96, 6783, 6984, 5259, 758},     {24, 192, 6785, 6990, 5260, 770},
    {32, 96, 9458, 9748, 7288, 879},     {32, 128, 9469, 9744, 7306, 892},
    {32, 256, 9447, 9644, 7193, 887}};

struct Limit {
  double memory; ///< x
  double rates[9];
};

inline constexpr Limit kLimits[] = {
    {1.000, {.0697, .0533, .0274, .0638, .0483, .0250, .0593, .0451, .0236}},
    {1.125, {.0497, .0379, .0193, .0419, .0318, .0164, .0383, .0286, .0145}},
    {1.250, {.0306, .0233, .0118, .0222, .0176, .0085, .0177, .0145, .0059}},
    {1.375, {.0203, .0154, .0067, .0143, .0101, .0055, .0116, .0094, .0040}},
    {1.500, {.0065, .0049, .0025, .0039, .0029, .0015, .0032, .0024, .0010}},
    {1.750, {.0035, .0027, .0014, .0039, .0029, .0015, .0032, .0024, .0010}},
    {2.000, {.0035, .0027, .0014, .0039, .0029, .0015, .0032, .0024, .0010}},
    {3.000, {.0035, .0027, .0014, .0039, .0029, .0015, .0032, .0024, .0010}}};

inline ScheduleProblem problemOf(const Row &row, double memory) {
  ScheduleProblem problem;
  problem.placement = Placement::V;
  problem.ranks = row.ranks;
  problem.chunks = 2;
  problem.microbatches = row.microbatches;
  auto time = [](double us) { return Seconds(us * 1e-6); };
  problem.stages.assign(2 * row.ranks,
                        {time(row.forward), time(row.inputGradient),
                         time(row.weightGradient), 37, 16, 0});
  problem.hops.assign(2 * row.ranks - 1, time(row.hop));
  problem.memory = memory * double(row.ranks) * 74;
  return problem;
}

/// The bubble rate: idle time as a part of `value`.
inline double bubbleRate(const Row &row, Seconds value) {
  double work = 2e-6 * double(row.microbatches) *
                (row.forward + row.inputGradient + row.weightGradient);
  return (value.value - work) / value.value;
}

} // namespace stagewright::zbv

#endif // STAGEWRIGHT_TEST_SCHEDULING_ZBVCELLS_H
