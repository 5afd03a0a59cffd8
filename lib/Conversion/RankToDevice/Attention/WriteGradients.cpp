//===- WriteGradients.cpp - gradients of attention by blocks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights p are recomputed from the statistics, p = exp(x - log sum exp x) for
// scores x, and gradients of scores from the weights, ds = p (do . v - delta),
// with do the gradient of the output and v the values. Gradients of queries are
// summed by a block that has these queries and loops over the keys, those of
// keys and values by a block that has these keys and loops over the queries. So
// one thread computes each sum, in a fixed order (T. Dao, "FlashAttention-2",
// 2023, section 3.1, sums gradients of queries by atomics instead).
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"

namespace stagewright::device {
namespace {

/// The statistics of a query, its delta, and a factor of its weights or null.
struct QueryRow {
  Value statistics, delta, factor = {};
};

/// Masks that hide keys with this score or a lower one get equal weights for
/// rows whose keys are all hidden: float32 rounds log sum exp x of such a row,
/// fill + log(keys), by up to 0.00003 at this score and by more at lower ones.
constexpr float kRounded = -1e3f;

/// Replaces scores by weights, and these by the gradients of the scores.
class Weights {
public:
  Weights(Heads &heads, TileWriter &tiles)
      : heads(heads), tiles(tiles), parts(heads.scoreParts()) {}

  Value number(Value score, const QueryRow &row, Value query, Value key) {
    OpBuilder &builder = tiles.writer.builder;
    Location loc = tiles.writer.loc;
    masked = heads.mask(parts, score, query, key);
    kept = heads.keep(parts, query, key);
    Value weight = tiles.exp(
        arith::SubFOp::create(builder, loc, masked.score, row.statistics));
    return times(weight, row.factor);
  }

  /// The row of a query. If the mask hides all keys of the row, they have equal
  /// weights, which do not follow from the rounded statistics.
  QueryRow rowOf(Value statistics, Value delta) {
    const auto &attention = tiles.attention;
    if (!attention.fill || !(*attention.fill <= kRounded))
      return {statistics, delta};
    OpBuilder &builder = tiles.writer.builder;
    Location loc = tiles.writer.loc;
    Value isHidden = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OLT, statistics,
        tiles.constant(0.99f * *attention.fill));
    auto choose = [&](float ifHidden, Value otherwise) -> Value {
      return arith::SelectOp::create(builder, loc, isHidden,
                                     tiles.constant(ifHidden), otherwise);
    };
    return {choose(*attention.fill, statistics), delta,
            choose(1 / float(attention.keys()), tiles.constant(1))};
  }

  /// The gradient of the score of `weight`, which `number` made last.
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

  /// `weight`, which `number` made last, after dropout.
  Value dropped(Value weight) { return times(weight, kept); }

private:
  /// A null factor is 1.
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
                                 const pipeline::Attention &attention,
                                 MakeTiles make) {
  int64_t width = attention.width(), valueWidth = attention.valueWidth();
  std::unique_ptr<TileWriter> made = make(writer, attention,
                                          {/*sums=*/{width},
                                           /*own=*/{width, valueWidth},
                                           /*walked=*/{width, valueWidth},
                                           /*scores=*/2,
                                           /*weights=*/1});
  if (!made)
    return failure();
  TileWriter &tiles = *made;
  Heads heads(tiles, attention.queries(), "query");
  Part query = heads.part("query"), key = heads.part("key"),
       value = heads.part("value"), dOutput = heads.part("d_output"),
       statistics = heads.part("statistics"), delta = heads.part("delta"),
       dQuery = heads.part("d_query");
  Weights weights(heads, tiles);

  Tile queries = tiles.tile(tiles.rows(), width);
  Tile dOutputs = tiles.tile(tiles.rows(), valueWidth);
  Tile walked[] = {tiles.walkedTile(width), tiles.walkedTile(valueWidth)};
  Tile gradients = tiles.weightTile();
  heads.load(queries, query, heads.first);
  heads.load(dOutputs, dOutput, heads.first);
  SmallVector<QueryRow> rows;
  for (int64_t i = 0; i < tiles.r; ++i) {
    Value row = tiles.rowOf(heads.first, i);
    rows.push_back({heads.loadRow(statistics, row), heads.loadRow(delta, row)});
  }

  SmallVector<Value> sums = heads.walk(
      writer.number(0), heads.keysSeen(), walked, {key, value},
      tiles.zeros(width),
      [&](Value first, ArrayRef<Tile> walked,
          ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> scores = tiles.multiply(queries, walked[0]);
        SmallVector<Value> products = tiles.multiply(dOutputs, walked[1]);
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
        tiles.share();
        return tiles.accumulate(carried, gradients, walked[0]);
      });
  heads.store(sums, dQuery);
  return success();
}

LogicalResult writeKeyGradient(ThreadWriter &writer,
                               const pipeline::Attention &attention,
                               MakeTiles make) {
  int64_t width = attention.width(), valueWidth = attention.valueWidth();
  TileNeeds needs = {/*sums=*/{width, valueWidth},
                     /*own=*/{width, valueWidth},
                     /*walked=*/{width, valueWidth},
                     /*scores=*/2,
                     /*weights=*/2};
  std::unique_ptr<TileWriter> made = make(writer, attention, needs);
  // If the sums of both gradients do not fit, the block loops over the queries
  // for each: scores are computed twice.
  bool together = bool(made);
  if (!together) {
    needs.sums = {std::max(width, valueWidth)};
    needs.weights = 1;
    made = make(writer, attention, needs);
  }
  if (!made)
    return failure();
  TileWriter &tiles = *made;
  Heads heads(tiles, attention.keys(), "key");
  Part key = heads.part("key"), value = heads.part("value"),
       dKey = heads.part("d_key"), dValue = heads.part("d_value");
  Tile keys = tiles.tile(tiles.rows(), width);
  Tile values = tiles.tile(tiles.rows(), valueWidth);
  Tile walked[] = {tiles.walkedTile(width), tiles.walkedTile(valueWidth)};
  Tile gradientTile = tiles.weightTile();
  Tile weightTile = together ? tiles.weightTile() : gradientTile;
  heads.load(keys, key, heads.first);
  heads.load(values, value, heads.first);

  // `state`: the sums of the keys' gradients, then those of the values'; either
  // may be absent.
  auto walkQueries = [&](ValueRange state, size_t ofKeys) {
    bool forKeys = ofKeys != 0, forValues = ofKeys != state.size();
    Part query = heads.part("query"), dOutput = heads.part("d_output"),
         statistics = heads.part("statistics"), delta = heads.part("delta");
    Weights weights(heads, tiles);
    return heads.walk(
        heads.queriesFrom(), writer.number(attention.queries()), walked,
        {query, dOutput}, state,
        [&](Value first, ArrayRef<Tile> walked,
            ValueRange carried) -> SmallVector<Value> {
          SmallVector<Value> scores = tiles.multiply(keys, walked[0]), products;
          if (forKeys)
            products = tiles.multiply(values, walked[1]);
          for (int64_t j = 0; j < tiles.c; ++j) {
            Value column = tiles.columnOf(first, j);
            QueryRow row =
                weights.rowOf(heads.loadRow(statistics, column),
                              forKeys ? heads.loadRow(delta, column) : Value());
            for (int64_t i = 0; i < tiles.r; ++i) {
              auto at = size_t(i * tiles.c + j);
              scores[at] = weights.number(scores[at], row, column,
                                          tiles.rowOf(heads.first, i));
              if (forKeys)
                products[at] = weights.gradient(scores[at], products[at], row);
              scores[at] = weights.dropped(scores[at]);
            }
          }
          if (forValues)
            tiles.put(weightTile, scores);
          if (forKeys)
            tiles.put(gradientTile, products);
          tiles.share();
          SmallVector<Value> next;
          if (forKeys)
            next = tiles.accumulate(carried.take_front(ofKeys), gradientTile,
                                    walked[0]);
          if (forValues)
            llvm::append_range(next,
                               tiles.accumulate(carried.drop_front(ofKeys),
                                                weightTile, walked[1]));
          return next;
        });
  };
  int64_t shared = 1;
  for (int64_t extent : heads.walked())
    shared *= extent;
  auto sum = [&](ArrayRef<Value> ofKeys, ArrayRef<Value> ofValues) {
    SmallVector<Value> state(ofKeys);
    llvm::append_range(state, ofValues);
    if (shared == 1)
      state = walkQueries(state, ofKeys.size());
    else
      state = writer.loop(shared, state, [&](Value turn, ValueRange carried) {
        heads.walkTo(writer.split(turn, heads.walked()));
        return walkQueries(carried, ofKeys.size());
      });
    if (!ofKeys.empty())
      heads.store(ArrayRef(state).take_front(ofKeys.size()), dKey);
    if (!ofValues.empty())
      heads.store(ArrayRef(state).drop_front(ofKeys.size()), dValue);
  };
  SmallVector<Value> ofKeys = tiles.zeros(width),
                     ofValues = tiles.zeros(valueWidth);
  if (together) {
    sum(ofKeys, ofValues);
  } else {
    sum(ofKeys, {});
    sum({}, ofValues);
  }
  return success();
}

} // namespace stagewright::device
