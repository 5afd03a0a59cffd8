//===- WriteGradients.cpp - gradients of attention by blocks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are computed again from the statistics, p = exp(x - log sum exp x),
// and gradients of scores from them, ds = p (do . v - delta). Gradients of
// queries are summed by a block that has these queries and walks the keys,
// those of keys and values by one that has these keys and walks the queries: so
// each sum is made by one thread, in one order (T. Dao, "FlashAttention-2",
// 2023, section 3.1, which adds up the former by atomics instead).
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"

using namespace mlir;

namespace stagewright::device {
namespace {

/// What a query brings along.
struct QueryRow {
  Value statistics, delta;
};

/// The weights of scores, and in their place the gradients of these.
class Weights {
public:
  Weights(Heads &heads, TileWriter &tiles)
      : heads(heads), tiles(tiles), parts(heads.scoreParts()) {}

  Value number(Value score, const QueryRow &row, Value query, Value key) {
    OpBuilder &builder = tiles.writer.builder;
    Location loc = tiles.writer.loc;
    masked = heads.mask(parts, score, query, key);
    kept = heads.keep(parts, query, key);
    return tiles.exp(
        arith::SubFOp::create(builder, loc, masked.score, row.statistics));
  }

  /// For the weight that `number` made last.
  Value gradient(Value weight, Value product, const QueryRow &row) {
    OpBuilder &builder = tiles.writer.builder;
    Location loc = tiles.writer.loc;
    Value scaled = times(weight, tiles.constant(tiles.attention.scale));
    scaled = times(scaled, masked.slope);
    Value made =
        times(scaled, arith::SubFOp::create(builder, loc, times(product, kept),
                                            row.delta));
    return masked.passes ? arith::SelectOp::create(builder, loc, masked.passes,
                                                   made, tiles.constant(0))
                               .getResult()
                         : made;
  }

  /// What the weight that `number` made last multiplies values by.
  Value dropped(Value weight) { return times(weight, kept); }

private:
  /// A factor that is null is 1.
  Value times(Value value, Value factor) {
    return factor ? arith::MulFOp::create(tiles.writer.builder,
                                          tiles.writer.loc, value, factor)
                        .getResult()
                  : value;
  }

  Heads &heads;
  TileWriter &tiles;
  ScoreParts parts;
  TileWriter::Masked masked;
  Value kept;
};

} // namespace

LogicalResult writeQueryGradient(ThreadWriter &writer,
                                 const pipeline::Attention &attention) {
  TileWriter tiles(writer, attention);
  int64_t width = attention.width(), valueWidth = attention.valueWidth();
  auto floats = [&](int64_t rows, int64_t columns) {
    return TileWriter::floatsOf(rows + columns, width) +
           TileWriter::floatsOf(rows + columns, valueWidth) +
           TileWriter::floatsOf(rows, columns);
  };
  if (failed(tiles.choose(TileWriter::floatsOf(1, width), floats)))
    return failure();
  Heads heads(tiles, attention.queries(), "query");
  Part query = heads.part("query"), key = heads.part("key"),
       value = heads.part("value"), dOutput = heads.part("d_output"),
       statistics = heads.part("statistics"), delta = heads.part("delta"),
       dQuery = heads.part("d_query");
  Weights weights(heads, tiles);

  Tile queries = tiles.tile(tiles.rows(), width);
  Tile dOutputs = tiles.tile(tiles.rows(), valueWidth);
  Tile keys = tiles.tile(tiles.columns(), width);
  Tile values = tiles.tile(tiles.columns(), valueWidth);
  Tile gradients = tiles.tile(tiles.rows(), tiles.columns());
  heads.load(queries, query, heads.first);
  heads.load(dOutputs, dOutput, heads.first);
  SmallVector<QueryRow> rows;
  for (int64_t i = 0; i < tiles.r; ++i) {
    Value row = tiles.rowOf(heads.first, i);
    rows.push_back({heads.loadRow(statistics, row), heads.loadRow(delta, row)});
  }

  SmallVector<Value> sums = writer.loop(
      writer.number(0), heads.keysSeen(), tiles.columns(), tiles.zeros(width),
      [&](Value first, ValueRange carried) -> SmallVector<Value> {
        writer.barrier();
        heads.load(keys, key, first);
        heads.load(values, value, first);
        writer.barrier();
        SmallVector<Value> scores = tiles.multiply(queries, keys);
        SmallVector<Value> products = tiles.multiply(dOutputs, values);
        for (int64_t i = 0; i < tiles.r; ++i)
          for (int64_t j = 0; j < tiles.c; ++j) {
            Value &score = scores[size_t(i * tiles.c + j)];
            score = weights.number(score, rows[size_t(i)],
                                   tiles.rowOf(heads.first, i),
                                   tiles.columnOf(first, j));
            score = weights.gradient(score, products[size_t(i * tiles.c + j)],
                                     rows[size_t(i)]);
          }
        tiles.put(gradients, scores);
        writer.barrier();
        return tiles.accumulate(carried, gradients, keys);
      });
  heads.store(sums, dQuery);
  return success();
}

LogicalResult writeKeyGradient(ThreadWriter &writer,
                               const pipeline::Attention &attention) {
  TileWriter tiles(writer, attention);
  int64_t width = attention.width(), valueWidth = attention.valueWidth();
  auto floats = [&](int64_t rows, int64_t columns) {
    return TileWriter::floatsOf(rows + columns, width) +
           TileWriter::floatsOf(rows + columns, valueWidth) +
           2 * TileWriter::floatsOf(rows, columns);
  };
  if (failed(tiles.choose(TileWriter::floatsOf(1, width) +
                              TileWriter::floatsOf(1, valueWidth),
                          floats)))
    return failure();
  Heads heads(tiles, attention.keys(), "key");
  Part key = heads.part("key"), value = heads.part("value"),
       dKey = heads.part("d_key"), dValue = heads.part("d_value");
  Tile keys = tiles.tile(tiles.rows(), width);
  Tile values = tiles.tile(tiles.rows(), valueWidth);
  Tile queries = tiles.tile(tiles.columns(), width);
  Tile dOutputs = tiles.tile(tiles.columns(), valueWidth);
  Tile weightTile = tiles.tile(tiles.rows(), tiles.columns());
  Tile gradientTile = tiles.tile(tiles.rows(), tiles.columns());
  heads.load(keys, key, heads.first);
  heads.load(values, value, heads.first);

  SmallVector<Value> state = tiles.zeros(width);
  size_t split = state.size();
  llvm::append_range(state, tiles.zeros(valueWidth));
  auto walkQueries = [&](ValueRange state) {
    Part query = heads.part("query"), dOutput = heads.part("d_output"),
         statistics = heads.part("statistics"), delta = heads.part("delta");
    Weights weights(heads, tiles);
    return writer.loop(
        heads.queriesFrom(), writer.number(attention.queries()),
        tiles.columns(), state,
        [&](Value first, ValueRange carried) -> SmallVector<Value> {
          writer.barrier();
          heads.load(queries, query, first);
          heads.load(dOutputs, dOutput, first);
          writer.barrier();
          SmallVector<Value> scores = tiles.multiply(keys, queries);
          SmallVector<Value> products = tiles.multiply(values, dOutputs);
          for (int64_t j = 0; j < tiles.c; ++j) {
            Value column = tiles.columnOf(first, j);
            QueryRow row{heads.loadRow(statistics, column),
                         heads.loadRow(delta, column)};
            for (int64_t i = 0; i < tiles.r; ++i) {
              auto at = size_t(i * tiles.c + j);
              scores[at] = weights.number(scores[at], row, column,
                                          tiles.rowOf(heads.first, i));
              products[at] = weights.gradient(scores[at], products[at], row);
              scores[at] = weights.dropped(scores[at]);
            }
          }
          tiles.put(weightTile, scores);
          tiles.put(gradientTile, products);
          writer.barrier();
          SmallVector<Value> next = tiles.accumulate(carried.take_front(split),
                                                     gradientTile, queries);
          llvm::append_range(next, tiles.accumulate(carried.drop_front(split),
                                                    weightTile, dOutputs));
          return next;
        });
  };
  int64_t shared = 1;
  for (int64_t extent : heads.walked())
    shared *= extent;
  if (shared == 1)
    state = walkQueries(state);
  else
    state = writer.loop(shared, state, [&](Value turn, ValueRange carried) {
      heads.walkTo(writer.split(turn, heads.walked()));
      return walkQueries(carried);
    });
  heads.store(ArrayRef(state).take_front(split), dKey);
  heads.store(ArrayRef(state).drop_front(split), dValue);
  return success();
}

} // namespace stagewright::device
