//===- SumSlices.cpp - add padded tensors only in their slices ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYSUMSLICES
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// A tensor that is `source` in a slice, and zero outside.
struct Padded {
  Value source;
  Value background; ///< Zero everywhere; null for a `tensor.pad`.
  SmallVector<int64_t> offsets, sizes, strides;
};

std::optional<Padded> matchPadded(Value value) {
  Padded padded;
  if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
    auto dynamic = [](ArrayRef<int64_t> numbers) {
      return llvm::any_of(numbers, ShapedType::isDynamic);
    };
    if (insert.getSourceType().getRank() != insert.getDestType().getRank() ||
        dynamic(insert.getStaticOffsets()) ||
        dynamic(insert.getStaticSizes()) ||
        dynamic(insert.getStaticStrides()) || !isZero(insert.getDest()))
      return std::nullopt;
    return Padded{insert.getSource(), insert.getDest(),
                  to_vector(insert.getStaticOffsets()),
                  to_vector(insert.getStaticSizes()),
                  to_vector(insert.getStaticStrides())};
  }
  auto pad = value.getDefiningOp<tensor::PadOp>();
  if (!pad || !pad.getSourceType().hasStaticShape() ||
      !pad.getType().hasStaticShape())
    return std::nullopt;
  Value zero = pad.getConstantPaddingValue();
  if (!zero || !isZero(zero))
    return std::nullopt;
  return Padded{pad.getSource(),
                {},
                to_vector(pad.getStaticLow()),
                to_vector(pad.getSourceType().getShape()),
                SmallVector<int64_t>(pad.getType().getRank(), 1)};
}

/// Whether the slices have no element in common.
bool areDisjoint(const Padded &a, const Padded &b) {
  for (size_t i = 0; i < a.offsets.size(); ++i) {
    int64_t endA = a.offsets[i] + (a.sizes[i] - 1) * a.strides[i];
    int64_t endB = b.offsets[i] + (b.sizes[i] - 1) * b.strides[i];
    bool apart = endA < b.offsets[i] || endB < a.offsets[i];
    bool interleaved = a.strides[i] == b.strides[i] &&
                       (a.offsets[i] - b.offsets[i]) % a.strides[i] != 0;
    if (apart || interleaved)
      return true;
  }
  return false;
}

struct BodySumSlicesPass : impl::BodySumSlicesBase<BodySumSlicesPass> {
  /// By sum made here: the slices outside of which it is zero.
  DenseMap<Value, SmallVector<Padded>> filled;

  /// A tensor equal to `value` that can be updated in slices: `value` itself,
  /// or an insertion in place of a `tensor.pad`.
  Value start(Value value, const Padded &padded, OpBuilder &builder) {
    if (padded.background)
      return value;
    Value zero = createZero(builder, value.getLoc(),
                            cast<RankedTensorType>(value.getType()));
    return insert(padded.source, zero, padded, builder);
  }

  static SmallVector<OpFoldResult> numbers(ArrayRef<int64_t> values,
                                           OpBuilder &builder) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  }

  Value insert(Value source, Value into, const Padded &at, OpBuilder &builder) {
    return tensor::InsertSliceOp::create(
        builder, source.getLoc(), source, into, numbers(at.offsets, builder),
        numbers(at.sizes, builder), numbers(at.strides, builder));
  }

  /// Adds the source of `padded` to its slice of `sum`.
  Value addTo(Value sum, const Padded &padded, Location loc,
              OpBuilder &builder) {
    auto type = cast<RankedTensorType>(padded.source.getType());
    Value slice = tensor::ExtractSliceOp::create(
        builder, loc, type, sum, numbers(padded.offsets, builder),
        numbers(padded.sizes, builder), numbers(padded.strides, builder));
    Value update = createUpdate(builder, loc, slice, padded.source);
    return insert(update, sum, padded, builder);
  }

  /// Whether `slices` cover every element of a tensor exactly once.
  static bool coverAll(ArrayRef<Padded> slices, Type type) {
    int64_t left = cast<RankedTensorType>(type).getNumElements();
    for (auto [i, slice] : llvm::enumerate(slices)) {
      int64_t elements = 1;
      for (int64_t size : slice.sizes)
        elements *= size;
      left -= elements;
      for (const Padded &before : slices.take_front(i))
        if (!areDisjoint(before, slice))
          return false;
    }
    return left == 0;
  }

  /// Makes the last `count` insertions into `value`, which together overwrite
  /// all elements, start from an empty tensor.
  static void dropBackground(Value value, size_t count) {
    tensor::InsertSliceOp first;
    for (; count > 0; --count) {
      auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
      if (!insert || (first && !insert->hasOneUse()))
        return;
      first = insert;
      value = insert.getDest();
    }
    OpBuilder builder(first);
    auto type = first.getDestType();
    first.getDestMutable().assign(tensor::EmptyOp::create(
        builder, first.getLoc(), type.getShape(), type.getElementType()));
  }

  /// Rewrites `add` if it adds a padded tensor.
  void rewrite(Operation *add) {
    // Last operand first: in a chain of sums the first one is the sum so far.
    SmallVector<Value> summands(add->getOperands());
    if (auto generic = dyn_cast<linalg::GenericOp>(add))
      summands = generic.getDpsInputs();
    auto onlyHere = [&](Value value) {
      return llvm::all_equal(value.getUsers());
    };
    for (Value operand : llvm::reverse(summands)) {
      std::optional<Padded> padded =
          onlyHere(operand) ? matchPadded(operand) : std::nullopt;
      if (!padded)
        continue;
      Value sum = matchAdd(add, operand);
      if (!sum || sum == operand || sum.getType() != operand.getType())
        continue;
      OpBuilder builder(add);
      SmallVector<Padded> slices;
      if (auto known = filled.find(sum); known != filled.end()) {
        slices = known->second;
      } else if (auto first = matchPadded(sum); first && onlyHere(sum)) {
        slices.push_back(*first);
        sum = start(sum, *first, builder);
      }
      bool fresh =
          !slices.empty() && llvm::all_of(slices, [&](const Padded &slice) {
            return areDisjoint(slice, *padded);
          });
      Value result = fresh ? insert(padded->source, sum, *padded, builder)
                           : addTo(sum, *padded, add->getLoc(), builder);
      ++(fresh ? numInserted : numSummed);
      if (!slices.empty()) {
        slices.push_back(*padded);
        filled[result] = slices;
      }
      add->getResult(0).replaceAllUsesWith(result);
      add->erase();
      if (fresh && coverAll(slices, result.getType()))
        dropBackground(result, slices.size());
      return;
    }
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isBody(function))
      return;
    filled.clear();
    SmallVector<Operation *> candidates;
    function.walk([&](Operation *op) {
      if (isa<linalg::GenericOp, arith::AddFOp, arith::AddIOp>(op) &&
          op->getNumResults() == 1 &&
          isa<RankedTensorType>(op->getResult(0).getType()))
        candidates.push_back(op);
    });
    for (Operation *op : candidates)
      rewrite(op);
  }
};

} // namespace
} // namespace stagewright::bodies
