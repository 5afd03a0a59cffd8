//===- MessageNumbers.cpp - message numbers from microbatches -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace stagewright::rank {

namespace {
/// The switch around an operation, the table of the order that selects its
/// region, and that region.
struct Choice {
  TableOp table;
  scf::IndexSwitchOp choice;
  unsigned region = 0; ///< 0: the default region.

  bool takes(int64_t which) {
    ArrayRef<int64_t> cases = choice.getCases();
    return region == 0 ? !llvm::is_contained(cases, which)
                       : cases[region - 1] == which;
  }
};
} // namespace

static std::optional<Choice> choiceOf(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (auto choice = dyn_cast<scf::IndexSwitchOp>(region->getParentOp()))
      if (auto table = choice.getArg().getDefiningOp<TableOp>();
          table && choice.getArg() == table.getWhich())
        return Choice{table, choice, region->getRegionNumber()};
  return std::nullopt;
}

/// Inserts a table that maps `row` to its entry of `numbers`.
static Value readTable(OpBuilder &builder, Location loc, Value row,
                       ArrayRef<int64_t> numbers) {
  SmallVector<int64_t> values = llvm::map_to_vector(
      numbers, [](int64_t number) { return std::max<int64_t>(number, 0); });
  SmallVector<int64_t> cases(values.size(), 0);
  Type index = builder.getIndexType();
  return TableOp::create(builder, loc, index, index, row, cases, values)
      .getMicrobatch();
}

void MessageNumberer::note(Operation *op, FlatSymbolRefAttr name,
                           const MessageNumbers &numbers) {
  std::optional<Choice> choice = choiceOf(op);
  if (!choice || op->getOperand(0) != choice->table.getMicrobatch())
    return;
  TableOp table = choice->table;
  Column &column = columns[{table.getOperation(), name.getAsOpaquePointer()}];
  column.table = table;
  column.numbers.resize(table.getCases().size(), -1);
  std::vector<int64_t> known = column.numbers;
  std::optional<int64_t> offset;
  for (auto [row, which, m] :
       llvm::enumerate(table.getCases(), table.getMicrobatches())) {
    auto number = numbers.find(m);
    if (number == numbers.end() || !choice->takes(which))
      continue;
    if (known[row] < 0)
      known[row] = number->second;
    int64_t own = number->second - known[row];
    if (offset && *offset != own) // `op` cannot use the column.
      return;
    offset = own;
  }
  column.numbers = std::move(known);
  places[op] = {&column, offset.value_or(0)};
}

Value MessageNumberer::numberOf(Operation *op, const MessageNumbers &numbers) {
  OpBuilder builder(op);
  if (auto place = places.find(op); place != places.end()) {
    auto [column, offset] = place->second;
    if (!column->value) {
      builder.setInsertionPointAfter(column->table);
      column->value = readTable(builder, column->table.getLoc(),
                                column->table.getRow(), column->numbers);
    }
    return linear(op, column->value, 1, offset);
  }
  Value m = op->getOperand(0);
  auto [m0, n0] = *numbers.begin();
  auto [m1, n1] = *numbers.rbegin();
  if (m0 == m1)
    return constant(n0);
  int64_t slope = (n1 - n0) / (m1 - m0);
  bool isLinear = llvm::all_of(numbers, [&, m0 = m0, n0 = n0](const auto &it) {
    return it.second == n0 + slope * (it.first - m0);
  });
  if (isLinear)
    return linear(op, m, slope, n0 - slope * m0);
  std::vector<int64_t> rows(size_t(m1 + 1), -1);
  for (auto [of, number] : numbers)
    rows[size_t(of)] = number;
  return readTable(builder, op->getLoc(), m, rows);
}

Value MessageNumberer::constant(int64_t number) {
  Value &known = constants[number];
  if (!known) {
    auto builder = OpBuilder::atBlockBegin(entry);
    known = arith::ConstantIndexOp::create(
        builder, entry->getParentOp()->getLoc(), number);
  }
  return known;
}

Value MessageNumberer::linear(Operation *op, Value of, int64_t slope,
                              int64_t number) {
  Value &known =
      linears[{op->getBlock(), of.getAsOpaquePointer(), slope, number}];
  if (known)
    return known;
  OpBuilder builder(op);
  known = of;
  if (slope != 1)
    known =
        arith::MulIOp::create(builder, op->getLoc(), known, constant(slope));
  if (number != 0)
    known =
        arith::AddIOp::create(builder, op->getLoc(), known, constant(number));
  return known;
}

} // namespace stagewright::rank
