//===- TileWriter.h - products of tiles in shared memory --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels of attention share. A block is 16 x 8 threads, and a tile of
// scores is 16 R rows x 8 C columns: thread (y, x) has R x C of them, rows
// y + 16 r and columns x + 8 c. The 8 threads of a row are neighbours in a warp
// and add up by shuffles.
//
//        columns: tile b, in shared memory             width
//            +---------------+                    +-------------+
//   rows:    | scores: R x C | -> weights, in     | sums: R x   |
//   tile a   |  of a thread  |    shared memory x | width/8 of a|
//            +---------------+    tile b        = | thread      |
//                                                 +-------------+
//
// Rows of a tile are padded to whole chunks of 32 elements, of which each of
// the 8 threads reads 4 side by side, and by 4 more, so that 8 rows lie in
// different banks. Beyond the array a tile is zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H

#include "../ThreadWriter.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

/// Elements of a row that the threads of a row read at once.
constexpr int64_t kChunk = 32;
/// Elements that one instruction moves.
constexpr unsigned kLanes = 4;

/// An operand with its stride in every dimension of the space of attention.
struct Strided {
  Memory memory;
  llvm::SmallVector<int64_t> strides;
};

/// Rows in shared memory.
struct Tile {
  Memory memory;
  int64_t rows, width, stride;
};

class TileWriter {
public:
  static constexpr int64_t kDown = 16, kAcross = 8, kThreads = kDown * kAcross;

  /// Scores of a thread, rows first.
  using Values = llvm::SmallVector<mlir::Value>;

  TileWriter(ThreadWriter &writer, const pipeline::Attention &attention);

  ThreadWriter &writer;
  const pipeline::Attention &attention;
  int64_t r = 1, c = 1;

  /// Chooses r and c so that a thread's sums, `widths` elements in a row of the
  /// block, stay in registers, and `bytes` of shared memory suffice. Fails if
  /// nothing does.
  mlir::LogicalResult
  choose(int64_t widths,
         llvm::function_ref<int64_t(int64_t r, int64_t c)> floats);
  /// Elements of a tile in shared memory.
  static int64_t floatsOf(int64_t rows, int64_t width);

  int64_t rows() const { return r * kDown; }
  int64_t columns() const { return c * kAcross; }

  //===--- Memory ---------------------------------------------------------===//
  Strided operand(llvm::StringRef name);
  /// Where an operand begins for these indices of the batch dimensions.
  mlir::Value base(const Strided &operand, llvm::ArrayRef<mlir::Value> batches);
  Tile tile(int64_t rows, int64_t width);
  /// Fills a tile from row `first` on, of `limit` rows.
  void load(const Tile &tile, const Strided &from, mlir::Value base,
            mlir::Value first, int64_t limit, unsigned rowDim,
            unsigned widthDim);
  /// One number of a row, as f32; `otherwise` beyond `limit`.
  mlir::Value loadRow(const Strided &from, mlir::Value base, mlir::Value row,
                      int64_t limit, unsigned rowDim, mlir::Value otherwise);
  /// Writes a thread's scores into a tile of rows() x columns().
  void put(const Tile &tile, mlir::ValueRange scores);
  /// Stores the sums of a thread.
  void store(mlir::ValueRange sums, const Strided &to, mlir::Value base,
             mlir::Value first, int64_t limit, unsigned rowDim,
             unsigned widthDim);

  //===--- Products -------------------------------------------------------===//
  /// Scores: rows of `a` times rows of `b`, over their width.
  Values multiply(const Tile &a, const Tile &b);
  /// `sums` with the product of `weights` and `b`, over its rows.
  Values accumulate(mlir::ValueRange sums, const Tile &weights, const Tile &b);
  Values zeros(int64_t width);
  /// What a thread of a row has, combined over the threads of that row.
  mlir::Value
  overRow(mlir::Value value,
          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

  //===--- Scores ---------------------------------------------------------===//
  mlir::Value rowOf(mlir::Value first, int64_t i);
  mlir::Value columnOf(mlir::Value first, int64_t j);
  /// A score scaled, capped and masked; what the cap multiplies its gradient by
  /// (null: 1), and whether the mask lets it pass (null: it does).
  struct Masked {
    mlir::Value score, slope, passes;
  };
  Masked mask(mlir::Value score, mlir::Value query, mlir::Value key,
              const std::optional<Strided> &mask, mlir::Value maskBase);
  /// What dropout multiplies a weight by.
  mlir::Value keep(mlir::Value query, mlir::Value key, const Strided &keep,
                   mlir::Value base);

  //===--- Numbers --------------------------------------------------------===//
  mlir::Value constant(float value);
  mlir::Value truth();
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x);

private:
  /// Whether `key` is a key; null where all of a tile are.
  mlir::Value isKey(mlir::Value key);
  /// The element of an array of queries and keys; `otherwise` beyond.
  mlir::Value elementOf(const Strided &from, mlir::Value base,
                        mlir::Value query, mlir::Value key,
                        mlir::Value otherwise);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value widen(mlir::Value value);

  mlir::Value down, across;
};

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
