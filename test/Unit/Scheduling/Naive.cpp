//===- Naive.cpp - complete schedules, and samples ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright::testing {

bool isComplete(const Schedule &schedule, bool forwardOnly) {
  std::map<Cell, std::string> letters;
  std::map<Cell, std::set<size_t>> ranks;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const Order &order = schedule.ranks[rank];
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].paired) {
        if (i == 0 || order[i - 1].paired || letterOf(order[i - 1]) != 'F' ||
            cellOf(order[i]) == cellOf(order[i - 1]) ||
            (letterOf(order[i]) != 'B' && letterOf(order[i]) != 'I'))
          return false;
      }
      letters[cellOf(order[i])] += letterOf(order[i]);
      ranks[cellOf(order[i])].insert(rank);
    }
  }
  if (int64_t(letters.size()) != schedule.stages * schedule.microbatches)
    return false;
  for (auto &[cell, text] : letters) {
    if (cell.first < 0 || cell.first >= schedule.stages || cell.second < 0 ||
        cell.second >= schedule.microbatches || ranks[cell].size() != 1)
      return false;
    std::sort(text.begin(), text.end());
    bool right = forwardOnly ? text == "F"
                             : text == "BF" || text == "FIW" || text == "BFR" ||
                                   text == "FIRW";
    if (!right)
      return false;
  }
  return true;
}

void drawCosts(ScheduleProblem &problem, Draw &draw) {
  for (StageCosts &stage : problem.stages) {
    auto time = [&] {
      return Seconds(draw.chance(0.1) ? 0 : draw.real(0.1, 2));
    };
    stage.forward = time();
    stage.inputGradient = time();
    stage.weightGradient = time();
    stage.activation = draw.real(1, 3);
    stage.kept = draw.real(0, stage.activation);
    stage.recomputeInput = draw.real(0, stage.activation);
  }
  for (Seconds &hop : problem.hops)
    hop = Seconds(draw.real(0, 1));
}

void recomputeSome(Schedule &schedule, Draw &draw) {
  for (Order &order : schedule.ranks) {
    Order with;
    for (const Action &action : order) {
      bool backward = action.kind == ActionKind::Backward ||
                      action.kind == ActionKind::InputGradient;
      if (backward && !action.paired && draw.chance(0.3))
        with.push_back(
            {ActionKind::Recompute, action.stage, action.microbatch});
      with.push_back(action);
    }
    order = with;
  }
}

ScheduleProblem unitProblem(const Generator &generator,
                            const ScheduleShape &shape,
                            const Schedule &schedule) {
  ScheduleProblem problem;
  problem.placement = generator.placement;
  problem.ranks = shape.ranks;
  problem.chunks = shape.chunks;
  problem.microbatches = shape.microbatches;
  problem.forwardOnly = shape.forwardOnly;
  problem.stages.assign(schedule.stages,
                        {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops.assign(schedule.stages - 1, Seconds());
  return problem;
}

std::vector<Sample> sampleSchedules() {
  std::vector<Sample> samples;
  for (const Generator &generator : allGenerators())
    for (auto [ranks, microbatches] :
         {std::pair<int64_t, int64_t>{1, 3}, {2, 4}, {3, 6}, {4, 8}})
      for (bool forwardOnly : {false, true}) {
        ScheduleShape shape{ranks, microbatches, forwardOnly};
        shape.chunks = generator.leastChunks;
        Result<Schedule> schedule = generator.generate(shape);
        if (!schedule) // Not supported by the generator.
          continue;
        samples.push_back(
            {std::string(generator.name) + ", p = " + std::to_string(ranks) +
                 ", m = " + std::to_string(microbatches) +
                 (forwardOnly ? ", forward only" : ""),
             *schedule, unitProblem(generator, shape, *schedule)});
      }
  return samples;
}

} // namespace stagewright::testing
