//===- ThreadTiles.cpp - products of tiles without tensor cores -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is 16 x 8 threads, and a tile of scores 16 R rows x 8 C columns:
// thread (y, x) computes R x C of them, rows y + 16 r and columns x + 8 c. Of
// other sums it computes 4 adjacent ones in each chunk of 32.
//
//===----------------------------------------------------------------------===//

#include "TileWriter.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {
namespace {

constexpr int64_t kDown = 16, kAcross = 8;
/// Elements that the threads of a row read at once.
constexpr int64_t kChunk = 32;
/// Elements that one thread reads at once.
constexpr unsigned kLanes = 4;
/// Max sums of a thread, which has 255 registers; the padding of rows counts
/// too. This suffices for the gradients of keys and values of heads of 256
/// elements.
constexpr int64_t kMostSums = 65;

class ThreadTiles final : public TileWriter {
public:
  static Layout layoutOf(ThreadWriter &writer) {
    return {kAcross,
            kDown,
            /*scoreSide=*/1,
            /*sumSide=*/kLanes,
            kChunk,
            writer.builder.getF32Type(),
            [](ThreadWriter &writer) {
              return writer.dividedBy(writer.threadId(), kAcross);
            }};
  }

  /// Chooses r and c so that a thread's sums stay in registers.
  static std::unique_ptr<TileWriter> make(ThreadWriter &writer,
                                          const pipeline::Attention &attention,
                                          const TileNeeds &needs) {
    Layout layout = layoutOf(writer);
    for (int64_t c = 4; c >= 1; c /= 2)
      for (int64_t r = 4; r >= 1; r /= 2) {
        int64_t rows = r * kDown, columns = c * kAcross;
        int64_t floats = elementsOf(layout, rows, needs.own) +
                         elementsOf(layout, columns, needs.walked) +
                         needs.weights * elementsOf(layout, rows, columns);
        if (r * elementsOf(layout, 1, needs.sums) / kAcross <= kMostSums &&
            floats * int64_t(sizeof(float)) <= kMostShared)
          return std::unique_ptr<TileWriter>(
              new ThreadTiles(writer, attention, layout, r, c));
      }
    return nullptr;
  }

  Tile weightTile() override { return tile(rows(), columns()); }
  void put(Tile &tile, ValueRange scores) override;
  void share() override { writer.barrier(); }
  Values multiply(const Tile &a, const Tile &b) override;
  Values accumulate(ValueRange sums, const Tile &weights,
                    const Tile &b) override;

private:
  using TileWriter::TileWriter;

  /// The offsets of a thread's rows in a tile.
  Values startsOfRows(const Tile &tile) {
    Values starts;
    for (int64_t i = 0; i < r; ++i)
      starts.push_back(writer.times(rowOf({}, i), tile.stride));
    return starts;
  }
};

Value fma(ThreadWriter &writer, Value a, Value b, Value c) {
  return math::FmaOp::create(writer.builder, writer.loc, a, b, c);
}

TileWriter::Values ThreadTiles::multiply(const Tile &a, const Tile &b) {
  Values sums(size_t(r * c), constant(0));
  Values rowStarts = startsOfRows(a), columnStarts;
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

TileWriter::Values ThreadTiles::accumulate(ValueRange sums, const Tile &weights,
                                           const Tile &b) {
  int64_t each = int64_t(sums.size()) / r;
  Values rowStarts = startsOfRows(weights);
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

void ThreadTiles::put(Tile &tile, ValueRange scores) {
  for (int64_t i = 0; i < r; ++i)
    for (int64_t j = 0; j < c; ++j)
      writer.store(
          tile.memory,
          writer.add(writer.times(rowOf({}, i), tile.stride), columnOf({}, j)),
          scores[size_t(i * c + j)]);
}

} // namespace

std::unique_ptr<TileWriter>
makeThreadTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs) {
  return ThreadTiles::make(writer, attention, needs);
}

} // namespace stagewright::device
