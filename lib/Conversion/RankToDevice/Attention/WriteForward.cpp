//===- WriteForward.cpp - attention by blocks of queries ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes some queries of one head and loops over the keys. The state
// of a row after some keys is the max score m, the sum l of exp(x - m) over the
// scores x, and the weighted sum of values; both sums are rescaled when m grows
// (T. Dao, "FlashAttention-2", 2023, algorithm 1).
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"

namespace stagewright::device {

LogicalResult writeForward(ThreadWriter &writer,
                           const pipeline::Attention &attention,
                           MakeTiles make) {
  int64_t width = attention.width(), valueWidth = attention.valueWidth();
  std::unique_ptr<TileWriter> made = make(writer, attention,
                                          {/*sums=*/{valueWidth},
                                           /*own=*/{width},
                                           /*walked=*/{width, valueWidth},
                                           /*scores=*/1,
                                           /*weights=*/1});
  if (!made)
    return failure();
  TileWriter &tiles = *made;
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  Heads heads(tiles, attention.queries(), "query");
  Part query = heads.part("query"), key = heads.part("key"),
       value = heads.part("value"), output = heads.part("output"),
       statistics = heads.part("statistics");
  ScoreParts parts = heads.scoreParts();

  Tile queries = tiles.tile(tiles.rows(), width);
  Tile walked[] = {tiles.walkedTile(width), tiles.walkedTile(valueWidth)};
  Tile weights = tiles.weightTile();
  heads.load(queries, query, heads.first);

  auto largest = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  };
  auto sum = [&](Value a, Value b) -> Value {
    return arith::AddFOp::create(builder, loc, a, b);
  };
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };

  // m and l of every row, then the sums.
  int64_t r = tiles.r, c = tiles.c;
  SmallVector<Value> state(size_t(r), tiles.constant(-INFINITY));
  state.append(size_t(r), tiles.constant(0));
  llvm::append_range(state, tiles.zeros(valueWidth));
  state = heads.walk(
      writer.number(0), heads.keysSeen(), walked, {key, value}, state,
      [&](Value first, ArrayRef<Tile> walked,
          ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> next(carried);
        SmallVector<Value> scores = tiles.multiply(queries, walked[0]);
        for (int64_t i = 0; i < r; ++i) {
          Value row = tiles.rowOf(heads.first, i);
          MutableArrayRef<Value> own =
              MutableArrayRef(scores).slice(size_t(i * c), size_t(c));
          Value top = next[i];
          for (int64_t j = 0; j < c; ++j) {
            own[j] =
                heads.mask(parts, own[j], row, tiles.columnOf(first, j)).score;
            top = largest(top, own[j]);
          }
          top = tiles.overRow(top, largest);
          // As long as all keys are masked, the max is -infinity. Then 0 is
          // subtracted instead, because -infinity minus -infinity is NaN.
          Value none =
              arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                    top, tiles.constant(-INFINITY));
          Value from = arith::SelectOp::create(builder, loc, none,
                                               tiles.constant(0), top);
          auto weigh = [&](Value score) {
            return tiles.exp(arith::SubFOp::create(builder, loc, score, from));
          };
          Value shrink = weigh(next[i]), total = tiles.constant(0);
          for (auto [j, score] : llvm::enumerate(own)) {
            score = weigh(score);
            total = sum(total, score);
            Value column = tiles.columnOf(first, int64_t(j));
            if (Value kept = heads.keep(parts, row, column))
              score = times(score, kept);
          }
          next[i] = top;
          next[r + i] =
              sum(times(next[r + i], shrink), tiles.overRow(total, sum));
          size_t each = (next.size() - size_t(2 * r)) / size_t(r);
          for (size_t j = 0; j < each; ++j) {
            Value &of = next[size_t(2 * r) + size_t(i) * each + j];
            of = times(of, shrink);
          }
        }
        tiles.put(weights, scores);
        tiles.share();
        SmallVector<Value> sums = tiles.accumulate(
            ArrayRef(next).drop_front(size_t(2 * r)), weights, walked[1]);
        llvm::copy(sums, next.begin() + 2 * r);
        return next;
      });

  MutableArrayRef<Value> sums =
      MutableArrayRef(state).drop_front(size_t(2 * r));
  size_t each = sums.size() / size_t(r);
  for (int64_t i = 0; i < r; ++i) {
    for (size_t j = 0; j < each; ++j) {
      Value &of = sums[size_t(i) * each + j];
      of = arith::DivFOp::create(builder, loc, of, state[r + i]);
    }
    Value row = tiles.rowOf(heads.first, i);
    heads.storeRow(statistics, row, sum(state[i], tiles.log(state[r + i])));
  }
  heads.store(sums, output);
  return success();
}

} // namespace stagewright::device
