//===- RowOperands.cpp - operands of the threads of a row -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowWriter.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool RowWriter::isUsed(RowMember &member, OpOperand &operand) {
  return !member.op.isDpsInit(&operand) ||
         !member.op.getMatchingBlockArgument(&operand).use_empty();
}

bool RowWriter::isCarried(RowMember &member, OpOperand &operand) {
  return (member.loops.reduces || member.loops.sumsRows) &&
         member.op.isDpsInit(&operand);
}

void RowWriter::loadRowValues(RowMember &member) {
  for (OpOperand &operand : member.op->getOpOperands()) {
    AffineMap map = member.op.getMatchingIndexingMap(&operand);
    if (!isa<MemRefType>(operand.get().getType()) || !isUsed(member, operand) ||
        isCarried(member, operand) || member.loops.accessOf(map) != Access::Row)
      continue;
    auto it = known.find(operand.get());
    if (it != known.end() && it->second.isRow) {
      rowValues[&operand] = it->second.values[0];
      continue;
    }
    if (auto fill = fills.find(operand.get());
        fill != fills.end() && it == known.end()) {
      rowValues[&operand] = fill->second;
      continue;
    }
    Memory memory = writer.memoryOf(operand.get());
    rowValues[&operand] = writer.load(
        memory,
        writer.placeOf(memory, map, indicesAt(member, writer.number(0))));
  }
}

SmallVector<Value> RowWriter::read(RowMember &member, OpOperand &operand,
                                   ArrayRef<Value> indices, int64_t chunk) {
  unsigned lanes = member.lanes;
  if (!isa<MemRefType>(operand.get().getType()))
    return SmallVector<Value>(lanes, writer.lookup(operand.get()));
  if (!isUsed(member, operand) || isCarried(member, operand))
    return {};
  if (Value value = rowValues.lookup(&operand))
    return SmallVector<Value>(lanes, value);
  AffineMap map = member.op.getMatchingIndexingMap(&operand);
  auto it = known.find(operand.get());
  if (isKept(member, operand) && chunk >= 0)
    return SmallVector<Value>(
        ArrayRef(it->second.values).slice(size_t(chunk) * lanes, lanes));
  if (auto fill = fills.find(operand.get());
      fill != fills.end() && it == known.end())
    return SmallVector<Value>(lanes, fill->second);
  Memory memory = writer.memoryOf(operand.get());
  SmallVector<Value> values;
  if (isVector(member, memory, map))
    values =
        writer.loadLanes(memory, writer.placeOf(memory, map, indices), lanes);
  else
    for (unsigned lane = 0; lane < lanes; ++lane)
      values.push_back(writer.load(
          memory, writer.placeOf(memory, map, laneOf(member, indices, lane))));
  if (chunk >= 0 && member.loops.accessOf(map) == Access::Element)
    llvm::append_range(loaded[&operand], values);
  return values;
}

void RowWriter::rememberLoaded(RowMember &member) {
  for (auto &[operand, values] : loaded) {
    AffineMap map = member.op.getMatchingIndexingMap(operand);
    if (!member.op.isDpsInit(operand))
      known.insert({operand->get(),
                    {/*isRow=*/false, values, member.loops.placesOf(map)}});
  }
  loaded.clear();
}

void RowWriter::write(RowMember &member, OpOperand &init,
                      ArrayRef<Value> indices, ValueRange values) {
  if (rootOf(init.get()).getDefiningOp<memref::AllocOp>())
    return; // The value stays in registers.
  Memory memory = writer.memoryOf(init.get());
  AffineMap map = member.op.getMatchingIndexingMap(&init);
  if (member.loops.inner.empty()) {
    writer.where(writer.isZero(thread), {}, [&]() -> SmallVector<Value> {
      writer.store(memory, writer.placeOf(memory, map, indices), values[0]);
      return {};
    });
    return;
  }
  if (isVector(member, memory, map))
    return writer.storeLanes(memory, writer.placeOf(memory, map, indices),
                             values);
  for (auto [lane, value] : llvm::enumerate(values))
    writer.store(memory,
                 writer.placeOf(memory, map, laneOf(member, indices, lane)),
                 value);
}

bool RowWriter::isVector(const RowMember &member, const Memory &memory,
                         AffineMap map) {
  auto linear = Linear::get(map, memory.strides);
  int64_t lanes = member.lanes;
  if (lanes == 1 || !linear || memory.start || isa<IndexType>(memory.element) ||
      memory.element.getIntOrFloatBitWidth() < 8 ||
      (linear->constant + memory.offset) % lanes != 0)
    return false;
  unsigned innermost = member.loops.inner.back();
  for (auto [loop, step] : llvm::enumerate(linear->steps))
    if (loop == innermost ? step != 1
                          : member.loops.ranges[loop] != 1 && step % lanes != 0)
      return false;
  return true;
}

Value RowWriter::zeroOf(Value buffer) {
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value rootOf(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

void RowWriter::remember(Value buffer, Known value) {
  forget(buffer);
  known[buffer] = std::move(value);
}

void RowWriter::forget(Value buffer) {
  Value root = rootOf(buffer);
  fills.erase(buffer);
  SmallVector<Value> views;
  for (auto &[view, unused] : known)
    if (rootOf(view) == root)
      views.push_back(view);
  for (Value view : views)
    known.erase(view);
}

bool RowWriter::isKept(RowMember &member, OpOperand &operand) {
  auto it = known.find(operand.get());
  if (it == known.end())
    return false;
  AffineMap map = member.op.getMatchingIndexingMap(&operand);
  Access access = member.loops.accessOf(map);
  if (it->second.isRow)
    return access == Access::Row;
  return access == Access::Element &&
         it->second.places == member.loops.placesOf(map);
}

void RowWriter::meetBefore(RowMember &member) {
  SmallVector<Touch> nowRead, nowWritten;
  for (OpOperand &operand : member.op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()) ||
        rootOf(operand.get()).getDefiningOp<memref::AllocOp>())
      continue;
    AffineMap map = member.op.getMatchingIndexingMap(&operand);
    Touch touch{operand.get(), member.loops.accessOf(map) == Access::Element,
                member.loops.placesOf(map)};
    if (member.op.isDpsInit(&operand))
      nowWritten.push_back(touch);
    if (isUsed(member, operand) && !fills.count(operand.get()) &&
        !isKept(member, operand))
      nowRead.push_back(touch);
  }
  member.op->walk([&](memref::LoadOp load) {
    nowRead.push_back({load.getMemRef(), false, {}});
  });
  auto clash = [](ArrayRef<Touch> before, ArrayRef<Touch> now) {
    return llvm::any_of(before, [&](const Touch &a) {
      return llvm::any_of(now, [&](const Touch &b) {
        return rootOf(a.view) == rootOf(b.view) && !a.agrees(b);
      });
    });
  };
  if (clash(writes, nowRead) || clash(writes, nowWritten) ||
      clash(reads, nowWritten)) {
    writer.barrier();
    writes.clear();
    reads.clear();
  }
  llvm::append_range(reads, nowRead);
  llvm::append_range(writes, nowWritten);
}

} // namespace stagewright::device
