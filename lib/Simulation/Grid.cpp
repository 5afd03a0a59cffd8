//===- Grid.cpp - a schedule drawn as text --------------------------------===//
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

namespace {

/// What is drawn: an action, or a pair of actions that overlap.
struct Cell {
  Seconds start, end;
  std::string text;
  char kind = 'F';
};

} // namespace

static std::vector<std::vector<Cell>> cellsOf(const Timeline &timeline) {
  bool withStage = hasSharedRank(timeline);
  auto label = [&](const Action &action) {
    std::string text = toString(action);
    return withStage ? text : text.substr(std::to_string(action.stage).size());
  };
  std::vector<std::vector<Cell>> ranks;
  for (const std::vector<TimedAction> &rank : timeline.ranks) {
    std::vector<Cell> &cells = ranks.emplace_back();
    for (const TimedAction &timed : rank) {
      std::string text = label(timed.action);
      if (timed.action.paired && !cells.empty() &&
          cells.back().start == timed.start && cells.back().end == timed.end)
        cells.back().text += "&" + text;
      else
        cells.push_back(
            {timed.start, timed.end, text, letter(timed.action.kind)});
    }
  }
  return ranks;
}

/// The width of a cell: the longest text and the bar before it.
static size_t widthOf(const std::vector<std::vector<Cell>> &ranks) {
  size_t width = 0;
  for (const std::vector<Cell> &cells : ranks)
    for (const Cell &cell : cells)
      width = std::max(width, cell.text.size() + 1);
  return width;
}

/// Draws the rows, with a column for every 1 / `scale` seconds.
static std::string draw(const std::vector<std::vector<Cell>> &ranks,
                        Seconds makespan, double scale) {
  auto column = [&](Seconds time) {
    return static_cast<size_t>(std::llround(time.value * scale));
  };
  size_t nameWidth = std::to_string(ranks.size() - 1).size();
  std::string grid;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string name = std::to_string(rank);
    std::string row(column(makespan) + 1, ' ');
    for (const Cell &cell : ranks[rank]) {
      size_t start = column(cell.start), end = column(cell.end);
      row[start] = row[end] = '|';
      if (end - start > cell.text.size())
        row.replace(start + 1, cell.text.size(), cell.text);
      else if (end - start > 1)
        row[start + 1] = cell.kind;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    name.insert(0, nameWidth - name.size(), ' ');
    grid += "rank ";
    grid += name;
    grid += ' ';
    grid += row;
    grid += '\n';
  }
  return grid;
}

std::string drawGridToScale(const Timeline &timeline, size_t mostColumns) {
  std::vector<std::vector<Cell>> ranks = cellsOf(timeline);
  double shortest = 0;
  for (const std::vector<Cell> &cells : ranks)
    for (const Cell &cell : cells)
      if (double length = (cell.end - cell.start).value;
          length > 0 && (shortest == 0 || length < shortest))
        shortest = length;
  if (shortest == 0) // Nothing takes time.
    return draw(ranks, Seconds(), 0);
  bool even = true;
  for (const std::vector<Cell> &cells : ranks)
    for (const Cell &cell : cells)
      for (double time : {cell.start.value, cell.end.value})
        even &= std::abs(time / shortest - std::round(time / shortest)) < 1e-6;
  double scale = double(widthOf(ranks)) / shortest;
  if (!even)
    scale = std::min(scale, double(mostColumns) / timeline.makespan.value);
  return draw(ranks, timeline.makespan, scale);
}

Result<std::string> drawGrid(const Schedule &schedule,
                             const StageGraph &graph) {
  Result<Timeline> timeline =
      timeSchedule(schedule, graph, unitTimes(graph.stages));
  if (!timeline)
    return timeline.error();
  return drawGridToScale(*timeline);
}

} // namespace stagewright
