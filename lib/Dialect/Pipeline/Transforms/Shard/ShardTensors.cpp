//===- ShardTensors.cpp - shape operations on parts -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "stagewright/Analysis/Rows.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::pipeline {
namespace {

/// How a shard copies a shape operation: the layouts of operands and result,
/// and how static sizes and offsets change to those of its part.
struct Plan {
  SmallVector<Layout> operands;
  Layout result;
  std::function<void(Operation *, int64_t)> resize = [](Operation *, int64_t) {
  };
};

/// `values`, with entry `dim`, the size of some whole chunks, replaced by that
/// of the parts of these chunks that `shard` has.
DenseI64ArrayAttr partOf(MLIRContext *context, ArrayRef<int64_t> values,
                         int64_t dim, ChunkParts parts, int64_t shard) {
  SmallVector<int64_t> all(values);
  all[dim] = all[dim] / parts.size * parts.sizeOf(shard);
  return DenseI64ArrayAttr::get(context, all);
}

/// Sets offset and size of a slice in `dim` to those of a shard's part.
template <typename SliceOp> auto resizeSlice(int64_t dim, ChunkParts parts) {
  return [=](Operation *copied, int64_t shard) {
    auto slice = cast<SliceOp>(copied);
    slice.setStaticOffsetsAttr(partOf(
        slice.getContext(), slice.getStaticOffsets(), dim, parts, shard));
    slice.setStaticSizesAttr(
        partOf(slice.getContext(), slice.getStaticSizes(), dim, parts, shard));
  };
}

std::optional<Plan> planExtract(tensor::ExtractSliceOp op, Layout source,
                                int64_t ways) {
  int64_t dim = source.dim;
  if (op->getNumOperands() != 1 || op.getStaticStrides()[dim] != 1)
    return std::nullopt;
  auto range =
      throughRange(source, op.getSourceType().getDimSize(dim),
                   op.getStaticOffsets()[dim], op.getStaticSizes()[dim]);
  int64_t left = withoutDropped(op.getDroppedDims(), dim);
  if (!range || left < 0)
    return std::nullopt;
  return Plan{{source},
              Layout::split(left, range->outer, range->unit),
              resizeSlice<tensor::ExtractSliceOp>(
                  dim, chunkPartsOf(op.getSourceType(), source, ways))};
}

std::optional<Plan> planInsert(tensor::InsertSliceOp op, Layout source,
                               Layout dest, int64_t ways) {
  if (op->getNumOperands() != 2)
    return std::nullopt;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  RankedTensorType type = op.getDestType();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t left = withoutDropped(dropped, dim);
    bool asks = source.isSplit() ? left == source.dim
                                 : dest.isSplit() && dim == dest.dim;
    if (!asks || op.getStaticStrides()[dim] != 1 || left < 0)
      continue;
    int64_t first = op.getStaticOffsets()[dim], size = op.getStaticSizes()[dim];
    Layout part = source;
    if (!source.isSplit()) {
      auto range = throughRange(dest, type.getDimSize(dim), first, size);
      if (!range)
        return std::nullopt;
      part = Layout::split(left, range->outer, range->unit);
    }
    auto result = aroundRange(Layout::split(dim, part.outer, part.unit),
                              type.getDimSize(dim), first, size);
    if (!result || !fits(type, *result, ways))
      return std::nullopt;
    return Plan{{part, *result},
                *result,
                resizeSlice<tensor::InsertSliceOp>(
                    dim, chunkPartsOf(type, *result, ways))};
  }
  return std::nullopt;
}

std::optional<Plan> planPad(tensor::PadOp op, Layout source, int64_t ways) {
  auto type = cast<RankedTensorType>(op.getType());
  if (op->getNumOperands() != 1 || !op.getConstantPaddingValue())
    return std::nullopt;
  auto result = aroundRange(source, type.getDimSize(source.dim),
                            op.getStaticLow()[source.dim],
                            op.getSourceType().getDimSize(source.dim));
  if (!result || !fits(type, *result, ways))
    return std::nullopt;
  Plan plan{{source}, *result};
  ChunkParts parts = chunkPartsOf(type, *result, ways);
  plan.resize = [=](Operation *copied, int64_t shard) {
    auto pad = cast<tensor::PadOp>(copied);
    pad.setStaticLowAttr(
        partOf(pad.getContext(), pad.getStaticLow(), source.dim, parts, shard));
    pad.setStaticHighAttr(partOf(pad.getContext(), pad.getStaticHigh(),
                                 source.dim, parts, shard));
  };
  return plan;
}

} // namespace

bool isShapeOp(Operation &op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp>(op);
}

bool Sharder::copyTensorOp(Operation &op) {
  if (!isShapeOp(op))
    return false;
  Layout first = layoutOf(op.getOperand(0));
  std::optional<Plan> plan;
  if (isa<tensor::InsertSliceOp>(op)) {
    Layout dest = layoutOf(op.getOperand(1));
    if (first.isSplit() || dest.isSplit())
      plan = planInsert(cast<tensor::InsertSliceOp>(op), first, dest, ways);
  } else if (first.kind == Layout::Partial &&
             (!isa<tensor::PadOp>(op) || kept.contains(&op))) {
    plan = Plan{{first}, first};
  } else if (first.isSplit()) {
    auto moved = [&](std::optional<Layout> result) {
      if (result)
        plan = Plan{{first}, *result};
    };
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](tensor::ExpandShapeOp it) {
          moved(throughExpand(it, first, ways));
          if (plan)
            plan->resize = [](Operation *copied, int64_t) {
              auto expand = cast<tensor::ExpandShapeOp>(copied);
              expand.setStaticOutputShape(
                  cast<RankedTensorType>(expand.getType()).getShape());
            };
        })
        .Case([&](tensor::CollapseShapeOp it) {
          moved(throughCollapse(it, first, ways));
        })
        .Case([&](tensor::ExtractSliceOp it) {
          plan = planExtract(it, first, ways);
        })
        .Case([&](tensor::PadOp it) { plan = planPad(it, first, ways); });
  }
  if (!plan || plan->operands.size() != op.getNumOperands())
    return false;
  auto isByHint = [&](Value operand) {
    return layoutOf(operand).isSplit() && !entryOf(operand).scattered;
  };
  bool scattered =
      plan->result.isSplit() && llvm::none_of(op.getOperands(), isByHint);
  if (scattered && !scatters)
    return false;
  SmallVector<Level> levels;
  for (auto [operand, layout] :
       llvm::zip_equal(op.getOperands(), plan->operands))
    levels.push_back(levelOf(operand, layoutOf(operand) != layout));
  bool isPartial = plan->result.kind == Layout::Partial;
  enter(op, isPartial ? isOnSplitLevel(levels) : !scattered, levels);
  if (scattered && !canJoinAt(here))
    return false;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<Value> copies;
  for (int64_t shard = 0; shard < ways; ++shard) {
    SmallVector<Value> operands;
    for (auto [operand, layout] :
         llvm::zip_equal(op.getOperands(), plan->operands))
      operands.push_back(in(operand, layout, shard));
    Operation *copied = copyWith(
        op, operands, localType(type, plan->result, ways, shard), shard);
    plan->resize(copied, shard);
    copies.push_back(copied->getResult(0));
  }
  bool isProduct = entryOf(op.getOperand(0)).isProduct;
  bool samples = llvm::any_of(op.getOperands(), [&](Value operand) {
    return layoutOf(operand).isSplit() && entryOf(operand).samples;
  });
  Entry &entry = set(op.getResult(0), plan->result, copies);
  entry.scattered = scattered;
  entry.samples = samples && plan->result.isSplit();
  entry.isProduct = isProduct;
  return true;
}

} // namespace stagewright::pipeline
