//===- UnrollArithmetic.cpp - index arithmetic of an entry ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::rank {

LogicalResult Unroller::visitTable(TableOp table) {
  int64_t row = value(table.getRow());
  int64_t rows = table.getCases().size();
  if (row < 0 || row >= rows)
    return emitError(table.getLoc())
           << "row " << row << " is read from a table of " << rows << " rows";
  values[table.getWhich()] = table.getCases()[row];
  values[table.getMicrobatch()] = table.getMicrobatches()[row];
  return success();
}

LogicalResult Unroller::visitArithmetic(Operation &op) {
  auto binary = [&](auto evaluate) {
    values[op.getResult(0)] =
        evaluate(value(op.getOperand(0)), value(op.getOperand(1)));
    return success();
  };
  // Operands have at most 32 bits, so 64 bits hold every result.
  auto number = [&](auto op, const char *what, const char *word,
                    auto evaluate) -> LogicalResult {
    int64_t a = value(op.getLhs()), b = value(op.getRhs());
    int64_t result = evaluate(a, b);
    if (!llvm::isInt<32>(result))
      return emitError(op.getLoc())
             << "cannot be unrolled: a " << what << " of a rank program has at "
             << "most 32 bits, got " << a << " " << word << " " << b;
    values[op] = result;
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](arith::ConstantOp constant) -> LogicalResult {
        auto number = dyn_cast<IntegerAttr>(constant.getValue());
        if (!number || number.getValue().getSignificantBits() > 32)
          return emitError(constant.getLoc())
                 << "cannot be unrolled: a constant of a rank program is an "
                 << "integer of at most 32 bits, got " << constant.getValue();
        values[constant] = number.getValue().getSExtValue();
        return success();
      })
      .Case([&](arith::AddIOp sum) {
        return number(sum, "sum", "plus", std::plus<int64_t>());
      })
      .Case([&](arith::SubIOp difference) {
        return number(difference, "difference", "minus", std::minus<int64_t>());
      })
      .Case([&](arith::MulIOp product) {
        return number(product, "product", "times", std::multiplies<int64_t>());
      })
      .Case([&](arith::DivUIOp division) -> LogicalResult {
        if (value(division.getLhs()) < 0 || value(division.getRhs()) < 1)
          return emitError(division.getLoc())
                 << "cannot be unrolled: a rank program divides "
                 << "a number that is not negative by a positive one, got "
                 << value(division.getLhs()) << " and "
                 << value(division.getRhs());
        return binary([](int64_t a, int64_t b) { return a / b; });
      })
      .Case([&](arith::CmpIOp comparison) {
        return binary([&](int64_t a, int64_t b) {
          return arith::applyCmpPredicate(comparison.getPredicate(),
                                          APInt(64, a, true),
                                          APInt(64, b, true));
        });
      })
      .Case([&](arith::MaxSIOp) {
        return binary([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinSIOp) {
        return binary([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Default([&](Operation *other) {
        return emitError(other->getLoc())
               << "'" << other->getName() << "' cannot be unrolled; a rank "
               << "program computes with constants, sums, differences, "
               << "products, quotients, minima, maxima, comparisons and "
               << "tables";
      });
}

} // namespace stagewright::rank
