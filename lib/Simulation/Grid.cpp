//===- Grid.cpp - a schedule as a picture in text -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Grid.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Whether some rank runs more than one stage.
static bool hasSharedRank(const Timeline &timeline) {
  for (const std::vector<TimedAction> &rank : timeline.ranks)
    for (const TimedAction &timed : rank)
      if (timed.action.stage != rank.front().action.stage)
        return true;
  return false;
}

std::string drawGrid(const Timeline &timeline, Seconds slot) {
  bool withStage = hasSharedRank(timeline);
  auto label = [&](const Action &action) {
    std::string text = toString(action);
    return withStage ? text : text.substr(std::to_string(action.stage).size());
  };
  // A slot is as wide as the longest label and the bar before it.
  size_t width = 0;
  for (const std::vector<TimedAction> &rank : timeline.ranks)
    for (const TimedAction &timed : rank)
      width = std::max(width, label(timed.action).size() + 1);
  auto column = [&](Seconds time) {
    return width * static_cast<size_t>(std::llround(time.value / slot.value));
  };

  size_t nameWidth = std::to_string(timeline.ranks.size() - 1).size();
  std::string grid;
  for (size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    std::string name = std::to_string(rank);
    std::string row(column(timeline.makespan) + 1, ' ');
    for (const TimedAction &timed : timeline.ranks[rank]) {
      std::string text = label(timed.action);
      size_t start = column(timed.start), end = column(timed.end);
      row[start] = row[end] = '|';
      row.replace(start + 1, std::min(text.size(), end - start - 1), text);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    name.insert(0, nameWidth - name.size(), ' ');
    grid += "rank ";
    grid += name + " " + row + "\n";
  }
  return grid;
}

Result<std::string> drawGrid(const Schedule &schedule,
                             const StageGraph &graph) {
  Result<Timeline> timeline =
      simulate(schedule, graph, unitTimes(graph.stages));
  if (!timeline)
    return timeline.error();
  return drawGrid(*timeline, Seconds(1));
}

} // namespace stagewright
