//===- TorchCsvCells.cpp - reading the cells of PyTorch's CSV -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Torch/TorchCsvCells.h"
#include "stagewright/Support/Limits.h"

namespace stagewright {

std::string placeOf(const TorchCell &cell) {
  constexpr size_t kShown = 40; // The file may not be a schedule at all.
  std::string text(cell.text.substr(0, kShown));
  for (char &c : text)
    if (c < ' ' || c > '~')
      c = '?';
  return "line " + std::to_string(cell.line) + ", cell " +
         std::to_string(cell.number) + ": '" + text +
         (cell.text.size() > kShown ? "...' " : "' ");
}

static std::string_view strip(std::string_view text) {
  size_t start = text.find_first_not_of(" \t\r");
  if (start == std::string_view::npos)
    return {};
  return text.substr(start, text.find_last_not_of(" \t\r") - start + 1);
}

std::span<const TorchOpName> torchOpNames() {
  using enum TorchOp;
  using enum ActionKind;
  /// A name that is a prefix of another must come after it.
  static constexpr TorchOpName kNames[] = {
      {"WAIT_REDUCE_GRAD", WaitReduceGrad, Update},
      {"WAIT_SEND_F", WaitSend, Forward},
      {"WAIT_SEND_B", WaitSend, InputGradient},
      {"REDUCE_GRAD", ReduceGrad, Update},
      {"UNSHARD", Unshard, Update},
      {"RESHARD", Reshard, Update},
      {"SEND_F", Send, Forward},
      {"RECV_F", Receive, Forward},
      {"SEND_B", Send, InputGradient},
      {"RECV_B", Receive, InputGradient}};
  return kNames;
}

std::string toString(const TorchEntry &entry) {
  const Action &action = entry.action;
  for (const TorchOpName &it : torchOpNames())
    if (it.op == entry.op && it.kind == action.kind)
      return std::to_string(action.stage) + std::string(it.name) +
             (it.kind == ActionKind::Update
                  ? ""
                  : std::to_string(action.microbatch));
  return toString(action);
}

/// Reads `text` into `cell`: an action except R and U, which PyTorch does not
/// have, or another entry, which has the form of an action with a longer kind.
static bool readAction(std::string_view text, TorchCell &cell) {
  std::string action(text);
  size_t kind = text.find_first_not_of("0123456789");
  if (kind == std::string_view::npos)
    return false;
  cell.op = TorchOp::Compute;
  for (const TorchOpName &it : torchOpNames())
    if (text.substr(kind).starts_with(it.name)) {
      cell.op = it.op;
      action.replace(kind, it.name.size(), 1, letter(it.kind));
      break;
    }
  Result<Action> read = parseAction(action);
  if (!read)
    return false;
  cell.action = *read;
  return cell.op != TorchOp::Compute || (read->kind != ActionKind::Recompute &&
                                         read->kind != ActionKind::Update);
}

static Error noAction(const TorchCell &cell) {
  return Error{
      placeOf(cell) +
      "is not an action; write stage, kind (F, B, I or W) and microbatch, "
      "as in 2F0, a pair as in (3F1;4B0)OVERLAP_F_B"};
}

/// Reads one cell, which may be a pair.
static Status readCell(TorchCell cell, std::vector<TorchCell> &row) {
  std::string_view text = cell.text;
  constexpr std::string_view kPair = ")OVERLAP_F_B";
  std::vector<std::string_view> parts = {text};
  if (text.front() == '(') {
    size_t middle = text.find(';');
    if (middle == std::string_view::npos || !text.ends_with(kPair))
      return noAction(cell);
    parts = {strip(text.substr(1, middle - 1)),
             strip(text.substr(middle + 1,
                               text.size() - kPair.size() - middle - 1))};
  }
  for (std::string_view part : parts) {
    if (!readAction(part, cell))
      return noAction(cell);
    if (cell.action.stage >= kMostStages ||
        cell.action.microbatch >= kMostMicrobatches)
      return Error{placeOf(cell) + "is beyond what a step may have: " +
                   std::to_string(kMostStages) + " stages and " +
                   std::to_string(kMostMicrobatches) + " microbatches"};
    row.push_back(cell);
  }
  if (parts.size() == 1)
    return {};
  Action &first = row[row.size() - 2].action, &second = row.back().action;
  if (row[row.size() - 2].op != TorchOp::Compute ||
      cell.op != TorchOp::Compute || first.kind != ActionKind::Forward ||
      (second.kind != ActionKind::Backward &&
       second.kind != ActionKind::InputGradient))
    return Error{placeOf(cell) + "is not a pair of a forward and a backward"};
  second.paired = true;
  return {};
}

Result<std::vector<std::vector<TorchCell>>>
readTorchCells(std::string_view text) {
  std::vector<std::vector<TorchCell>> ranks;
  // Skip a byte order mark, which spreadsheets write.
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF";
      text.starts_with(kMark))
    text.remove_prefix(kMark.size());
  // Ignore line ends and empty lines at the end of the file.
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (text.empty())
    return Error{"there is no line; a schedule has one for every rank"};
  for (size_t line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::vector<TorchCell> row;
    for (size_t number = 1;; ++number) {
      size_t comma = std::min(rest.find(','), rest.size());
      std::string_view content = strip(rest.substr(0, comma));
      // Spreadsheets may quote cells; Python's writer does not.
      if (content.size() >= 2 && content.front() == '"' &&
          content.back() == '"')
        content = strip(content.substr(1, content.size() - 2));
      TorchCell cell;
      cell.line = line;
      cell.number = number;
      cell.text = content;
      if (!content.empty())
        if (Status status = readCell(cell, row); !status)
          return status.error();
      if (comma == rest.size())
        break;
      rest.remove_prefix(comma + 1);
    }
    if (row.empty())
      return Error{"line " + std::to_string(line) +
                   ": there is no action; every rank has one at least"};
    ranks.push_back(std::move(row));
  }
  return ranks;
}

} // namespace stagewright
