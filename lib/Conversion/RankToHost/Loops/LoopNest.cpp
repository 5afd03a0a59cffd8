//===- LoopNest.cpp - loops around the body of an operation ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::host {

/// The attribute that the conversions pass on to the back edge in LLVM.
constexpr llvm::StringLiteral kAnnotation = "loop_annotation";

/// Stops LLVM from vectorizing and unrolling loops that already are vectorized
/// and unrolled.
static LLVM::LoopAnnotationAttr asWritten(MLIRContext *context) {
  auto yes = BoolAttr::get(context, true);
  auto vectorize =
      LLVM::LoopVectorizeAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  auto unroll = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, vectorize, {}, unroll, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

scf::ForOp LoopNest::writeLoop(int64_t first, int64_t end, int64_t step,
                               ValueRange sums) {
  Location loc = space.op.getLoc();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop = scf::ForOp::create(builder, loc, constant(first), constant(end),
                                 constant(step), sums);
  outermost = false;
  return loop;
}

LoopNest::Sums LoopNest::writeLoops(ArrayRef<unsigned> loops,
                                    const Position &position, ValueRange sums,
                                    Inside inside) {
  if (loops.empty())
    return inside(position, sums);
  bool parallel = outermost && !space.reduced[loops[0]];
  scf::ForOp loop = writeLoop(0, space.extents[loops[0]], 1, sums);
  if (parallel)
    loop->setAttr(bodies::kParallel, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Sums next = writeLoops(loops.drop_front(),
                         position.entered(loops[0], loop.getInductionVar()),
                         loop.getRegionIterArgs(), inside);
  if (!sums.empty())
    scf::YieldOp::create(builder, loop.getLoc(), next);
  return loop.getResults();
}

LoopNest::Sums LoopNest::writeTurns(const Position &position, ValueRange sums,
                                    Inside inside) {
  int64_t end = plan.wholeTurns(space);
  if (end == 0)
    return sums;
  if (end == plan.width * plan.unroll)
    return inside(position, sums);
  bool parallel = outermost && !space.reduced[plan.vector];
  scf::ForOp loop = writeLoop(0, end, plan.width * plan.unroll, sums);
  if (parallel)
    loop->setAttr(bodies::kParallel, builder.getUnitAttr());
  if (plan.width > 1)
    loop->setAttr(kAnnotation, asWritten(builder.getContext()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Sums next = inside(position.entered(plan.vector, loop.getInductionVar()),
                     loop.getRegionIterArgs());
  if (!sums.empty())
    scf::YieldOp::create(builder, loop.getLoc(), next);
  return loop.getResults();
}

void LoopNest::write() {
  Position start;
  start.numbers.assign(space.numLoops(), Value());
  writeLoops(plan.outer, start, {}, [&](const Position &position, ValueRange) {
    if (plan.isHorizontal(space))
      writeHorizontal(position);
    else
      writeVertical(position);
    return Sums();
  });
}

//===----------------------------------------------------------------------===//
// Elementwise, and sums of rows
//===----------------------------------------------------------------------===//

static SmallVector<Piece> piecesOfTurn(const LoopPlan &plan) {
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < plan.unroll; ++i)
    pieces.push_back({i * plan.width, plan.width});
  return pieces;
}

void LoopNest::writeVertical(const Position &position) {
  if (plan.reductions.empty())
    body.writeScalars(builder, position);
  writeTurns(position, {}, [&](const Position &inner, ValueRange) {
    writeColumns(inner, piecesOfTurn(plan));
    return Sums();
  });
  for (Piece piece : plan.rest(space))
    writeColumns(position, piece);
}

/// Writes the code for some vectors of a row: reads them, reduces them over the
/// reduction loops and stores them.
void LoopNest::writeColumns(const Position &position, ArrayRef<Piece> pieces) {
  Location loc = space.op.getLoc();
  Sums sums;
  for (Piece piece : pieces)
    for (unsigned result : plan.carried) {
      if (body.readsOld(result)) {
        sums.push_back(body.load(builder, position, piece, result));
        continue;
      }
      Type element =
          getElementTypeOrSelf(space.op.getDpsInits()[result].getType());
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
      sums.push_back(body.spread(builder, zero, piece.width));
    }
  size_t each = plan.carried.size();
  sums = writeLoops(plan.reductions, position, sums,
                    [&](const Position &inner, ValueRange now) {
                      if (!plan.reductions.empty())
                        body.writeScalars(builder, inner);
                      Sums next;
                      for (auto [i, piece] : llvm::enumerate(pieces))
                        llvm::append_range(
                            next, body.write(builder, inner, piece,
                                             now.slice(i * each, each)));
                      return next;
                    });
  for (auto [i, piece] : llvm::enumerate(pieces))
    for (auto [j, result] : llvm::enumerate(plan.carried))
      body.store(builder, position, piece, result, sums[i * each + j]);
}

//===----------------------------------------------------------------------===//
// Sums along a row
//===----------------------------------------------------------------------===//

static vector::CombiningKind kindOf(Operation *combiner) {
  using Kind = vector::CombiningKind;
  return TypeSwitch<Operation *, Kind>(combiner)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
      .Case<arith::MaximumFOp>([](auto) { return Kind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return Kind::MINIMUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return Kind::MAXNUMF; })
      .Case<arith::MinNumFOp>([](auto) { return Kind::MINNUMF; })
      .Case<arith::MaxSIOp>([](auto) { return Kind::MAXSI; })
      .Case<arith::MinSIOp>([](auto) { return Kind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return Kind::MAXUI; })
      .Case<arith::MinUIOp>([](auto) { return Kind::MINUI; })
      .Case<arith::AndIOp>([](auto) { return Kind::AND; })
      .Case<arith::OrIOp>([](auto) { return Kind::OR; })
      .Default([](auto) { return Kind::XOR; });
}

static Value combine(OpBuilder &builder, Operation *combiner, Value a,
                     Value b) {
  OperationState state(combiner->getLoc(), combiner->getName());
  state.addOperands({a, b});
  state.addTypes(a.getType());
  state.propertiesAttr = combiner->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

/// Reduces the lanes of a vector to one value.
static Value addLanes(OpBuilder &builder, Operation *combiner, Value value) {
  if (!isa<VectorType>(value.getType()))
    return value;
  return vector::ReductionOp::create(builder, combiner->getLoc(),
                                     kindOf(combiner), value,
                                     arith::FastMathFlags::reassoc);
}

void LoopNest::writeHorizontal(const Position &position) {
  // The accumulators of an iteration of the vector loop, then one for each
  // narrower piece of the rest.
  SmallVector<Piece> turn = piecesOfTurn(plan), registers = turn;
  SmallVector<Piece> rest = plan.rest(space);
  for (Piece piece : rest)
    if (piece.width < plan.width)
      registers.push_back(piece);
  bool parts = !plan.combiners.empty();
  Sums sums;
  for (Piece piece : registers)
    for (auto [i, result] : llvm::enumerate(plan.carried))
      sums.push_back(
          parts ? body.spread(builder,
                              arith::ConstantOp::create(
                                  builder, space.op.getLoc(),
                                  *arith::getNeutralElement(plan.combiners[i])),
                              piece.width)
                : body.load(builder, position, piece, result));
  size_t each = plan.carried.size();
  sums = writeLoops(
      plan.reductions, position, sums,
      [&](const Position &inner, ValueRange now) {
        body.writeScalars(builder, inner);
        size_t inTurn = turn.size() * each;
        Sums next =
            writeTurns(inner, now.take_front(inTurn),
                       [&](const Position &vector, ValueRange then) {
                         Sums made;
                         for (auto [i, piece] : llvm::enumerate(turn))
                           llvm::append_range(
                               made, body.write(builder, vector, piece,
                                                then.slice(i * each, each)));
                         return made;
                       });
        llvm::append_range(next, now.drop_front(inTurn));
        size_t whole = 0, narrow = turn.size();
        for (Piece piece : rest) {
          size_t at = (piece.width == plan.width ? whole++ : narrow++) * each;
          Sums made =
              body.write(builder, inner, piece, ArrayRef(next).slice(at, each));
          llvm::copy(made, next.begin() + at);
        }
        return next;
      });
  if (parts)
    return addUp(position, registers, sums);
  for (auto [i, result] : llvm::enumerate(plan.carried))
    body.store(builder, position, turn[0], result, sums[i]);
}

/// Combines the partial sums of each result with its old value.
void LoopNest::addUp(const Position &position, ArrayRef<Piece> pieces,
                     ValueRange sums) {
  Piece point{0, 1};
  size_t each = plan.carried.size();
  for (auto [i, result] : llvm::enumerate(plan.carried)) {
    Operation *combiner = plan.combiners[i];
    SmallVector<Value> whole, narrow;
    for (auto [j, piece] : llvm::enumerate(pieces))
      (piece.width == plan.width ? whole : narrow)
          .push_back(sums[j * each + i]);
    for (size_t step = 1; step < whole.size(); step *= 2)
      for (size_t j = 0; j + step < whole.size(); j += 2 * step)
        whole[j] = combine(builder, combiner, whole[j], whole[j + step]);
    Value sum = body.load(builder, position, point, result);
    sum =
        combine(builder, combiner, sum, addLanes(builder, combiner, whole[0]));
    for (Value part : narrow)
      sum = combine(builder, combiner, sum, addLanes(builder, combiner, part));
    body.store(builder, position, point, result, sum);
  }
}

} // namespace stagewright::host
