//===- RaiseContractions.cpp - sums of products as linalg.contract --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "stagewright/Conversion/BodiesToKernels/ContractionDims.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYRAISECONTRACTIONS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Converts `value` to element type `type` by one elementwise operation.
Value convertElements(OpBuilder &builder, Location loc, Value value,
                      Type type) {
  auto from = cast<RankedTensorType>(value.getType());
  if (from.getElementType() == type)
    return value;
  bool widen = from.getElementTypeBitWidth() < type.getIntOrFloatBitWidth();
  return createElementwise(builder, loc, value, type,
                           [&](OpBuilder &b, Location l, Value in) -> Value {
                             if (widen)
                               return arith::ExtFOp::create(b, l, type, in);
                             return arith::TruncFOp::create(b, l, type, in);
                           });
}

bool isByte(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

/// Whether a device's library can multiply these operands of 8 bits: see
/// sw_contraction_desc.
bool areForLibrary(Type left, Type right, const ContractionDims &dims,
                   ArrayRef<int64_t> ranges) {
  auto known = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  bool one = isa<Float8E4M3FNType>(left) || isa<Float8E4M3FNType>(right);
  if (!known(left) || !known(right) || !one || !dims.batch.empty())
    return false;
  return llvm::all_of(ArrayRef({dims.m, dims.n, dims.k}),
                      [&](const auto &some) {
                        int64_t extent = 1;
                        for (unsigned dim : some)
                          extent *= ranges[dim];
                        return extent % 16 == 0;
                      });
}

struct BodyRaiseContractionsPass
    : impl::BodyRaiseContractionsBase<BodyRaiseContractionsPass> {
  using BodyRaiseContractionsBase::BodyRaiseContractionsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    IRRewriter rewriter(&getContext());
    generalizeNamed(function, rewriter);

    SmallVector<linalg::GenericOp> generics;
    function.walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      raise(op, rewriter);

    // Operands first: a transposed result of one contraction may be the operand
    // of the next.
    SmallVector<linalg::ContractOp> contractions;
    function.walk([&](linalg::ContractOp op) { contractions.push_back(op); });
    for (linalg::ContractOp op : contractions)
      while (foldOperand(op, rewriter))
        ++numTransposed;
    for (linalg::ContractOp op : contractions)
      while (foldResult(op, rewriter))
        ++numTransposed;
  }

  void generalizeNamed(func::FuncOp function, IRRewriter &rewriter) {
    SmallVector<linalg::AggregatedOpInterface> aggregates;
    function.walk([&](linalg::AggregatedOpInterface op) {
      aggregates.push_back(op); // for example softmax
    });
    for (linalg::AggregatedOpInterface op : aggregates) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
      if (succeeded(parts))
        rewriter.replaceOp(op, *parts);
    }
    bodies::generalizeNamed(function, rewriter, [](Operation *op) {
      // The remaining convolutions, such as pooling, are lowered by name.
      return !isa<linalg::ContractOp, linalg::FillOp,
                  linalg::ConvolutionOpInterface>(op);
    });
  }

  void raise(linalg::GenericOp op, IRRewriter &rewriter) {
    auto operands = matchSumOfProducts(op);
    if (!operands || !op.hasPureTensorSemantics())
      return;
    OpOperand *out = op.getDpsInitOperand(0);
    SmallVector<AffineMap> maps = {op.getMatchingIndexingMap(operands->first),
                                   op.getMatchingIndexingMap(operands->second),
                                   op.getMatchingIndexingMap(out)};
    if (!llvm::all_of(
            maps, [](AffineMap map) { return map.isProjectedPermutation(); }))
      return;
    ContractionDims dims = ContractionDims::get(maps);
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    auto empty = [&](ArrayRef<unsigned> some) {
      return llvm::all_of(some, [&](unsigned dim) { return ranges[dim] == 1; });
    };
    if (!dims.complete || empty(dims.m) || empty(dims.n) || dims.k.empty() ||
        dims.batch.size() > 2)
      return;

    Type element =
        cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
    Type wide = element.isF64() ? element : rewriter.getF32Type();
    if (!isa<FloatType>(element))
      return;
    Type left = getElementTypeOrSelf(operands->first->get()),
         right = getElementTypeOrSelf(operands->second->get());
    // A sum in f64 that is rounded in the end would lose its precision.
    if (!wide.isF64() && (left.isF64() || right.isF64()))
      return;
    if (isByte(left) || isByte(right)) {
      bool stay = bytes && areForLibrary(left, right, dims, ranges);
      left = stay ? left : wide;
      right = stay ? right : wide;
    } else if (keepTypes && left == right &&
               (left == element || element == wide)) {
      wide = element;
    } else {
      left = right = wide;
    }
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    Value lhs = convertElements(rewriter, loc, operands->first->get(), left);
    Value rhs = convertElements(rewriter, loc, operands->second->get(), right);
    Value init = out->get();
    if (element != wide)
      init =
          isZero(init)
              ? createZero(rewriter, loc,
                           cast<RankedTensorType>(init.getType()).clone(wide))
              : convertElements(rewriter, loc, init, wide);
    auto contract = linalg::ContractOp::create(
        rewriter, loc, TypeRange{init.getType()}, ValueRange{lhs, rhs},
        ValueRange{init}, rewriter.getAffineMapArrayAttr(maps));
    rewriter.replaceOp(
        op, convertElements(rewriter, loc, contract.getResult(0), element));
    ++numRaised;
  }

  /// Replaces an operand that is a transposed or broadcast copy by its source.
  bool foldOperand(linalg::ContractOp op, IRRewriter &rewriter) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (unsigned i : {0u, 1u}) {
      Value source;
      AffineMap copied = matchCopy(op.getOperand(i), source);
      if (!copied || !copied.isProjectedPermutation())
        continue;
      SmallVector<AffineMap> folded = maps;
      folded[i] = copied.compose(maps[i]);
      ContractionDims dims = ContractionDims::get(folded);
      if (!dims.complete || dims.m.empty() || dims.n.empty() ||
          dims.k.empty() || dims.batch.size() > 2)
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        op->setOperand(i, source);
        op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(folded));
      });
      return true;
    }
    return false;
  }

  /// If the result starts from zero and its only use is a transposed copy,
  /// writes it in that order.
  bool foldResult(linalg::ContractOp &op, IRRewriter &rewriter) {
    Value result = op.getResult(0);
    if (!result.hasOneUse() || !isZero(op.getOutputs()[0]))
      return false;
    auto copy = dyn_cast<linalg::GenericOp>(*result.user_begin());
    Value source;
    if (!copy || copy->getNumResults() != 1)
      return false;
    AffineMap copied = matchCopy(copy.getResult(0), source);
    if (!copied || !copied.isPermutation())
      return false;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps[2] = inversePermutation(copied).compose(maps[2]);
    rewriter.setInsertionPoint(op);
    Value init =
        createZero(rewriter, op.getLoc(),
                   cast<RankedTensorType>(copy.getResult(0).getType()));
    auto folded = linalg::ContractOp::create(
        rewriter, op.getLoc(), TypeRange{init.getType()}, op.getInputs(),
        ValueRange{init}, rewriter.getAffineMapArrayAttr(maps));
    rewriter.replaceOp(copy, folded.getResults());
    rewriter.eraseOp(op);
    op = folded;
    return true;
  }
};

} // namespace
} // namespace stagewright::bodies
