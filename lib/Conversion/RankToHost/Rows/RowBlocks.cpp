//===- RowBlocks.cpp - blocks of the rows of a group ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::host {

/// Min blocks of a loop, if possible, so that threads can share it.
static constexpr int64_t kFewestBlocks = 16;

void TensorPart::add(OpFoldResult offset, OpFoldResult size) {
  offsets.push_back(offset);
  sizes.push_back(size);
  strides.push_back(Builder(size.getContext()).getIndexAttr(1));
}

RowBlocks::RowBlocks(const RowGroup &group, BlockLimits limits)
    : group(group), last(group.extents.size() - 1),
      blockSize(chooseSize(limits)) {
  outer = group.numRows() / blockSize;
  inner = 1;
  if (group.isNested()) {
    inner = group.extents[last] / blockSize;
    outer /= inner;
  }
  offsets.resize(group.extents.size(),
                 Builder(group.members[0].op->getContext()).getIndexAttr(0));
}

int64_t RowBlocks::chooseSize(BlockLimits limits) const {
  int64_t most =
      group.hasContraction()
          ? limits.scores / std::max<int64_t>(1, group.largestPerRow())
          : limits.values / std::max<int64_t>(1, group.bytesPerRow());
  if (!group.isNested())
    most = std::min(most, group.numRows() / kFewestBlocks);
  int64_t chosen = 1;
  for (int64_t size = 1; size <= std::min(most, group.extents[last]); ++size)
    if (group.extents[last] % size == 0)
      chosen = size;
  return chosen;
}

static Value constant(OpBuilder &builder, Location loc, int64_t number) {
  return arith::ConstantIndexOp::create(builder, loc, number);
}

void RowBlocks::enter(OpBuilder &builder, Location loc, Value number) {
  Value rest = number;
  int64_t left = outer;
  for (size_t i = group.extents.size(); i-- > 0;) {
    if (i == last && group.isNested())
      continue;
    int64_t size = i == last ? blockSize : 1;
    int64_t steps = group.extents[i] / size;
    left /= steps;
    if (steps == 1)
      continue;
    Value step = rest;
    if (left != 1) {
      Value divisor = constant(builder, loc, steps);
      step = arith::RemUIOp::create(builder, loc, rest, divisor);
      rest = arith::DivUIOp::create(builder, loc, rest, divisor);
    }
    if (size != 1)
      step = arith::MulIOp::create(builder, loc, step,
                                   constant(builder, loc, size));
    offsets[i] = step;
  }
}

void RowBlocks::enterInner(OpBuilder &builder, Location loc, Value number) {
  offsets[last] = arith::MulIOp::create(builder, loc, number,
                                        constant(builder, loc, blockSize))
                      .getResult();
}

TensorPart RowBlocks::partOf(RankedTensorType type, AffineMap map,
                             const RowMember &member) const {
  TensorPart part;
  Builder builder(type.getContext());
  for (auto [extent, loop] :
       llvm::zip_equal(type.getShape(), bodies::loopsOf(map))) {
    auto row = loop < 0 ? member.loops.end()
                        : llvm::find(member.loops, unsigned(loop));
    if (row == member.loops.end()) {
      part.add(builder.getIndexAttr(0), builder.getIndexAttr(extent));
      continue;
    }
    size_t i = row - member.loops.begin();
    int64_t size = i == last ? blockSize : 1;
    part.whole &= size == group.extents[i];
    part.add(offsets[i], builder.getIndexAttr(size));
  }
  return part;
}

} // namespace stagewright::host
