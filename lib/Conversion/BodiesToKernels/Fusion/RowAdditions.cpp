//===- RowAdditions.cpp - loops that add rows to a table ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowAdditions.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

/// Finds the addition in a region with argument `table` and result `result`.
bool RowAdditions::descend(Value table, Value result) {
  tables.append({table, result});
  if (auto loop = result.getDefiningOp<scf::ForOp>()) {
    if (loop.getNumResults() != 1 || loop.getInitArgs()[0] != table ||
        !table.hasOneUse() || !result.hasOneUse())
      return false;
    return descend(loop.getRegionIterArg(0), loop.getYieldedValues()[0]);
  }
  unsigned uses = 2; // reads the slice, writes it
  if (auto choice = result.getDefiningOp<scf::IfOp>()) {
    if (choice.getNumResults() != 1 ||
        choice.elseYield()->getOperand(0) != table)
      return false;
    result = choice.thenYield()->getOperand(0);
    tables.push_back(result);
    ++uses;
  }
  auto stored = result.getDefiningOp<tensor::InsertSliceOp>();
  return stored && table.hasNUses(uses) && matchUpdate(table, stored);
}

/// Whether `stored` writes back a slice of `table` to which a row was added.
bool RowAdditions::matchUpdate(Value table, tensor::InsertSliceOp stored) {
  update = stored.getSource().getDefiningOp<linalg::GenericOp>();
  if (stored.getDest() != table || !stored.getResult().hasOneUse() || !update ||
      update->getNumResults() != 1 || !update->hasOneUse() ||
      update.getNumReductionLoops() != 0)
    return false;
  auto slice = update.getDpsInits()[0].getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != table || !slice->hasOneUse() ||
      !isSamePart(slice, stored))
    return false;
  tables.append({slice.getResult(), update->getResult(0)});
  add = dyn_cast_or_null<arith::AddFOp>(matchAddToInit(update));
  return add != nullptr;
}

std::optional<RowAdditions> RowAdditions::match(scf::ForOp outermost) {
  RowAdditions found;
  if (outermost.getNumResults() != 1)
    return std::nullopt;
  found.outermost = outermost;
  found.tables.push_back(outermost.getResult(0));
  if (!found.descend(outermost.getRegionIterArg(0),
                     outermost.getYieldedValues()[0]))
    return std::nullopt;
  return found;
}

/// Changes the element type of the table to `type`, and extends the elements of
/// rows to it before they are added.
void RowAdditions::widen(FloatType type) {
  for (Value table : tables)
    table.setType(cast<RankedTensorType>(table.getType()).clone(type));
  BlockArgument before = update.getRegionOutputArgs()[0];
  before.setType(type);
  OpBuilder builder(add);
  for (OpOperand &operand : add->getOpOperands())
    if (operand.get() != before)
      operand.set(
          arith::ExtFOp::create(builder, add.getLoc(), type, operand.get()));
  add.getResult().setType(type);
}

Value RowAdditions::addTo(Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  if (type != start().getType())
    widen(cast<FloatType>(type.getElementType()));
  outermost.getInitArgsMutable()[0].set(sum);
  return outermost.getResult(0);
}

} // namespace stagewright::bodies
