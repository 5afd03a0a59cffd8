//===- LoopBlocks.cpp - transposition by blocks in registers --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::host {

/// Transposes a square of n vectors: interleaves its halves log2(n) times.
static void transpose(OpBuilder &builder, Location loc,
                      SmallVectorImpl<Value> &rows) {
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    llvm::append_values(low, i, i + n);
    llvm::append_values(high, i + n / 2, i + n / 2 + n);
  }
  for (unsigned round = llvm::Log2_64(n); round > 0; --round) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i)
      for (ArrayRef<int64_t> half : {low, high})
        next.push_back(vector::ShuffleOp::create(builder, loc, rows[i],
                                                 rows[i + n / 2], half));
    rows.assign(next);
  }
}

LoopBody::Vectors LoopBody::readBlock(OpBuilder &builder, const Access &access,
                                      const Position &position) const {
  // Read along loop `across`, once for each lane of the vector loop.
  Access along = access;
  std::swap(along.steps[plan.vector], along.steps[plan.across]);
  Position swapped = position;
  std::swap(swapped.numbers[plan.vector], swapped.numbers[plan.across]);
  Vectors rows;
  for (int64_t lane = 0; lane < plan.width; ++lane) {
    along.place.offset = access.place.offset + lane * access.steps[plan.vector];
    rows.push_back(read(builder, along, swapped, {0, plan.width}));
  }
  transpose(builder, space.op.getLoc(), rows);
  return rows;
}

void LoopBody::writeBlock(OpBuilder &builder, const Position &position) {
  Location loc = space.op.getLoc();
  SmallVector<std::pair<BlockArgument, Vectors>> blocks;
  for (auto [argument, access] :
       llvm::zip_equal(space.body().getArguments(), space.accesses))
    if (plan.isTransposed(access) && !argument.use_empty())
      blocks.emplace_back(argument, readBlock(builder, access, position));
  Piece piece{0, plan.width};
  for (int64_t row = 0; row < plan.width; ++row) {
    Value number = arith::AddIOp::create(
        builder, loc, position.numbers[plan.across],
        arith::ConstantIndexOp::create(builder, loc, row));
    Position here = position.entered(plan.across, number);
    for (auto &[argument, vectors] : blocks)
      transposed.map(argument, vectors[row]);
    writeScalars(builder, here);
    Vectors old;
    for (unsigned result : plan.carried)
      old.push_back(load(builder, here, piece, result));
    Vectors next = write(builder, here, piece, old);
    for (auto [result, value] : llvm::zip_equal(plan.carried, next))
      store(builder, here, piece, result, value);
  }
  transposed.clear();
}

/// Writes the whole blocks, the columns after them, and the rows below.
void LoopNest::writeBlocks(const Position &position) {
  int64_t rows = space.extents[plan.across], side = plan.width;
  bool parallel = outermost;
  scf::ForOp blocks = writeLoop(0, rows / side * side, side, {});
  if (parallel)
    blocks->setAttr(bodies::kParallel, builder.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(blocks.getBody());
    Position inner = position.entered(plan.across, blocks.getInductionVar());
    scf::ForOp columns = writeLoop(0, plan.wholeTurns(space), side, {});
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(columns.getBody());
    body.writeBlock(builder,
                    inner.entered(plan.vector, columns.getInductionVar()));
  }
  auto writeRows = [&](int64_t first, ArrayRef<Piece> pieces, bool turns) {
    if (first == rows || (pieces.empty() && !turns))
      return;
    scf::ForOp loop = writeLoop(first, rows, 1, {});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Position row = position.entered(plan.across, loop.getInductionVar());
    body.writeScalars(builder, row);
    if (turns)
      writeTurns(row, {}, [&](const Position &inner, ValueRange) {
        writeColumns(inner, Piece{0, side});
        return Sums();
      });
    for (Piece piece : pieces)
      writeColumns(row, piece);
  };
  SmallVector<Piece> rest = plan.rest(space);
  writeRows(0, rest, false);
  writeRows(rows / side * side, {}, true);
}

} // namespace stagewright::host
