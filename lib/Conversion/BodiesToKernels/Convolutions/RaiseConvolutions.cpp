//===- RaiseConvolutions.cpp - convolutions and their gradients -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dilations.h"
#include "Geometry.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "stagewright/Conversion/BodiesToKernels/ContractionDims.h"
#include "stagewright/Conversion/BodiesToKernels/LinearMap.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYRAISECONVOLUTIONS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

bool isConvolution(Operation *maybe) {
  auto op = dyn_cast<linalg::GenericOp>(maybe);
  if (!op || op.getNumDpsInputs() != 2 || !matchSumOfProducts(op))
    return false;
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  if (!element.isF32() && !element.isF64())
    return false;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<ShapedType>(operand.getType());
    if (!type || type.getElementType() != element || !type.hasStaticShape())
      return false;
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[2].isProjectedPermutation() ||
      (maps[0].isProjectedPermutation() && maps[1].isProjectedPermutation()))
    return false;
  for (AffineMap map : maps)
    if (!coefficientsOf(map))
      return false;
  ContractionDims dims = ContractionDims::get(maps);
  return dims.complete && !dims.m.empty() && !dims.n.empty() && !dims.k.empty();
}

namespace {

bool isNamedConvolution(Operation *op) {
  return isa<linalg::Conv1DNwcWcfOp, linalg::Conv1DNcwFcwOp,
             linalg::Conv2DNhwcHwcfOp, linalg::Conv2DNhwcFhwcOp,
             linalg::Conv2DNchwFchwOp, linalg::Conv3DNdhwcDhwcfOp,
             linalg::Conv3DNcdhwFcdhwOp>(op);
}

/// Whether `op` has no points, or sums over one element in some loop: it is
/// simplified later.
bool isTrivial(linalg::GenericOp op) {
  return llvm::any_of(
      llvm::zip_equal(op.getIteratorTypesArray(), op.getStaticLoopRanges()),
      [](auto loop) {
        auto [type, range] = loop;
        return range == 0 ||
               (type == utils::IteratorType::reduction && range == 1);
      });
}

/// The layout of an operand for the library: for each dimension in memory,
/// whether it is batch or filter (0), channel (1) or a spatial one (2 and up).
Numbers layoutOf(size_t places, bool channelsLast) {
  Numbers order = {0};
  if (!channelsLast)
    order.push_back(1);
  for (size_t i = 0; i < places; ++i)
    order.push_back(int64_t(2 + i));
  if (channelsLast)
    order.push_back(1);
  return order;
}

struct BodyRaiseConvolutionsPass
    : impl::BodyRaiseConvolutionsBase<BodyRaiseConvolutionsPass> {
  using BodyRaiseConvolutionsBase::BodyRaiseConvolutionsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    generalizeNamed(getOperation(), rewriter, [&](Operation *op) {
      return library ? isa<linalg::ConvolutionOpInterface>(op)
                     : isNamedConvolution(op);
    });
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      rewriter.setInsertionPoint(op);
      std::optional<Geometry> geometry =
          library ? Geometry::get(op) : std::nullopt;
      if (geometry) {
        createConvolve(op, *geometry, rewriter);
        ++numRaised;
        continue;
      }
      if (!isConvolution(op) || !op.hasPureTensorSemantics())
        continue;
      auto raise = [&](linalg::GenericOp made) {
        return createContract(made, rewriter);
      };
      if (avoidDilation(op, rewriter, raise)) {
        ++numNarrowed;
        continue;
      }
      if (createContract(op, rewriter).getDefiningOp<rank::ContractOp>())
        ++numRaised;
    }
  }

  /// Replaces convolution `op` by a rank.contract and returns the new result.
  /// With `library`, where `op` becomes a kernel, and if `op` is simplified
  /// later, leaves it as it is and returns its result.
  Value createContract(linalg::GenericOp op, IRRewriter &rewriter) {
    if (library || isTrivial(op))
      return op->getResult(0);
    auto made = rank::ContractOp::create(
        rewriter, op.getLoc(), rank::Update::Accumulate,
        op.getIndexingMapsArray(), op.getDpsInputs()[0], op.getDpsInputs()[1],
        op.getDpsInits()[0]);
    rewriter.replaceOp(op, made);
    return made.getOutput();
  }

  /// `value` with its dimension permutation[i] as dimension i.
  static Value transpose(OpBuilder &builder, Location loc, Value value,
                         ArrayRef<int64_t> permutation) {
    auto type = cast<RankedTensorType>(value.getType());
    if (llvm::is_sorted(permutation))
      return value;
    Numbers shape;
    for (int64_t from : permutation)
      shape.push_back(type.getDimSize(unsigned(from)));
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
    return linalg::TransposeOp::create(builder, loc, value, empty, permutation)
        ->getResult(0);
  }

  /// Replaces convolution `op` by a rank.convolve, which a device's library
  /// computes.
  void createConvolve(linalg::GenericOp op, const Geometry &it,
                      IRRewriter &rewriter) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    size_t places = it.stride.size();
    unsigned written = it.writes == rank::Convolution::Result  ? 2
                       : it.writes == rank::Convolution::Image ? 0
                                                               : 1;
    // All three have the image's layout, or the result's if the image is made.
    bool channelsLast = !llvm::is_sorted(
        it.dims[it.writes == rank::Convolution::Image ? 2 : 0]);
    Numbers order = layoutOf(places, channelsLast);
    Numbers inOrder(order.size());
    for (auto [memory, dim] : llvm::enumerate(order))
      inOrder[size_t(dim)] = int64_t(memory);

    SmallVector<Value> inputs;
    for (unsigned role = 0; role < 3; ++role) {
      if (role == written)
        continue;
      Numbers permutation;
      for (int64_t dim : order)
        permutation.push_back(it.dims[role][size_t(dim)]);
      inputs.push_back(
          transpose(rewriter, loc, it.operands[role], permutation));
    }
    Numbers shape, back(order.size());
    for (auto [memory, dim] : llvm::enumerate(order)) {
      int64_t own = it.dims[written][size_t(dim)];
      shape.push_back(type.getDimSize(unsigned(own)));
      back[size_t(own)] = int64_t(memory);
    }
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
    Value result = rank::ConvolveOp::create(
                       rewriter, loc, empty.getType(), it.writes, inputs[0],
                       inputs[1], empty, inOrder, inOrder, inOrder, it.stride,
                       it.dilation, it.before, it.after)
                       .getOutput();
    result = transpose(rewriter, loc, result, back);
    Value init = op.getDpsInits()[0];
    if (!isZero(init))
      result = createUpdate(rewriter, loc, init, result);
    rewriter.replaceOp(op, result);
  }
};

} // namespace
} // namespace stagewright::bodies
