//===- ShardTails.cpp - where an even level can be cut --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Analysis/Work.h"

namespace stagewright::pipeline {

bool Sharder::isInForwardTail(Operation &op, ArrayRef<Level> levels) const {
  if (llvm::any_of(levels, [&](Level level) {
        return !level.backward && level.isIn(here.number, /*ofTail=*/true);
      }))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.getNumReductionLoops() > 0;
}

bool Sharder::isOfHead(Value argument) const {
  return readByHead.contains({argument, here.number}) &&
         !readByTail.contains({argument, here.number});
}

bool Sharder::isInBackwardTail(Operation &op, ArrayRef<Level> levels) {
  if (!parts.contains({here.number, true}))
    return false;
  if (!parts.contains({here.number, false}))
    return true;
  auto isOfHeads = [&](Level level) {
    return level.backward && level.isIn(here.number, /*ofTail=*/false);
  };
  if (llvm::any_of(levels, isOfHeads))
    return false;
  for (Value value : readsOf(op)) {
    Level level = entryOf(value).level;
    bool staysInHead = !level.backward &&
                       level.isIn(here.number, /*ofTail=*/false) &&
                       !crossing.contains(value);
    if (staysInHead || isOfHead(value))
      return false;
  }
  return llvm::none_of(op.getResults(), [&](Value result) {
    Value argument = gradientOf.lookup(result);
    return argument && isOfHead(argument);
  });
}

void Sharder::noteReads(Operation &op) {
  bool isEven = here.number % 2 == 0;
  if (isEven)
    parts.insert({here.number, here.tail});
  for (Value value : readsOf(op)) {
    if (isEven)
      (here.tail ? readByTail : readByHead)
          .insert({originOf(value), here.number});
    Level level = entryOf(value).level;
    if (level.number < 0 || level.number % 2 != 0 || level.tail ||
        here.isIn(level.number, /*ofTail=*/false))
      continue;
    crossing.insert(value);
    while (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        value.getDefiningOp())) {
      value = value.getDefiningOp()->getOperand(0);
      crossing.insert(value);
    }
  }
}

ArrayRef<Value> Sharder::sentFrom(Value old) {
  Entry &entry = entryOf(old);
  Level level = entry.level, later = level.later();
  bool isEven = level.number >= 0 && level.number % 2 == 0;
  if (!cuts || !isEven || !entry.layout.isSplit() || level.tail == later.tail ||
      (level.backward && !parts.contains({level.number, later.tail})))
    return entry.copies;
  if (!entry.sent.empty())
    return entry.sent;
  Level before = std::exchange(here, later);
  parts.insert({later.number, later.tail});
  if (!level.backward)
    crossing.insert(old);
  for (int64_t shard = 0; shard < ways; ++shard) {
    Value part = entry.copies[shard];
    Location loc = at(old.getDefiningOp(), shard);
    auto type = cast<RankedTensorType>(part.getType());
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    auto copied = linalg::CopyOp::create(builder, loc, part, empty);
    mark(*copied);
    entry.sent.push_back(copied.getResult(0));
  }
  here = before;
  return entry.sent;
}

void forPartsOfGradient(Value gradient, bool throughSums,
                        function_ref<bool(Value)> take) {
  SmallVector<Value> open{gradient};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !take(value))
      continue;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    bool isMoved = structured ? structured.getNumReductionLoops() == 0 &&
                                    structured.getNumDpsInputs() == 1
                              : isShapeOp(*op) && op->getNumOperands() == 1;
    bool isSum =
        isShapeOp(*op) || isa<arith::AddFOp, arith::AddIOp, linalg::AddOp>(op);
    if (throughSums && (isMoved || isSum))
      llvm::append_range(open, op->getOperands());
    else if (isMoved)
      open.push_back(op->getOperand(0));
  }
}

int64_t savedBytes(ValueRange results, ValueRange operands,
                   function_ref<bool(Value)> staysBefore) {
  int64_t bytes = 0;
  for (Value value : results)
    bytes += bytesOf(value.getType());
  for (Value value : operands)
    if (staysBefore(value))
      bytes -= bytesOf(value.getType());
  return bytes;
}

void Sharder::setGradient(Value value, Value argument) {
  forPartsOfGradient(value, /*throughSums=*/false, [&](Value part) {
    gradientOf[part] = argument;
    return true;
  });
}

} // namespace stagewright::pipeline
