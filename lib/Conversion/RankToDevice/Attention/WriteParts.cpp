//===- WriteParts.cpp - heads of attention and their operands -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

Heads::Heads(TileWriter &tiles, int64_t rows, StringRef of)
    : tiles(tiles), writer(tiles.writer), attention(tiles.attention) {
  AffineMap map = attention.map(of);
  SmallVector<int64_t> own;
  int64_t heads = 1;
  for (unsigned dim = 0; dim < attention.batches(); ++dim) {
    bool has = map.isFunctionOfDim(dim);
    own.push_back(has ? attention.extents[dim] : 1);
    walks.push_back(has ? 1 : attention.extents[dim]);
    heads *= own.back();
  }
  int64_t blocks = int64_t(llvm::divideCeil(rows, tiles.rows()));
  writer.shape.grid[0] = blocks * heads;
  Value block = writer.blockId(gpu::Dimension::x);
  first = writer.times(writer.modulo(block, blocks), tiles.rows());
  batches = writer.split(writer.dividedBy(block, blocks), own);
}

Part Heads::part(StringRef name) {
  Strided from = tiles.operand(name);
  Value base = tiles.base(from, batches);
  return {name, std::move(from), base};
}

ScoreParts Heads::scoreParts() {
  auto find = [&](StringRef name) {
    return attention.has(name) ? std::optional(part(name)) : std::nullopt;
  };
  return {find("mask"), find("keep")};
}

void Heads::walkTo(ArrayRef<Value> indices) {
  for (auto [batch, index, extent] : llvm::zip(batches, indices, walks))
    if (extent != 1)
      batch = index;
}

void Heads::load(const Tile &tile, const Part &part, Value first) {
  auto [row, width] = dimsOf(attention, part.name);
  tiles.load(tile, part.from, part.base, first, attention.extents[row], row,
             width);
}

TileWriter::Values Heads::walk(Value lower, Value upper, ArrayRef<Tile> all,
                               ArrayRef<Part> parts, ValueRange state,
                               TileWriter::Turn turn) {
  bool again = std::exchange(hasWalked, true) ||
               llvm::any_of(walks, [](int64_t extent) { return extent != 1; });
  return tiles.walk(
      lower, upper, all,
      [&](const Tile &tile, unsigned number, Value first) {
        load(tile, parts[number], first);
      },
      state, again, turn);
}

void Heads::store(ValueRange sums, const Part &part) {
  auto [row, width] = dimsOf(attention, part.name);
  tiles.store(sums, part.from, part.base, first, attention.extents[row], row,
              width);
}

Value Heads::loadRow(const Part &part, Value query) {
  return tiles.loadRow(part.from, part.base, query, attention.queries(),
                       attention.queryDim(), tiles.constant(0));
}

void Heads::storeRow(const Part &part, Value query, Value value) {
  // Only one thread of the row stores.
  Value writes = arith::AndIOp::create(
      writer.builder, writer.loc,
      writer.isZero(writer.modulo(writer.threadId(), tiles.threadsOfRow())),
      writer.isLess(query, attention.queries()));
  writer.where(writes, {}, [&]() -> SmallVector<Value> {
    Value at = writer.add(
        part.base,
        writer.times(query, part.from.strides[attention.queryDim()]));
    writer.store(part.from.memory, at, value);
    return {};
  });
}

TileWriter::Masked Heads::mask(const ScoreParts &parts, Value score,
                               Value query, Value key) {
  const std::optional<Part> &mask = parts.mask;
  return tiles.mask(score, query, key,
                    mask ? std::optional(mask->from) : std::nullopt,
                    mask ? mask->base : Value());
}

Value Heads::keep(const ScoreParts &parts, Value query, Value key) {
  return parts.keep ? tiles.keep(query, key, parts.keep->from, parts.keep->base)
                    : Value();
}

Value Heads::keysSeen() {
  Value all = writer.number(attention.keys());
  if (!attention.causal)
    return all;
  return arith::MinSIOp::create(writer.builder, writer.loc,
                                writer.add(first, tiles.rows()), all);
}

Value Heads::queriesFrom() {
  if (!attention.causal)
    return writer.number(0);
  return writer.times(writer.dividedBy(first, tiles.columns()),
                      tiles.columns());
}

} // namespace stagewright::device
