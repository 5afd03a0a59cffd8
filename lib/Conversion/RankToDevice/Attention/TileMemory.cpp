//===- TileMemory.cpp - load tiles and store results ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

TileWriter::TileWriter(ThreadWriter &writer,
                       const pipeline::Attention &attention, Layout layout,
                       int64_t r, int64_t c)
    : writer(writer), attention(attention), r(r), c(c), layout(layout) {
  down = layout.rowOfThread(writer);
  across = writer.modulo(writer.threadId(), layout.threads);
  writer.shape.block[0] = kThreads;
}

unsigned TileWriter::lanesOf(Type type) {
  return 128 / type.getIntOrFloatBitWidth();
}

int64_t TileWriter::elementsOf(const Layout &layout, int64_t rows,
                               ArrayRef<int64_t> widths) {
  int64_t sum = 0;
  for (int64_t width : widths)
    sum += rows * (int64_t(llvm::alignTo(width, layout.chunk)) +
                   lanesOf(layout.element));
  return sum;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::pair<unsigned, unsigned> dimsOf(const pipeline::Attention &of,
                                     StringRef name) {
  name.consume_front("d_");
  bool keys = name == "key" || name == "value";
  bool values = name == "value" || name == "output";
  return {keys ? of.keyDim() : of.queryDim(),
          values ? of.valueDim() : of.widthDim()};
}

Strided TileWriter::operand(ThreadWriter &writer,
                            const pipeline::Attention &attention,
                            StringRef name) {
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

Tile TileWriter::tile(int64_t rows, int64_t width, int64_t buffers) {
  int64_t stride = elementsOf(layout, 1, width);
  return {writer.shared(layout.element, buffers * rows * stride), rows, width,
          stride, buffers};
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

bool TileWriter::isWide(const Strided &from, unsigned widthDim, int64_t width,
                        int64_t lanes) {
  if (from.memory.start || from.strides[widthDim] != 1 || width % lanes != 0 ||
      from.memory.offset % lanes != 0)
    return false;
  for (auto [dim, stride] : llvm::enumerate(from.strides))
    if (dim != widthDim && stride % lanes != 0)
      return false;
  return true;
}

void TileWriter::forPieces(
    const Tile &tile, const Strided &from, Value base, Value first,
    int64_t limit, unsigned rowDim, unsigned widthDim, unsigned lanes,
    llvm::function_ref<void(Value to, Value place, Value inside)> move) {
  int64_t padded = llvm::alignTo(tile.width, layout.chunk);
  int64_t all = tile.rows * padded / lanes;
  writer.loop(
      llvm::divideCeil(all, kThreads), {},
      [&](Value turn, ValueRange) -> Values {
        Value at = writer.add(writer.times(turn, kThreads), writer.threadId());
        Value row = writer.dividedBy(at, padded / lanes);
        Value column = writer.times(writer.modulo(at, padded / lanes), lanes);
        Value whole = writer.add(first, row);
        Value inside =
            limit % tile.rows == 0 ? Value() : writer.isLess(whole, limit);
        if (tile.width != padded)
          inside = both(inside, writer.isLess(column, tile.width));
        writer.where(
            all % kThreads == 0 ? Value() : writer.isLess(at, all), {},
            [&]() -> Values {
              Value to = writer.add(writer.times(row, tile.stride), column);
              Value place = writer.add(
                  base,
                  writer.add(writer.times(whole, from.strides[rowDim]),
                             writer.times(column, from.strides[widthDim])));
              move(tile.start ? writer.add(tile.start, to) : to, place, inside);
              return {};
            });
        return {};
      });
}

void TileWriter::load(const Tile &tile, const Strided &from, Value base,
                      Value first, int64_t limit, unsigned rowDim,
                      unsigned widthDim) {
  unsigned lanes = lanesOf(layout.element);
  if (from.memory.element != layout.element ||
      !isWide(from, widthDim, tile.width, lanes))
    lanes = 1;
  Values zeros(lanes, zeroOf(layout.element));
  forPieces(tile, from, base, first, limit, rowDim, widthDim, lanes,
            [&](Value to, Value place, Value inside) {
              Values read = writer.where(inside, zeros, [&]() -> Values {
                Values values = writer.loadLanes(from.memory, place, lanes);
                if (layout.element.isF32())
                  for (Value &value : values)
                    value = widen(value);
                return values;
              });
              writer.storeLanes(tile.memory, to, read);
            });
}

TileWriter::Values TileWriter::walk(Value lower, Value upper,
                                    ArrayRef<Tile> tiles, Load load,
                                    ValueRange state, bool, Turn turn) {
  return writer.loop(lower, upper, columns(), state,
                     [&](Value first, ValueRange carried) -> Values {
                       writer.barrier();
                       for (auto [number, tile] : llvm::enumerate(tiles))
                         load(tile, unsigned(number), first);
                       writer.barrier();
                       return turn(first, tiles, carried);
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

void TileWriter::store(ValueRange sums, const Strided &to, Value base,
                       Value first, int64_t limit, unsigned rowDim,
                       unsigned widthDim) {
  int64_t width = attention.extents[widthDim];
  int64_t each = int64_t(sums.size()) / r, side = layout.sumSide;
  // With wide heads, vector stores of four f32 need too many registers.
  bool wide = !layout.element.isF32() && isWide(to, widthDim, width, side);
  for (int64_t i = 0; i < r; ++i) {
    Value row = rowOf(first, i);
    Value inside = limit % rows() == 0 ? Value() : writer.isLess(row, limit);
    writer.where(inside, {}, [&]() -> Values {
      Value start = writer.add(base, writer.times(row, to.strides[rowDim]));
      int64_t lanes = wide ? side : 1;
      for (int64_t j = 0; j < each; j += lanes) {
        int64_t chunk = side * layout.threads, before = j / side * chunk;
        Value column =
            writer.add(writer.times(across, side), before + j % side);
        bool whole = before + chunk <= width;
        writer.where(
            whole ? Value() : writer.isLess(column, width), {},
            [&]() -> Values {
              Values values(sums.slice(size_t(i * each + j), size_t(lanes)));
              if (!to.memory.element.isF32())
                for (Value &value : values)
                  value = arith::TruncFOp::create(writer.builder, writer.loc,
                                                  to.memory.element, value);
              writer.storeLanes(
                  to.memory,
                  writer.add(start, writer.times(column, to.strides[widthDim])),
                  values);
              return {};
            });
      }
      return {};
    });
  }
}

} // namespace stagewright::device
