//===- WriteTransfers.cpp - writing compute_comms files -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cells of FSDP are not part of the lists: they are checked when read, and
// derived when written.
//
//===----------------------------------------------------------------------===//

#include "Torch/Messages.h"
#include "Torch/TorchCsvCells.h"
#include <algorithm>
#include <utility>

namespace stagewright {

Status checkTorchReductions(const std::vector<TorchCell> &row) {
  const TorchCell *pending = nullptr;
  for (const TorchCell &cell : row) {
    if (cell.op == TorchOp::ReduceGrad) {
      if (pending)
        return Error{placeOf(cell) + "starts while stage " +
                     std::to_string(pending->action.stage) +
                     " has a reduction that is not waited for"};
      pending = &cell;
    }
    if (cell.op == TorchOp::WaitReduceGrad) {
      if (!pending || pending->action.stage != cell.action.stage)
        return Error{placeOf(cell) + "waits for no reduction of its stage"};
      pending = nullptr;
    }
  }
  if (pending)
    return Error{placeOf(*pending) + "is not waited for"};
  return {};
}

namespace {

/// Writes the row of one rank.
class RowWriter {
public:
  explicit RowWriter(const TorchOrder &order);
  std::string write();

private:
  void add(const std::string &cell) { row += (row.empty() ? "" : ",") + cell; }
  /// addOpening() writes `sUNSHARD` before the cell with the first action of
  /// stage s, addClosing() writes the reduction and `sRESHARD` after the cell
  /// with its last action.
  void addOpening(size_t index);
  void addClosing(size_t index);

  /// The first and the last compute entry of a stage.
  struct Uses {
    int64_t stage;
    size_t first, last;
    bool backward;
  };

  const TorchOrder &order;
  std::vector<Uses> stages; ///< Of this rank.
  std::string row;
};

} // namespace

RowWriter::RowWriter(const TorchOrder &order) : order(order) {
  for (size_t i = 0; i < order.size(); ++i) {
    const Action &action = order[i].action;
    if (order[i].op != TorchOp::Compute || action.kind == ActionKind::Update)
      continue;
    auto uses =
        std::find_if(stages.begin(), stages.end(), [&](const Uses &each) {
          return each.stage == action.stage;
        });
    if (uses == stages.end())
      uses = stages.insert(uses, {action.stage, i, i, false});
    uses->last = i;
    uses->backward |= action.kind != ActionKind::Forward;
  }
}

void RowWriter::addOpening(size_t index) {
  for (const Uses &uses : stages)
    if (uses.first == index)
      add(std::to_string(uses.stage) + "UNSHARD");
}

void RowWriter::addClosing(size_t index) {
  for (const Uses &uses : stages) {
    if (uses.last != index)
      continue;
    std::string stage = std::to_string(uses.stage);
    if (uses.backward) {
      add(stage + "REDUCE_GRAD");
      add(stage + "WAIT_REDUCE_GRAD");
    }
    add(stage + "RESHARD");
  }
}

std::string RowWriter::write() {
  std::vector<size_t> toClose; // After the sends of these actions.
  auto close = [&] {
    for (size_t index : std::exchange(toClose, {}))
      addClosing(index);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const TorchEntry &entry = order[i];
    bool computes = entry.op == TorchOp::Compute;
    if (computes && entry.action.kind == ActionKind::Update)
      continue;
    if (entry.op != TorchOp::Send)
      close();
    std::string text = toString(entry);
    if (computes) {
      addOpening(i);
      toClose.push_back(i);
    }
    if (i + 1 < order.size() && order[i + 1].action.paired) {
      addOpening(i + 1);
      toClose.push_back(i + 1);
      text.insert(0, "(");
      text += ';';
      text += toString(order[++i]);
      text += ")OVERLAP_F_B";
    }
    add(text);
  }
  close();
  return row;
}

Result<std::string> writeTorchCsv(const TorchLists &lists) {
  if (Result<std::string> plain = writeTorchCsv(computationsOf(lists)); !plain)
    return plain.error();
  std::string text;
  for (const TorchOrder &order : lists.ranks)
    text += RowWriter(order).write() + "\n";
  return text;
}

} // namespace stagewright
