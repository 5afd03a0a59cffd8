//===- RowTracker.cpp - rows through the body of one function -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace stagewright::pipeline {

bool isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    // A scalar of a linalg body is zero if the input that it is read from is.
    auto scalar = cast<BlockArgument>(value);
    auto of = dyn_cast<linalg::LinalgOp>(scalar.getOwner()->getParentOp());
    return of && scalar.getArgNumber() < of.getNumDpsInputs() &&
           isZero(of->getOperand(scalar.getArgNumber()));
  }
  if (matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()))
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return isZero(fill.getInputs()[0]);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractOp, tensor::ExtractSliceOp>(op))
    return isZero(op->getOperand(0));
  // A broadcast: it yields its only input.
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1)
    return false;
  auto yielded = dyn_cast<BlockArgument>(
      generic.getBlock()->getTerminator()->getOperand(0));
  return yielded && yielded.getArgNumber() == 0 &&
         isZero(generic.getDpsInputs()[0]);
}

static bool isSum(Operation *op) {
  return isa<arith::AddFOp, arith::AddIOp>(op);
}
static bool isDifference(Operation *op) {
  return isa<arith::SubFOp, arith::SubIOp>(op);
}
static bool isLinearInAll(Operation *op) {
  return isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(op);
}

/// The kind of `op` if an operand is a carried Sum: that Sum if `op` adds to
/// it, subtracts from it, casts it or selects it in both cases; else Mixed.
static RowKind addRow(Operation *op, ArrayRef<RowKind> kinds) {
  const RowKind mixed = {RowKind::Mixed};
  RowKind sum;
  int64_t sums = 0;
  for (const RowKind &kind : kinds) {
    if (kind.kind == RowKind::Partial)
      return mixed;
    if (kind.kind == RowKind::Sum) {
      if (sums++ && kind != sum)
        return mixed;
      sum = kind;
    }
  }
  if (isSum(op) && sums == 1)
    return sum;
  if (isDifference(op) && sums == 1 && kinds[0] == sum)
    return sum;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return sum;
  bool chooses = isa<arith::SelectOp>(op) && kinds[1] == sum && kinds[2] == sum;
  return chooses ? sum : mixed;
}

/// The kind of `op` if an operand is Partial: Partial if `op` is linear in it.
static RowKind usePartial(Operation *op, ArrayRef<RowKind> kinds,
                          ArrayRef<bool> zeros) {
  const RowKind mixed = {RowKind::Mixed}, partial = {RowKind::Partial};
  auto isPartial = [&](size_t i) { return kinds[i].kind == RowKind::Partial; };
  auto isLinear = [&](size_t i) { return isPartial(i) || zeros[i]; };
  auto isWhole = [&](size_t i) { return kinds[i].kind == RowKind::Whole; };
  if (isSum(op) || isDifference(op))
    return isLinear(0) && isLinear(1) ? partial : mixed;
  if (isLinearInAll(op))
    return partial;
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return (isPartial(0) && isWhole(1)) || (isWhole(0) && isPartial(1))
               ? partial
               : mixed;
  if (isa<arith::DivFOp>(op))
    return isPartial(0) && isWhole(1) ? partial : mixed;
  if (isa<arith::SelectOp>(op))
    return isWhole(0) && isLinear(1) && isLinear(2) ? partial : mixed;
  return mixed;
}

RowKind combine(Operation *op, ArrayRef<RowKind> kinds, ArrayRef<bool> zeros) {
  auto has = [&](RowKind::Kind kind) {
    return llvm::any_of(kinds,
                        [&](const RowKind &k) { return k.kind == kind; });
  };
  if (has(RowKind::Mixed))
    return {RowKind::Mixed};
  if (has(RowKind::Sum))
    return addRow(op, kinds);
  if (has(RowKind::Partial))
    return usePartial(op, kinds, zeros);
  RowKind result;
  for (const RowKind &kind : kinds) {
    if (kind.kind == RowKind::Whole)
      continue;
    if (result.kind != RowKind::Whole && result != kind)
      return {RowKind::Mixed};
    result = kind;
  }
  return result;
}

bool RowTracker::isRowNumber(OpFoldResult value, int64_t perSample) const {
  auto index = dyn_cast<Value>(value);
  if (!index)
    return false;
  if (auto counter = index.getDefiningOp<linalg::IndexOp>()) {
    auto found = rows.loops.find(counter->getParentOfType<linalg::LinalgOp>());
    return found != rows.loops.end() &&
           found->second.number == counter.getDim() &&
           found->second.perSample == perSample;
  }
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  if (!loop || loop.getInductionVar() != index)
    return false;
  auto found = rows.loops.find(loop);
  return found != rows.loops.end() && found->second.perSample == perSample;
}

void RowTracker::visit(Operation &op) {
  if (op.hasTrait<OpTrait::IsTerminator>() ||
      op.hasTrait<OpTrait::ConstantLike>())
    return;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return visitStructured(structured);
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    auto loop = rows.loops.find(op.getParentOfType<linalg::LinalgOp>());
    bool counts =
        loop != rows.loops.end() && loop->second.number == index.getDim();
    return set(index, counts ? RowKind{RowKind::Row} : RowKind());
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return visitIf(choice);
  if (visitTensorOp(op) || visitAttention(op))
    return;
  auto isTensor = [](Type type) { return isa<ShapedType>(type); };
  bool scalar = !llvm::any_of(op.getOperandTypes(), isTensor) &&
                !llvm::any_of(op.getResultTypes(), isTensor);
  if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
      (scalar || OpTrait::hasElementwiseMappableTraits(&op)))
    return visitElementwise(op);
  visitUnknown(op);
}

void RowTracker::visitElementwise(Operation &op) {
  SmallVector<RowKind> kinds;
  SmallVector<bool> zeros;
  for (Value operand : op.getOperands()) {
    kinds.push_back(kindOf(operand));
    zeros.push_back(isZero(operand));
  }
  RowKind kind = combine(&op, kinds, zeros);
  auto has = [&](RowKind::Kind wanted) {
    return llvm::any_of(kinds,
                        [&](const RowKind &k) { return k.kind == wanted; });
  };
  if (kind.kind == RowKind::Mixed && !has(RowKind::Mixed)) {
    if (has(RowKind::Sum))
      return mix(&op, "'" + op.getName().getStringRef() +
                          "' reduces over the rows of the batch; only sums can "
                          "be taken apart");
    if (has(RowKind::Partial))
      return mix(&op, "'" + op.getName().getStringRef() +
                          "' uses a sum over the rows of the batch, and not "
                          "linearly");
    return mix(&op, "'" + op.getName().getStringRef() +
                        "' combines rows of the batch in different dimensions");
  }
  if (kind.isRows())
    for (OpOperand &use : op.getOpOperands())
      if (kindOf(use.get()).kind == RowKind::Whole &&
          isa<RankedTensorType>(use.get().getType()))
        want(use, kind);
  for (Value result : op.getResults())
    set(result, kind);
}

void RowTracker::visitUnknown(Operation &op) {
  bool touches = false;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      touches |= kindOf(operand).kind != RowKind::Whole;
  });
  if (touches)
    mix(&op, "no rule says how rows of the batch go through '" +
                 op.getName().getStringRef() + "'");
}

BodyRows rowsOf(func::FuncOp body, ArrayRef<RowKind> arguments,
                int64_t samples) {
  BodyRows rows;
  for (auto [argument, kind] : llvm::zip(body.getArguments(), arguments))
    if (kind != RowKind())
      rows.kinds[argument] = kind;
  Block &block = body.getBody().front();
  RowTracker(samples, rows).visit(block);
  for (Value value : block.getTerminator()->getOperands()) {
    RowKind kind = rows.kindOf(value);
    rows.results.push_back(kind.kind == RowKind::Mixed ? RowKind() : kind);
  }
  return rows;
}

} // namespace stagewright::pipeline
