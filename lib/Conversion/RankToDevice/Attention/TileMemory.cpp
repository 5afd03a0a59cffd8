//===- TileMemory.cpp - tiles from memory and results to it ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace stagewright::device {

/// Most sums of a thread, of its 255 registers, with the padding of rows: those
/// of the keys' and the values' gradients of heads of 256.
constexpr int64_t kMostSums = 65;
/// What a block may have on every device since sm_80; section "Compute
/// Capabilities" of the CUDA programming guide.
constexpr int64_t kMostShared = 96 << 10;

TileWriter::TileWriter(ThreadWriter &writer,
                       const pipeline::Attention &attention)
    : writer(writer), attention(attention) {
  Value thread = writer.threadId();
  down = writer.dividedBy(thread, kAcross);
  across = writer.modulo(thread, kAcross);
  writer.shape.block[0] = kThreads;
}

int64_t TileWriter::floatsOf(int64_t rows, int64_t width) {
  return rows * int64_t(llvm::alignTo(width, kChunk) + kLanes);
}

LogicalResult
TileWriter::choose(int64_t widths,
                   llvm::function_ref<int64_t(int64_t, int64_t)> floats) {
  for (c = 4; c >= 1; c /= 2)
    for (r = 4; r >= 1; r /= 2)
      if (r * widths / kAcross <= kMostSums &&
          floats(rows(), columns()) * int64_t(sizeof(float)) <= kMostShared)
        return success();
  return failure();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Strided TileWriter::operand(StringRef name) {
  Strided of{writer.memoryOf(attention.operand(name)), {}};
  of.strides.assign(attention.extents.size(), 0);
  AffineMap map = attention.map(name);
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    of.strides[map.getDimPosition(i)] = of.memory.strides[i];
  return of;
}

Value TileWriter::base(const Strided &operand, ArrayRef<Value> batches) {
  Value at = writer.number(operand.memory.offset);
  if (operand.memory.start)
    at = writer.add(at, operand.memory.start);
  for (auto [index, stride] : llvm::zip(batches, operand.strides))
    if (stride != 0)
      at = writer.add(at, writer.times(index, stride));
  return at;
}

Tile TileWriter::tile(int64_t rows, int64_t width) {
  int64_t stride = floatsOf(1, width);
  return {writer.shared(writer.builder.getF32Type(), rows * stride), rows,
          width, stride};
}

Value TileWriter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(writer.builder, writer.loc, a, b);
}

Value TileWriter::widen(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(writer.builder, writer.loc,
                               writer.builder.getF32Type(), value);
}

/// Whether `kLanes` elements of a row lie side by side where one load reaches
/// them.
static bool loadsLanes(const Strided &from, unsigned widthDim, int64_t width) {
  if (!from.memory.element.isF32() || from.memory.start ||
      from.strides[widthDim] != 1 || width % kLanes != 0 ||
      from.memory.offset % kLanes != 0)
    return false;
  for (auto [dim, stride] : llvm::enumerate(from.strides))
    if (dim != widthDim && stride % kLanes != 0)
      return false;
  return true;
}

void TileWriter::load(const Tile &tile, const Strided &from, Value base,
                      Value first, int64_t limit, unsigned rowDim,
                      unsigned widthDim) {
  unsigned lanes = loadsLanes(from, widthDim, tile.width) ? kLanes : 1;
  int64_t padded = llvm::alignTo(tile.width, kChunk);
  int64_t all = tile.rows * padded / lanes;
  SmallVector<Value> zeros(lanes, constant(0));
  writer.loop(
      llvm::divideCeil(all, kThreads), {},
      [&](Value turn, ValueRange) -> SmallVector<Value> {
        Value at = writer.add(writer.times(turn, kThreads), writer.threadId());
        Value row = writer.dividedBy(at, padded / lanes);
        Value column = writer.times(writer.modulo(at, padded / lanes), lanes);
        Value whole = writer.add(first, row);
        Value inside =
            limit % tile.rows == 0 ? Value() : writer.isLess(whole, limit);
        if (tile.width != padded)
          inside = both(inside, writer.isLess(column, tile.width));
        auto copy = [&]() -> SmallVector<Value> {
          SmallVector<Value> read =
              writer.where(inside, zeros, [&]() -> SmallVector<Value> {
                Value place = writer.add(
                    base,
                    writer.add(writer.times(whole, from.strides[rowDim]),
                               writer.times(column, from.strides[widthDim])));
                SmallVector<Value> values =
                    writer.loadLanes(from.memory, place, lanes);
                for (Value &value : values)
                  value = widen(value);
                return values;
              });
          writer.storeLanes(tile.memory,
                            writer.add(writer.times(row, tile.stride), column),
                            read);
          return {};
        };
        writer.where(all % kThreads == 0 ? Value() : writer.isLess(at, all), {},
                     copy);
        return {};
      });
}

Value TileWriter::loadRow(const Strided &from, Value base, Value row,
                          int64_t limit, unsigned rowDim, Value otherwise) {
  return writer.where(
      writer.isLess(row, limit), otherwise, [&]() -> SmallVector<Value> {
        return {widen(writer.load(
            from.memory,
            writer.add(base, writer.times(row, from.strides[rowDim]))))};
      })[0];
}

void TileWriter::put(const Tile &tile, ValueRange scores) {
  for (int64_t i = 0; i < r; ++i)
    for (int64_t j = 0; j < c; ++j)
      writer.store(
          tile.memory,
          writer.add(writer.times(rowOf({}, i), tile.stride), columnOf({}, j)),
          scores[i * c + j]);
}

void TileWriter::store(ValueRange sums, const Strided &to, Value base,
                       Value first, int64_t limit, unsigned rowDim,
                       unsigned widthDim) {
  int64_t width = attention.extents[widthDim];
  int64_t each = int64_t(sums.size()) / r;
  for (int64_t i = 0; i < r; ++i) {
    Value row = rowOf(first, i);
    Value inside = limit % rows() == 0 ? Value() : writer.isLess(row, limit);
    writer.where(inside, {}, [&]() -> SmallVector<Value> {
      Value start = writer.add(base, writer.times(row, to.strides[rowDim]));
      for (int64_t j = 0; j < each; ++j) {
        Value column = writer.add(writer.times(across, kLanes),
                                  j / kLanes * kChunk + j % kLanes);
        bool whole = (j / kLanes + 1) * kChunk <= width;
        writer.where(
            whole ? Value() : writer.isLess(column, width), {},
            [&]() -> SmallVector<Value> {
              Value value = sums[i * each + j];
              if (!to.memory.element.isF32())
                value = arith::TruncFOp::create(writer.builder, writer.loc,
                                                to.memory.element, value);
              writer.store(
                  to.memory,
                  writer.add(start, writer.times(column, to.strides[widthDim])),
                  value);
              return {};
            });
      }
      return {};
    });
  }
}

} // namespace stagewright::device
