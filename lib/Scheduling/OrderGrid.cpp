//===- OrderGrid.cpp - pictures of errors in orders -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderGrid.h"
#include <algorithm>

namespace stagewright {

/// Number of steps shown before and after a marked one.
static constexpr size_t kBefore = 4, kBehind = 4;
static constexpr size_t kMostRows = 8;

namespace {
/// One row of the picture: `left` is the text up to the first marked step,
/// including its bracket, `right` the rest.
struct GridRow {
  std::string name, left, right;
};
} // namespace

/// The row of `rank`; `steps` are the marked ones, at least one, increasing.
static GridRow
drawRow(int64_t rank, const std::vector<size_t> &steps, size_t length,
        const std::function<std::string(int64_t, size_t)> &text) {
  GridRow row{"rank " + std::to_string(rank) + ", step ", "", ""};
  for (size_t step : steps)
    row.name += (step == steps.front() ? "" : " and ") + std::to_string(step);
  std::string line;
  size_t split = 0, shown = 0;
  for (size_t step : steps) {
    size_t from = std::max(shown, step - std::min(step, kBefore));
    if (from > shown)
      line += "... ";
    for (size_t at = from; at < step; ++at)
      line += text(rank, at) + " ";
    line += '[';
    if (step == steps.front())
      split = line.size();
    line += text(rank, step) + "] ";
    shown = step + 1;
    // Continue to the next marked step or the end of the window.
    auto next = std::upper_bound(steps.begin(), steps.end(), step);
    size_t end =
        std::min(next == steps.end() ? length : *next, step + 1 + kBehind);
    for (; shown < end; ++shown)
      line += text(rank, shown) + " ";
  }
  line += shown < length ? "..." : "";
  line.erase(line.find_last_not_of(' ') + 1);
  row.left = line.substr(0, split);
  row.right = line.substr(split);
  return row;
}

std::string
drawMarks(const std::vector<OrderMark> &marks,
          const std::function<size_t(int64_t rank)> &length,
          const std::function<std::string(int64_t rank, size_t step)> &text) {
  std::vector<std::pair<int64_t, std::vector<size_t>>> byRank;
  for (const OrderMark &mark : marks) {
    auto entry = std::find_if(byRank.begin(), byRank.end(), [&](auto &known) {
      return known.first == mark.rank;
    });
    if (entry == byRank.end())
      entry = byRank.insert(entry, {mark.rank, {}});
    entry->second.push_back(mark.step);
  }
  std::vector<GridRow> rows;
  size_t nameWidth = 0, leftWidth = 0;
  for (auto &[rank, steps] : byRank) {
    if (rows.size() == kMostRows)
      break;
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    rows.push_back(drawRow(rank, steps, length(rank), text));
    nameWidth = std::max(nameWidth, rows.back().name.size());
    leftWidth = std::max(leftWidth, rows.back().left.size());
  }
  // On a separate line, as printers of notes may put a location before it.
  std::string picture = "the steps in brackets:";
  for (const GridRow &row : rows)
    picture +=
        "\n" + row.name + ": " +
        std::string(nameWidth - row.name.size() + leftWidth - row.left.size(),
                    ' ') +
        row.left + row.right;
  if (byRank.size() > rows.size())
    picture +=
        "\nand " + std::to_string(byRank.size() - rows.size()) + " more ranks";
  return picture;
}

Error errorAt(std::string message, const Schedule &schedule,
              const std::vector<OrderMark> &marks) {
  Error error{std::move(message)};
  if (!marks.empty())
    error.notes.push_back(drawMarks(
        marks, [&](int64_t rank) { return schedule.ranks[rank].size(); },
        [&](int64_t rank, size_t step) {
          const Action &action = schedule.ranks[rank][step];
          return (action.paired ? "&" : "") + toString(action);
        }));
  return error;
}

} // namespace stagewright
