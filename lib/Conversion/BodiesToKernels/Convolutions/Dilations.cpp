//===- Dilations.cpp - gradients of convolutions without dilated operands -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a strided convolution read the gradient of the result
// widened (dilated) with zeros. They are rewritten to read it as it is. In one
// dimension, with stride s, gradient g of the result and flipped weights w:
//
//   weight  dw[t] = sum over q of x[t + q] * wide(g)[q]
//                 = sum over i of x[t + s * i] * g[i]
//   input   dx[r] = sum over t of wide(g)[r + t] * w[t]
//     where wide(g) is nonzero at every s-th t, so the elements dx[p + s * i]
//     of one phase p are a convolution of g with every s-th element of w.
//
//===----------------------------------------------------------------------===//

#include "Dilations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Conversion/BodiesToKernels/LinearMap.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

tensor::InsertSliceOp matchInsertIntoZeros(Value value) {
  auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !isZero(insert.getDest()) ||
      insert.getSourceType().getRank() != insert.getDestType().getRank() ||
      ShapedType::isDynamicShape(insert.getStaticOffsets()) ||
      ShapedType::isDynamicShape(insert.getStaticStrides()))
    return {};
  return insert;
}

namespace {

/// A tensor widened with zeros: element i of dimension d of `source` is at
/// index offsets[d] + i * strides[d].
struct Widened {
  Value source;
  ArrayRef<int64_t> offsets, strides;

  static std::optional<Widened> match(Value value) {
    tensor::InsertSliceOp insert = matchInsertIntoZeros(value);
    if (!insert || llvm::all_of(insert.getStaticStrides(),
                                [](int64_t s) { return s == 1; }))
      return std::nullopt;
    return Widened{insert.getSource(), insert.getStaticOffsets(),
                   insert.getStaticStrides()};
  }
};

/// A widened dimension of an input gradient: the dimensions that its two loops,
/// over the result and over the weights, index.
struct PhasedDim {
  unsigned image;  ///< dimension of the widened operand
  unsigned result; ///< dimension of the result
  unsigned weight; ///< dimension of the weights
  int64_t stride;
};

/// A phase of the result in one dimension.
struct Phase {
  int64_t first;  ///< index of its first element in the result
  int64_t extent; ///< number of its elements
  int64_t tap;    ///< index of the first weight not multiplied by zeros
  int64_t taps;   ///< number of such weights
  int64_t start;  ///< index in g of the first element read

  static Phase get(int64_t first, int64_t stride, int64_t offset,
                   int64_t results, int64_t weights) {
    Phase phase = {first, (results - first + stride - 1) / stride, 0, 0, 0};
    phase.tap = ((offset - first) % stride + stride) % stride;
    phase.taps =
        std::max<int64_t>((weights - phase.tap + stride - 1) / stride, 0);
    phase.start = (first + phase.tap - offset) / stride;
    return phase;
  }
  int64_t reach() const { return extent + taps - 1; }
};

SmallVector<OpFoldResult> indices(OpBuilder &builder, ArrayRef<int64_t> list) {
  return getAsIndexOpFoldResult(builder.getContext(), list);
}

class DilationRewriter {
public:
  DilationRewriter(RewriterBase &rewriter,
                   function_ref<Value(linalg::GenericOp)> raise)
      : rewriter(rewriter), raise(raise) {}

  bool rewrite(linalg::GenericOp op) {
    return narrowSum(op) || splitIntoPhases(op);
  }

private:
  /// The convolution `op` with other operands.
  Value replaceOperands(linalg::GenericOp op, ValueRange inputs, Value init,
                        ArrayRef<AffineMap> maps) {
    auto made = linalg::GenericOp::create(
        rewriter, op.getLoc(), TypeRange{init.getType()}, inputs,
        ValueRange{init}, maps, op.getIteratorTypesArray());
    IRMapping mapping;
    op.getRegion().cloneInto(&made.getRegion(), mapping);
    return raise(made);
  }

  /// If only reduction loops index the widened dimensions of an operand (a
  /// weight gradient), sums over its source instead.
  bool narrowSum(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (unsigned i : {0u, 1u}) {
      auto widened = Widened::match(op.getDpsInputs()[i]);
      if (!widened)
        continue;
      SmallVector<AffineExpr> steps;
      for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
        steps.push_back(rewriter.getAffineDimExpr(dim));
      bool fits = true;
      for (auto [offset, stride, result] : llvm::zip_equal(
               widened->offsets, widened->strides, maps[i].getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(result);
        fits &= offset == 0 && dim &&
                !(stride != 1 && maps[2].isFunctionOfDim(dim.getPosition()));
        // The other operand is read at the index in the wide tensor.
        if (fits)
          steps[dim.getPosition()] = result * stride;
      }
      auto wide = cast<RankedTensorType>(op.getDpsInputs()[i].getType());
      auto source = cast<RankedTensorType>(widened->source.getType());
      for (int64_t d = 0; fits && d < wide.getRank(); ++d)
        fits = widened->strides[d] != 1 ||
               wide.getDimSize(d) == source.getDimSize(d);
      if (!fits)
        continue;
      unsigned other = 1 - i;
      maps[other] =
          maps[other].replaceDimsAndSymbols(steps, {}, op.getNumLoops(), 0);
      Value inputs[2];
      inputs[i] = widened->source;
      inputs[other] = op.getDpsInputs()[other];
      rewriter.replaceOp(
          op, replaceOperands(op, inputs, op.getDpsInits()[0], maps));
      return true;
    }
    return false;
  }

  /// The widened dimensions of operand `image` of an input gradient, or nothing
  /// if `op` is of another form.
  static std::optional<SmallVector<PhasedDim>>
  matchPhased(linalg::GenericOp op, unsigned image, const Widened &widened) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto steps = *coefficientsOf(maps[image]);
    SmallVector<PhasedDim> phased;
    for (auto [d, stride] : llvm::enumerate(widened.strides)) {
      if (stride == 1)
        continue;
      PhasedDim dim = {unsigned(d), ~0u, ~0u, stride};
      for (auto [loop, step] : llvm::enumerate(steps[d])) {
        if (step == 0)
          continue;
        AffineExpr expr = getAffineDimExpr(loop, op.getContext());
        auto result = maps[2].getResultPosition(expr);
        auto weight = maps[1 - image].getResultPosition(expr);
        unsigned &place = result ? dim.result : dim.weight;
        if (step != 1 || bool(result) == bool(weight) || place != ~0u)
          return std::nullopt;
        place = result ? *result : *weight;
      }
      if (dim.result == ~0u || dim.weight == ~0u)
        return std::nullopt;
      phased.push_back(dim);
    }
    return phased;
  }

  /// Rewrites an input gradient as one convolution per phase.
  bool splitIntoPhases(linalg::GenericOp op) {
    for (unsigned image : {0u, 1u}) {
      auto widened = Widened::match(op.getDpsInputs()[image]);
      if (!widened || !isZero(op.getDpsInits()[0]))
        continue;
      auto dims = matchPhased(op, image, *widened);
      if (dims && emitPhases(op, image, *widened, *dims))
        return true;
    }
    return false;
  }

  bool emitPhases(linalg::GenericOp op, unsigned image, const Widened &widened,
                  ArrayRef<PhasedDim> dims) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto wide = cast<RankedTensorType>(op.getDpsInputs()[image].getType());
    auto source = cast<RankedTensorType>(widened.source.getType());
    Value weights = op.getDpsInputs()[1 - image];
    auto weightType = cast<RankedTensorType>(weights.getType());

    SmallVector<SmallVector<Phase>> phases;
    SmallVector<int64_t> low(source.getRank(), 0), high(source.getRank(), 0);
    // Dimensions that are not widened keep the padding around the source.
    for (int64_t d = 0; d < source.getRank(); ++d)
      if (widened.strides[d] == 1) {
        low[d] = widened.offsets[d];
        high[d] = wide.getDimSize(d) - low[d] - source.getDimSize(d);
      }
    for (const PhasedDim &dim : dims) {
      SmallVector<Phase> &list = phases.emplace_back();
      for (int64_t p = 0; p < dim.stride; ++p) {
        Phase phase = Phase::get(p, dim.stride, widened.offsets[dim.image],
                                 type.getDimSize(dim.result),
                                 weightType.getDimSize(dim.weight));
        list.push_back(phase);
        if (phase.taps == 0 || phase.extent <= 0)
          continue;
        low[dim.image] = std::max(low[dim.image], -phase.start);
        high[dim.image] =
            std::max(high[dim.image], phase.start + phase.reach() -
                                          source.getDimSize(dim.image));
      }
    }

    SmallVector<int64_t> paddedShape, ones(source.getRank(), 1);
    for (int64_t d = 0; d < source.getRank(); ++d)
      paddedShape.push_back(source.getDimSize(d) + low[d] + high[d]);
    Value padded = widened.source;
    if (llvm::any_of(low, [](int64_t n) { return n; }) ||
        llvm::any_of(high, [](int64_t n) { return n; })) {
      Value zero = createZero(rewriter, loc, source.clone(paddedShape));
      padded = tensor::InsertSliceOp::create(
          rewriter, loc, widened.source, zero, indices(rewriter, low),
          indices(rewriter, source.getShape()), indices(rewriter, ones));
    }

    Value result = createZero(rewriter, loc, type);
    SmallVector<size_t> at(dims.size(), 0);
    while (true) {
      result =
          emitPhase(op, image, dims, phases, at, low, padded, weights, result);
      size_t d = 0;
      while (d < dims.size() && ++at[d] == phases[d].size())
        at[d++] = 0;
      if (d == dims.size())
        break;
    }
    rewriter.replaceOp(op, result);
    return true;
  }

  /// Computes one phase and inserts it into `result`.
  Value emitPhase(linalg::GenericOp op, unsigned image,
                  ArrayRef<PhasedDim> dims, ArrayRef<SmallVector<Phase>> phases,
                  ArrayRef<size_t> at, ArrayRef<int64_t> low, Value padded,
                  Value weights, Value result) {
    Location loc = op.getLoc();
    auto shapeOf = [](Value value) {
      return llvm::to_vector(
          cast<RankedTensorType>(value.getType()).getShape());
    };
    SmallVector<int64_t> imageAt(shapeOf(padded).size(), 0),
        imageSize = shapeOf(padded), imageStep(imageAt.size(), 1);
    SmallVector<int64_t> weightAt(shapeOf(weights).size(), 0),
        weightSize = shapeOf(weights), weightStep(weightAt.size(), 1);
    SmallVector<int64_t> resultAt(shapeOf(result).size(), 0),
        resultSize = shapeOf(result), resultStep(resultAt.size(), 1);
    for (auto [dim, list, index] : llvm::zip_equal(dims, phases, at)) {
      const Phase &phase = list[index];
      if (phase.taps == 0 || phase.extent <= 0)
        return result; // no elements, or all products are zero
      imageAt[dim.image] = low[dim.image] + phase.start;
      imageSize[dim.image] = phase.reach();
      weightAt[dim.weight] = phase.tap;
      weightSize[dim.weight] = phase.taps;
      weightStep[dim.weight] = dim.stride;
      resultAt[dim.result] = phase.first;
      resultSize[dim.result] = phase.extent;
      resultStep[dim.result] = dim.stride;
    }
    Value inputs[2];
    inputs[image] = tensor::ExtractSliceOp::create(
        rewriter, loc, padded, indices(rewriter, imageAt),
        indices(rewriter, imageSize), indices(rewriter, imageStep));
    inputs[1 - image] = tensor::ExtractSliceOp::create(
        rewriter, loc, weights, indices(rewriter, weightAt),
        indices(rewriter, weightSize), indices(rewriter, weightStep));
    auto type = cast<RankedTensorType>(result.getType()).clone(resultSize);
    Value part = replaceOperands(op, inputs, createZero(rewriter, loc, type),
                                 op.getIndexingMapsArray());
    return tensor::InsertSliceOp::create(
        rewriter, loc, part, result, indices(rewriter, resultAt),
        indices(rewriter, resultSize), indices(rewriter, resultStep));
  }

  RewriterBase &rewriter;
  function_ref<Value(linalg::GenericOp)> raise;
};

} // namespace

bool avoidDilation(linalg::GenericOp op, RewriterBase &rewriter,
                   function_ref<Value(linalg::GenericOp)> raise) {
  return DilationRewriter(rewriter, raise).rewrite(op);
}

} // namespace stagewright::bodies
