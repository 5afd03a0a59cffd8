//===- TorchCsv.cpp - reading and writing PyTorch's CSV -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/TorchCsv.h"
#include "Torch/TorchCsvCells.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>
#include <set>

namespace stagewright {

/// An error if a stage before the last one is on no rank.
static Status checkStages(const Schedule &schedule, const TorchCell &last) {
  std::set<int64_t> stages;
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      stages.insert(action.stage);
  int64_t missing = 0;
  while (stages.contains(missing))
    ++missing;
  if (missing >= last.action.stage)
    return {};
  return Error{placeOf(last) + "is of stage " +
               std::to_string(last.action.stage) + ", but stage " +
               std::to_string(missing) + " is on no rank"};
}

/// A single cell with a large number would make tables of that size, so there
/// must be at least as many actions as stages times microbatches.
static Status checkSize(const TorchCsv &csv, const TorchCell &stage,
                        const TorchCell &microbatch) {
  int64_t wanted = csv.schedule.stages * csv.schedule.microbatches;
  int64_t actions = 0;
  for (const Order &order : csv.schedule.ranks)
    actions += static_cast<int64_t>(order.size());
  if (wanted > kMostForwards)
    return Error{placeOf(stage) + "and '" + std::string(microbatch.text) +
                 "' make " + std::to_string(wanted) +
                 " forwards, the most is " + std::to_string(kMostForwards)};
  if (Status status = checkStages(csv.schedule, stage); !status)
    return status;
  if (actions < wanted)
    return Error{
        placeOf(stage) + "and '" + std::string(microbatch.text) + "' make " +
        std::to_string(csv.schedule.stages) + " stages and " +
        std::to_string(csv.schedule.microbatches) +
        (csv.schedule.microbatches == 1 ? " microbatch" : " microbatches") +
        ", but there are only " + std::to_string(actions) + " actions"};
  return {};
}

Result<TorchCsv> readTorchCsv(std::string_view text) {
  auto rows = readTorchCells(text);
  if (!rows)
    return rows.error();
  TorchCsv csv;
  csv.schedule.kind = "csv";
  const TorchCell *highStage = nullptr, *highMicrobatch = nullptr;
  for (const std::vector<TorchCell> &row : *rows) {
    Order order;
    TorchOrder &entries = csv.lists.ranks.emplace_back();
    for (const TorchCell &cell : row) {
      if (cell.op < TorchOp::Unshard)
        entries.push_back(cell);
      if (cell.op != TorchOp::Compute) {
        csv.hasTransfers |= cell.op < TorchOp::Unshard;
        continue;
      }
      if (!highStage || cell.action.stage > highStage->action.stage)
        highStage = &cell;
      if (!highMicrobatch ||
          cell.action.microbatch > highMicrobatch->action.microbatch)
        highMicrobatch = &cell;
      order.push_back(cell.action);
    }
    if (Status status = checkTorchReductions(row); !status)
      return status.error();
    if (order.empty())
      return Error{"line " + std::to_string(row.front().line) + ": rank " +
                   std::to_string(csv.schedule.ranks.size()) +
                   " communicates but computes nothing"};
    csv.schedule.ranks.push_back(std::move(order));
  }
  csv.schedule.stages = highStage->action.stage + 1;
  csv.schedule.microbatches = highMicrobatch->action.microbatch + 1;
  csv.lastMicrobatch = placeOf(*highMicrobatch);
  csv.lastMicrobatch.pop_back(); // The trailing blank.
  if (Status status = checkSize(csv, *highStage, *highMicrobatch); !status)
    return status.error();
  csv.lists.stages = csv.schedule.stages;
  csv.lists.microbatches = csv.schedule.microbatches;
  return csv;
}

/// An error if a stage runs on two ranks or a rank runs nothing.
static Status checkWritable(const Schedule &schedule) {
  std::vector<std::pair<int64_t, size_t>> owners; // Stage, rank.
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<int64_t> stages;
    for (const Action &action : schedule.ranks[rank])
      stages.push_back(action.stage);
    if (stages.empty())
      return Error{"rank " + std::to_string(rank) +
                   " runs nothing, which PyTorch's CSV cannot say"};
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    for (int64_t stage : stages)
      owners.emplace_back(stage, rank);
  }
  std::sort(owners.begin(), owners.end());
  for (size_t i = 1; i < owners.size(); ++i)
    if (owners[i].first == owners[i - 1].first)
      return Error{"stage " + std::to_string(owners[i].first) +
                   " runs on ranks " + std::to_string(owners[i - 1].second) +
                   " and " + std::to_string(owners[i].second) +
                   ", but PyTorch's CSV has a stage on one rank only; export a "
                   "schedule without twins, such as dualpipe-v"};
  return {};
}

Result<std::string> writeTorchCsv(const Schedule &schedule) {
  if (Status status = checkWritable(schedule); !status)
    return status.error();
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const Order &order = schedule.ranks[rank];
    std::string row;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].kind == ActionKind::Update)
        continue;
      if (order[i].kind == ActionKind::Recompute)
        return Error{"rank " + std::to_string(rank) + " runs " +
                     toString(order[i]) +
                     ", but PyTorch's CSV has no recomputation"};
      if (!row.empty())
        row += ',';
      bool pair = i + 1 < order.size() && order[i + 1].paired;
      row += pair ? "(" + toString(order[i]) + ";" + toString(order[i + 1]) +
                        ")OVERLAP_F_B"
                  : toString(order[i]);
      i += pair;
    }
    if (row.empty())
      return Error{"rank " + std::to_string(rank) +
                   " only updates, which PyTorch's CSV cannot say"};
    text += row + "\n";
  }
  return text;
}

} // namespace stagewright
