//===- SplitFloat32.cpp - float32 products as three in TF32 ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand x is split into two numbers of TF32 (10 bits of mantissa): x
// rounded, and the rounded rest. The sum of both differs from x by at most
// 2^-22 |x|. Of the four products of parts, that of the two rests is less than
// 2^-22 of the whole and is omitted. Smaller products are added first.
//
// Infinities become NaNs, since their rest is a difference of infinities, and
// so do numbers that round to infinity: those above 3.4e38.
//
//===----------------------------------------------------------------------===//

#include "UnrollLoops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICESPLITFLOAT32
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// Bits of the mantissa of float32 that TF32 does not have.
constexpr unsigned kMissingBits = 13;

/// `value`, a float32, rounded to TF32; halves away from zero. NaNs stay as
/// they are: rounded like numbers, those of GPUs, 0x7fffffff, would become
/// zeros.
Value roundToTf32(OpBuilder &builder, Location loc, Value value) {
  Type word = builder.getI32Type();
  auto constant = [&](int64_t bits) {
    return arith::ConstantIntOp::create(builder, loc, word, bits);
  };
  Value bits = arith::BitcastOp::create(builder, loc, word, value);
  Value rounded = arith::AddIOp::create(
      builder, loc, bits, constant(int64_t(1) << (kMissingBits - 1)));
  rounded = arith::AndIOp::create(builder, loc, rounded,
                                  constant(-(int64_t(1) << kMissingBits)));
  Value magnitude =
      arith::AndIOp::create(builder, loc, bits, constant(0x7fffffff));
  Value isNaN =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, magnitude,
                            constant(0x7f800000)); // Infinity.
  rounded = arith::SelectOp::create(builder, loc, isNaN, bits, rounded);
  return arith::BitcastOp::create(builder, loc, value.getType(), rounded);
}

/// An operand as `[rounded, rest]`.
using Parts = std::array<Value, 2>;

Parts split(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<RankedTensorType>(array.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap each = builder.getMultiDimIdentityMap(unsigned(type.getRank()));
  SmallVector<utils::IteratorType> loops(size_t(type.getRank()),
                                         utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, TypeRange{type, type}, ValueRange{array},
      ValueRange{empty, empty}, ArrayRef<AffineMap>{each, each, each}, loops,
      [](OpBuilder &inner, Location loc, ValueRange scalars) {
        Value rounded = roundToTf32(inner, loc, scalars[0]);
        Value rest = arith::SubFOp::create(inner, loc, scalars[0], rounded);
        rest = roundToTf32(inner, loc, rest);
        linalg::YieldOp::create(inner, loc, ValueRange{rounded, rest});
      });
  return {op.getResult(0), op.getResult(1)};
}

struct DeviceSplitFloat32Pass
    : impl::DeviceSplitFloat32Base<DeviceSplitFloat32Pass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    DenseMap<std::pair<Value, Block *>, Parts> parts; // By operand.
    for (linalg::ContractOp product : launchedProducts(getOperation())) {
      if (!llvm::all_of(product->getOperandTypes(), [](Type type) {
            return getElementTypeOrSelf(type).isF32();
          }))
        continue;
      OpBuilder builder(product);
      auto partsOf = [&](Value operand) {
        auto [found, isNew] = parts.try_emplace({operand, product->getBlock()});
        if (isNew)
          found->second = split(builder, product.getLoc(), operand);
        return found->second;
      };
      Parts left = partsOf(product->getOperand(0)),
            right = partsOf(product->getOperand(1));
      Value sum = product->getOperand(2);
      for (auto [i, j] : {std::pair(1, 0), std::pair(0, 1)}) {
        Operation *copy = builder.clone(*product);
        copy->setOperands({left[size_t(i)], right[size_t(j)], sum});
        sum = copy->getResult(0);
      }
      product->setOperands({left[0], right[0], sum});
      ++numSplit;
    }
  }
};

} // namespace
} // namespace stagewright::device
