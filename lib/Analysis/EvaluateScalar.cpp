//===- EvaluateScalar.cpp - operations on scalars in real numbers ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/EvaluateScalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace stagewright {

std::optional<double> evaluateScalar(Operation *op, ArrayRef<double> x) {
  auto compare = [&](auto predicate, int64_t eq, int64_t ne, int64_t lt,
                     int64_t le, int64_t gt,
                     int64_t ge) -> std::optional<double> {
    auto is = int64_t(predicate);
    if (is == eq)
      return x[0] == x[1];
    if (is == ne)
      return x[0] != x[1];
    if (is == lt)
      return x[0] < x[1];
    if (is == le)
      return x[0] <= x[1];
    if (is == gt)
      return x[0] > x[1];
    if (is == ge)
      return x[0] >= x[1];
    return std::nullopt;
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  using Number = std::optional<double>;
  return TypeSwitch<Operation *, Number>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return x[0] * x[1]; })
      .Case([&](arith::DivFOp) { return x[0] / x[1]; })
      .Case([&](arith::NegFOp) { return -x[0]; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return std::max(x[0], x[1]); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return std::min(x[0], x[1]); })
      .Case([&](math::ExpOp) { return std::exp(x[0]); })
      .Case([&](math::TanhOp) { return std::tanh(x[0]); })
      .Case([&](arith::SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(
          [&](auto) { return x[0]; })
      .Case([&](arith::CmpFOp cmp) -> Number {
        return compare(cmp.getPredicate(), int64_t(F::OEQ), int64_t(F::UNE),
                       int64_t(F::OLT), int64_t(F::OLE), int64_t(F::OGT),
                       int64_t(F::OGE));
      })
      .Case([&](arith::CmpIOp cmp) -> Number {
        return compare(cmp.getPredicate(), int64_t(I::eq), int64_t(I::ne),
                       int64_t(I::slt), int64_t(I::sle), int64_t(I::sgt),
                       int64_t(I::sge));
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto logic) -> Number {
            if (!getElementTypeOrSelf(logic.getType()).isInteger(1))
              return std::nullopt;
            bool a = x[0] != 0, b = x[1] != 0;
            return isa<arith::AndIOp>(op)  ? a && b
                   : isa<arith::OrIOp>(op) ? a || b
                                           : a != b;
          })
      .Default([](Operation *) -> Number { return std::nullopt; });
}

} // namespace stagewright
