//===- FormulaTest.cpp - normal forms of scalar functions -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Formula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace stagewright;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class FormulaTest : public testing::Test {
protected:
  FormulaTest() { context.loadDialect<arith::ArithDialect>(); }

  /// What an `Op` with operands of type `from` and a result of type `to`
  /// returns for `x`.
  template <typename Op>
  Formula apply(Type from, Type to, llvm::ArrayRef<Formula> x) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    Value operand = arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                              builder.getZeroAttr(from));
    OperationState state(builder.getUnknownLoc(), Op::getOperationName(),
                         SmallVector<Value>(x.size(), operand), to);
    return formulas.apply(builder.create(state), x);
  }
  Formula compare(arith::CmpFPredicate predicate, const Formula &a,
                  const Formula &b) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    Value operand =
        arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                  builder.getZeroAttr(builder.getF32Type()));
    return formulas.apply(arith::CmpFOp::create(builder,
                                                builder.getUnknownLoc(),
                                                predicate, operand, operand),
                          {a, b});
  }
  Formula power(const Formula &of, int n) {
    return n == 0 ? Formula(1) : power(of, n - 1) * of;
  }

  MLIRContext context;
  OpBuilder builder{&context};
  Formulas formulas;
  Formula x = formulas.leaf(0), y = formulas.leaf(1);
};

TEST_F(FormulaTest, SumsAndProductsAreIndependentOfTheirOrder) {
  EXPECT_EQ((x + y) * (x - y), x * x - y * y);
  EXPECT_EQ((x - x).number(), 0);
  EXPECT_FALSE(x * y == x * y + Formula(1e-3));
  EXPECT_TRUE(x * Formula(0.1) == x * Formula(double(0.1f)));
  EXPECT_FALSE(x == x * Formula(1.0001));
}

TEST_F(FormulaTest, NumbersThatAreNearlyEqualDoNotCancel) {
  EXPECT_EQ((Formula(1000001) - Formula(1000000)).number(), 1);
  EXPECT_EQ((x * Formula(1.0000005) - x) * Formula(1e8), x * Formula(50));
  EXPECT_EQ((x * Formula(0.1) + x * Formula(0.2) - x * Formula(0.3)).number(),
            0);
}

TEST_F(FormulaTest, HighPowersAreUnknown) {
  EXPECT_FALSE(power(x, 64).isUnknown());
  EXPECT_TRUE(power(x, 65).isUnknown());
  Formula squared = x;
  for (int i = 0; i < 40; ++i)
    squared = squared * squared;
  EXPECT_TRUE(squared.isUnknown());
  EXPECT_FALSE(squared == squared);
}

TEST_F(FormulaTest, LongSumsAreUnknown) {
  Formula sum;
  for (int i = 0; i < 64; ++i)
    sum = sum + formulas.leaf(i);
  EXPECT_FALSE(sum.isUnknown());
  EXPECT_TRUE((sum + formulas.leaf(64)).isUnknown());
}

TEST_F(FormulaTest, ReciprocalsCancel) {
  EXPECT_EQ(formulas.divide(x * y, y), x);
  EXPECT_EQ(formulas.divide(x, Formula(2) * x).number(), 0.5);
  EXPECT_EQ(formulas.divide(1, x + y),
            Formula(2) * formulas.divide(1, Formula(2) * y + Formula(2) * x));
  EXPECT_TRUE(formulas.divide(x, Formula(0)).isUnknown());
}

TEST_F(FormulaTest, SignsOfExpAndTanh) {
  EXPECT_EQ((formulas.exp(x) * formulas.exp(-x)).number(), 1);
  EXPECT_EQ(formulas.exp(x + Formula(1)),
            Formula(std::exp(1)) * formulas.exp(x));
  EXPECT_EQ((formulas.tanh(x - y) + formulas.tanh(y - x)).number(), 0);
  EXPECT_FALSE(formulas.tanh(x) == formulas.tanh(-x));
  EXPECT_EQ(formulas.exp(-1e4).number(), 0);
}

TEST_F(FormulaTest, LogisticIsTanh) {
  Formula e = formulas.exp(-x);
  Formula t = formulas.tanh(x * Formula(0.5));
  Formula one(1), half(0.5);
  EXPECT_EQ(formulas.divide(1, one + e), half + half * t);
  EXPECT_EQ(formulas.divide(e, one + e), half - half * t);
  EXPECT_EQ(formulas.divide(e, (one + e) * (one + e)),
            Formula(0.25) * (one - t * t));
  EXPECT_EQ(formulas.divide(1, e + Formula(2) + formulas.exp(x)),
            Formula(0.25) * (one - t * t));
  EXPECT_FALSE(formulas.divide(1, one + e + e * e) ==
               formulas.divide(1, (one + e) * (one + e)));
}

// The gradient of x / (1 + exp(-x)) as JAX writes it, which divides first.
TEST_F(FormulaTest, ProductsOfLogisticAndExpAreReduced) {
  Type f32 = builder.getF32Type();
  Formula e = formulas.exp(-x), sum = Formula(1) + e;
  Formula inverse = formulas.divide(1, sum * sum);
  Formula t = formulas.tanh(x * Formula(0.5));
  EXPECT_EQ(apply<arith::MulFOp>(f32, f32, {inverse * y, e}),
            Formula(0.25) * y * (Formula(1) - t * t));
}

// If the reduction had a wrong sign, results would have 1 - t instead of 1 + t.
TEST_F(FormulaTest, LogisticWithFactors) {
  Formula e = formulas.exp(Formula(3) * x), b = Formula(2) + Formula(5) * e;
  Formula t = formulas.tanh(Formula(1.5) * x + Formula(0.5 * std::log(2.5)));
  EXPECT_EQ(formulas.divide(e, b), Formula(0.1) * (Formula(1) + t));
  EXPECT_EQ(formulas.divide(e * e, b * b),
            Formula(0.01) * (Formula(1) + t) * (Formula(1) + t));
}

TEST_F(FormulaTest, Infinities) {
  EXPECT_EQ((x + Formula(kInfinity)).number(), kInfinity);
  EXPECT_TRUE((x * Formula(kInfinity)).isUnknown());
  EXPECT_TRUE((Formula(kInfinity) - Formula(kInfinity)).isUnknown());
  EXPECT_TRUE((Formula(0) * Formula(kInfinity)).isUnknown());
  EXPECT_EQ(formulas.divide(x, Formula(kInfinity)).number(), 0);
  EXPECT_TRUE(formulas.divide(Formula::unknown(), kInfinity).isUnknown());
  EXPECT_EQ(formulas.exp(-kInfinity).number(), 0);
}

TEST_F(FormulaTest, OnlySumsOfLeavesAreSmallerThanHugeNumbers) {
  using Is = arith::CmpFPredicate;
  EXPECT_EQ(compare(Is::OLT, x, 1e30).number(), 1);
  EXPECT_EQ(compare(Is::OGT, x - y, -3e38).number(), 1);
  EXPECT_TRUE(compare(Is::OLT, x, 1e29).isUnknown());
  EXPECT_TRUE(compare(Is::OLT, x * Formula(100), 1e30).isUnknown());
  EXPECT_TRUE(compare(Is::OLT, formulas.exp(x), 1e30).isUnknown());
  // A bounded term plus a leaf, such as capped scores plus a bias.
  EXPECT_EQ(
      compare(Is::OGT, Formula(50) * formulas.tanh(x) + y, -3.4e38).number(),
      1);
  EXPECT_TRUE(compare(Is::OLT, x * y, 1e30).isUnknown());
}

TEST_F(FormulaTest, TrueIsMinusOneAsASignedNumber) {
  Type i1 = builder.getI1Type(), i32 = builder.getI32Type(),
       f32 = builder.getF32Type();
  EXPECT_EQ(apply<arith::SIToFPOp>(i1, f32, {1}).number(), -1);
  EXPECT_EQ(apply<arith::UIToFPOp>(i1, f32, {1}).number(), 1);
  EXPECT_EQ(apply<arith::ExtSIOp>(i1, i32, {1}).number(), -1);
  EXPECT_EQ(apply<arith::ExtUIOp>(i1, i32, {1}).number(), 1);
  EXPECT_EQ(apply<arith::SIToFPOp>(i32, f32, {-7}).number(), -7);
  EXPECT_TRUE(apply<arith::UIToFPOp>(i32, f32, {-7}).isUnknown());
  EXPECT_TRUE(apply<arith::SIToFPOp>(i32, f32, {x}).isUnknown());
}

TEST_F(FormulaTest, IntegersThatWrapAreUnknown) {
  Type i1 = builder.getI1Type(), i8 = builder.getI8Type();
  EXPECT_EQ(apply<arith::AddIOp>(i8, i8, {100, 27}).number(), 127);
  EXPECT_TRUE(apply<arith::AddIOp>(i8, i8, {100, 28}).isUnknown());
  EXPECT_TRUE(apply<arith::AddIOp>(i1, i1, {1, 1}).isUnknown());
  EXPECT_TRUE(apply<arith::SubIOp>(i1, i1, {0, 1}).isUnknown());
}

} // namespace
