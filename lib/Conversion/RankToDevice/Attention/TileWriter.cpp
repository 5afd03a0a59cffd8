//===- TileWriter.cpp - products of tiles in shared memory ----------------
//===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "../../RankToHost/Math/Elementary.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace stagewright::device {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Value fma(ThreadWriter &writer, Value a, Value b, Value c) {
  return math::FmaOp::create(writer.builder, writer.loc, a, b, c);
}

TileWriter::Values TileWriter::multiply(const Tile &a, const Tile &b) {
  Values sums(size_t(r * c), constant(0));
  Values rowStarts, columnStarts;
  for (int64_t i = 0; i < r; ++i)
    rowStarts.push_back(writer.times(rowOf({}, i), a.stride));
  for (int64_t j = 0; j < c; ++j)
    columnStarts.push_back(writer.times(columnOf({}, j), b.stride));
  return writer.loop(
      llvm::divideCeil(a.width, int64_t(kLanes)), sums,
      [&](Value turn, ValueRange carried) -> SmallVector<Value> {
        Value at = writer.times(turn, kLanes);
        Values next(carried.begin(), carried.end());
        SmallVector<Values> right;
        for (int64_t j = 0; j < c; ++j)
          right.push_back(writer.loadLanes(
              b.memory, writer.add(columnStarts[j], at), kLanes));
        for (int64_t i = 0; i < r; ++i) {
          Values left =
              writer.loadLanes(a.memory, writer.add(rowStarts[i], at), kLanes);
          for (int64_t j = 0; j < c; ++j)
            for (unsigned k = 0; k < kLanes; ++k)
              next[i * c + j] =
                  fma(writer, left[k], right[j][k], next[i * c + j]);
        }
        return next;
      });
}

TileWriter::Values TileWriter::accumulate(ValueRange sums, const Tile &weights,
                                          const Tile &b) {
  int64_t each = int64_t(sums.size()) / r;
  Values rowStarts;
  for (int64_t i = 0; i < r; ++i)
    rowStarts.push_back(writer.times(rowOf({}, i), weights.stride));
  Value column = writer.times(across, kLanes);
  return writer.loop(
      b.rows / kLanes, sums,
      [&](Value turn, ValueRange carried) -> SmallVector<Value> {
        Values next(carried.begin(), carried.end());
        Value first = writer.times(turn, kLanes);
        SmallVector<Values> left;
        for (int64_t i = 0; i < r; ++i)
          left.push_back(writer.loadLanes(
              weights.memory, writer.add(rowStarts[i], first), kLanes));
        for (unsigned k = 0; k < kLanes; ++k) {
          Value start =
              writer.add(writer.times(writer.add(first, k), b.stride), column);
          for (int64_t j = 0; j < each; j += kLanes) {
            Values right = writer.loadLanes(
                b.memory, writer.add(start, j / kLanes * kChunk), kLanes);
            for (int64_t i = 0; i < r; ++i)
              for (unsigned lane = 0; lane < kLanes; ++lane) {
                Value &sum = next[i * each + j + lane];
                sum = fma(writer, left[i][k], right[lane], sum);
              }
          }
        }
        return next;
      });
}

TileWriter::Values TileWriter::zeros(int64_t width) {
  return Values(size_t(r * int64_t(llvm::alignTo(width, kChunk)) / kAcross),
                constant(0));
}

Value TileWriter::overRow(Value value,
                          llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t offset = kAcross / 2; offset > 0; offset /= 2)
    value = combine(value, writer.shuffle(value, offset));
  return value;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value TileWriter::rowOf(Value first, int64_t i) {
  Value row = writer.add(down, i * kDown);
  return first ? writer.add(first, row) : row;
}

Value TileWriter::columnOf(Value first, int64_t j) {
  Value column = writer.add(across, j * kAcross);
  return first ? writer.add(first, column) : column;
}

Value TileWriter::isKey(Value key) {
  int64_t keys = attention.keys();
  return keys % columns() == 0 && keys % rows() == 0 ? Value()
                                                     : writer.isLess(key, keys);
}

Value TileWriter::elementOf(const Strided &from, Value base, Value query,
                            Value key, Value otherwise) {
  Value inside = both(isKey(key), writer.isLess(query, attention.queries()));
  Value at = writer.add(
      base, writer.add(writer.times(query, from.strides[attention.queryDim()]),
                       writer.times(key, from.strides[attention.keyDim()])));
  return writer.where(inside, otherwise, [&]() -> SmallVector<Value> {
    Value read = writer.load(from.memory, at);
    return {from.memory.element.isInteger(1) ? read : widen(read)};
  })[0];
}

TileWriter::Masked TileWriter::mask(Value score, Value query, Value key,
                                    const std::optional<Strided> &mask,
                                    Value maskBase) {
  OpBuilder &builder = writer.builder;
  Location loc = writer.loc;
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };
  Masked of{times(score, constant(attention.scale)), {}, {}};
  if (attention.cap) {
    Value part = tanh(times(of.score, constant(1 / *attention.cap)));
    of.score = times(part, constant(*attention.cap));
    of.slope =
        arith::SubFOp::create(builder, loc, constant(1), times(part, part));
  }
  // Keys that are none, or later than the query, weigh nothing.
  Value seen = isKey(key);
  if (attention.causal)
    seen = both(seen, arith::CmpIOp::create(
                          builder, loc, arith::CmpIPredicate::sle, key, query));
  if (mask && mask->memory.element.isInteger(1)) {
    of.passes = elementOf(*mask, maskBase, query, key, truth());
    of.score = arith::SelectOp::create(builder, loc, of.passes, of.score,
                                       constant(*attention.fill));
  } else if (mask) {
    of.score = arith::AddFOp::create(
        builder, loc, of.score,
        elementOf(*mask, maskBase, query, key, constant(0)));
  }
  if (seen)
    of.score = arith::SelectOp::create(builder, loc, seen, of.score,
                                       constant(-INFINITY));
  return of;
}

Value TileWriter::keep(Value query, Value key, const Strided &keep,
                       Value base) {
  return arith::SelectOp::create(writer.builder, writer.loc,
                                 elementOf(keep, base, query, key, truth()),
                                 constant(*attention.kept), constant(0));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value TileWriter::constant(float value) {
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getF32FloatAttr(value));
}

Value TileWriter::truth() {
  return arith::ConstantOp::create(writer.builder, writer.loc,
                                   writer.builder.getBoolAttr(true));
}

Value TileWriter::exp(Value x) {
  host::Lanes lanes(writer.builder, writer.loc, x.getType());
  return host::expandExp(lanes, x);
}

Value TileWriter::log(Value x) {
  host::Lanes lanes(writer.builder, writer.loc, x.getType());
  return host::expandLog(lanes, x);
}

Value TileWriter::tanh(Value x) {
  host::Lanes lanes(writer.builder, writer.loc, x.getType());
  return host::expandTanh(lanes, x);
}

} // namespace stagewright::device
