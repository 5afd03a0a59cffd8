//===- TorchCsvCommunication.cpp - communication in PyTorch's CSV ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts between PyTorch's cells and the entries of Communication.h. Cells of
// FSDP have no entry: they are checked when read, and derived when written.
//
//===----------------------------------------------------------------------===//

#include "Torch/TorchCsvCells.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include <algorithm>
#include <utility>

namespace stagewright {

std::optional<CommAction> communicationOf(const TorchCell &cell) {
  CommAction entry;
  entry.action = cell.action;
  // The neighbours: a forward comes from stage `before`, a gradient goes to it.
  int64_t before = cell.action.stage - 1, behind = cell.action.stage + 1;
  auto transfer = [&](CommKind kind, ActionKind value, int64_t peer) {
    entry.kind = kind;
    entry.action.kind = value;
    entry.peer = peer;
    return entry;
  };
  using enum ActionKind;
  switch (cell.op) {
  case TorchOp::Compute:
    return entry;
  case TorchOp::SendF:
    return transfer(CommKind::Send, Forward, behind);
  case TorchOp::RecvF:
    return transfer(CommKind::Receive, Forward, before);
  case TorchOp::SendB:
    return transfer(CommKind::Send, InputGradient, before);
  case TorchOp::RecvB:
    return transfer(CommKind::Receive, InputGradient, behind);
  case TorchOp::WaitSendF:
    return transfer(CommKind::WaitSend, Forward, behind);
  case TorchOp::WaitSendB:
    return transfer(CommKind::WaitSend, InputGradient, before);
  case TorchOp::Unshard:
  case TorchOp::Reshard:
  case TorchOp::ReduceGrad:
  case TorchOp::WaitReduceGrad:
    break;
  }
  return std::nullopt;
}

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
  explicit RowWriter(const CommOrder &order);
  Result<std::string> write();

private:
  void add(const std::string &cell) { row += (row.empty() ? "" : ",") + cell; }
  /// addOpening() writes `sUNSHARD` before the cell with the first action of
  /// stage s, addClosing() the reduction and `sRESHARD` after that with the
  /// last.
  void addOpening(size_t index);
  void addClosing(size_t index);

  /// The first and the last compute entry of a stage.
  struct Uses {
    int64_t stage;
    size_t first, last;
    bool backward;
  };

  const CommOrder &order;
  std::vector<Uses> stages; ///< Of this rank.
  std::string row;
};

} // namespace

RowWriter::RowWriter(const CommOrder &order) : order(order) {
  for (size_t i = 0; i < order.size(); ++i) {
    const Action &action = order[i].action;
    if (order[i].kind != CommKind::Compute || action.kind == ActionKind::Update)
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

Result<std::string> RowWriter::write() {
  std::vector<size_t> toClose; // After the sends of these actions.
  auto close = [&] {
    for (size_t index : std::exchange(toClose, {}))
      addClosing(index);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const CommAction &entry = order[i];
    bool computes = entry.kind == CommKind::Compute;
    if (computes && entry.action.kind == ActionKind::Update)
      continue;
    if (entry.kind != CommKind::Send)
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
    if (text.find_first_of("<>") != std::string::npos)
      return Error{"'" + text +
                   "' has no form in PyTorch's CSV, where only "
                   "neighbouring stages send to each other"};
    add(text);
  }
  close();
  return row;
}

Result<std::string> writeTorchCsv(const CommSchedule &schedule) {
  if (Result<std::string> plain = writeTorchCsv(withoutCommunication(schedule));
      !plain)
    return plain.error();
  std::string text;
  for (const CommOrder &order : schedule.ranks) {
    Result<std::string> row = RowWriter(order).write();
    if (!row)
      return row.error();
    text += *row + "\n";
  }
  return text;
}

} // namespace stagewright
