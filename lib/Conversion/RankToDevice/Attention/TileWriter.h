//===- TileWriter.h - products of tiles in shared memory --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common part of the attention kernels. A block of threads computes some
// rows of one head and loops over the columns of the scores, which are the rows
// of the other operand, one tile of scores at a time. All threads of a row are
// adjacent in a warp and combine values by shuffles.
//
//        columns: tile b, in shared memory             width
//            +---------------+                    +-------------+
//   rows:    | scores: R x C |                    | sums: R x   |
//   tile a   |  of a thread  | -> weights x       | width / T   |
//            +---------------+    tile b        = | of a thread |
//                                                 +-------------+
//
// Each of the T threads of a row has groups of `side` adjacent columns, T x
// side apart: in ThreadTiles groups of one score and of four sums; in
// TensorTiles groups of two, as tensor cores distribute them. Rows of a tile
// are padded to whole chunks, and by 16 bytes more, so that 8 rows are in
// different banks. Outside of the array a tile is zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H

#include "../ThreadWriter.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

/// An operand with its stride in every dimension of the iteration space.
struct Strided {
  Memory memory;
  llvm::SmallVector<int64_t> strides;
};

/// A tile of rows in shared memory.
struct Tile {
  Memory memory;
  int64_t rows, width, stride;
  int64_t buffers = 1;
  mlir::Value start = {}; ///< of the buffer in use; null: that of the memory
  /// The weights of a thread, if they stay in registers.
  llvm::SmallVector<mlir::Value> numbers = {};
};

/// The tiles that a kernel needs.
struct TileNeeds {
  llvm::SmallVector<int64_t> sums;   ///< widths of the sums per row
  llvm::SmallVector<int64_t> own;    ///< widths of tiles of the block's rows
  llvm::SmallVector<int64_t> walked; ///< widths of tiles of columns
  int64_t scores, weights; ///< tiles of scores live at once; tiles for put()
};

/// The dimensions of the rows and of the width of an operand.
std::pair<unsigned, unsigned> dimsOf(const pipeline::Attention &of,
                                     llvm::StringRef name);

class TileWriter {
public:
  static constexpr int64_t kThreads = 128;

  /// Scores or sums of a thread, row by row.
  using Values = llvm::SmallVector<mlir::Value>;
  using Load = llvm::function_ref<void(const Tile &tile, unsigned number,
                                       mlir::Value first)>;
  using Turn = llvm::function_ref<Values(
      mlir::Value first, llvm::ArrayRef<Tile> tiles, mlir::ValueRange state)>;

  virtual ~TileWriter() = default;

  ThreadWriter &writer;
  const pipeline::Attention &attention;
  int64_t r = 1, c = 1;

  int64_t threadsOfRow() const { return layout.threads; }
  int64_t rows() const { return kThreads / layout.threads * r; }
  int64_t columns() const { return layout.threads * c; }

  //===--- Memory ---------------------------------------------------------===//
  Strided operand(llvm::StringRef name) {
    return operand(writer, attention, name);
  }
  /// Index of an operand's first element for these batch indices.
  mlir::Value base(const Strided &operand, llvm::ArrayRef<mlir::Value> batches);
  Tile tile(int64_t rows, int64_t width, int64_t buffers = 1);
  /// A tile of columns, for `walk`.
  virtual Tile walkedTile(int64_t width) { return tile(columns(), width); }
  /// A tile that `put` fills.
  virtual Tile weightTile() = 0;
  /// Fills a tile with rows from `first` on; rows from `limit` on are zero.
  virtual void load(const Tile &tile, const Strided &from, mlir::Value base,
                    mlir::Value first, int64_t limit, unsigned rowDim,
                    unsigned widthDim);
  /// One number of a row, as f32; `otherwise` from row `limit` on.
  mlir::Value loadRow(const Strided &from, mlir::Value base, mlir::Value row,
                      int64_t limit, unsigned rowDim, mlir::Value otherwise);
  /// Stores a thread's scores as weights; call `share` after the last `put` and
  /// before `accumulate`.
  virtual void put(Tile &tile, mlir::ValueRange scores) = 0;
  virtual void share() = 0;
  /// Stores the sums of a thread.
  void store(mlir::ValueRange sums, const Strided &to, mlir::Value base,
             mlir::Value first, int64_t limit, unsigned rowDim,
             unsigned widthDim);
  /// Loops over the columns [lower, upper), a tile at a time: `load` fills the
  /// tiles, `turn` is the loop body. `again`: the tiles were used before.
  virtual Values walk(mlir::Value lower, mlir::Value upper,
                      llvm::ArrayRef<Tile> tiles, Load load,
                      mlir::ValueRange state, bool again, Turn turn);

  //===--- Products -------------------------------------------------------===//
  /// Scores: products of rows of `a` and rows of `b`, summed over the width.
  virtual Values multiply(const Tile &a, const Tile &b) = 0;
  /// `sums` plus the product of `weights` and `b` over the rows of `b`.
  virtual Values accumulate(mlir::ValueRange sums, const Tile &weights,
                            const Tile &b) = 0;
  Values zeros(int64_t width);
  /// Combines the values of all threads of a row.
  mlir::Value
  overRow(mlir::Value value,
          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

  //===--- Scores ---------------------------------------------------------===//
  mlir::Value rowOf(mlir::Value first, int64_t i);
  mlir::Value columnOf(mlir::Value first, int64_t j);
  /// A scaled, capped and masked score; the factor of its gradient from the cap
  /// (null: 1); and whether a boolean mask leaves it unchanged (null: there is
  /// no such mask).
  struct Masked {
    mlir::Value score, slope, passes;
  };
  Masked mask(mlir::Value score, mlir::Value query, mlir::Value key,
              const std::optional<Strided> &mask, mlir::Value maskBase);
  /// The dropout factor of a weight.
  mlir::Value keep(mlir::Value query, mlir::Value key, const Strided &keep,
                   mlir::Value base);

  //===--- Numbers --------------------------------------------------------===//
  mlir::Value constant(float value);
  mlir::Value zeroOf(mlir::Type type);
  mlir::Value truth();
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x);

protected:
  /// How the threads of a block share a tile of scores, and the sums.
  struct Layout {
    int64_t threads;   ///< of a row
    int64_t rowStep;   ///< distance of the rows of a thread
    int64_t scoreSide; ///< adjacent scores of a thread
    int64_t sumSide;   ///< adjacent sums of a thread
    int64_t chunk;     ///< elements; rows of tiles are padded to multiples
    mlir::Type element;
    mlir::Value (*rowOfThread)(ThreadWriter &writer);
  };

  TileWriter(ThreadWriter &writer, const pipeline::Attention &attention,
             Layout layout, int64_t r, int64_t c);

  static Strided operand(ThreadWriter &writer,
                         const pipeline::Attention &attention,
                         llvm::StringRef name);
  /// Elements in shared memory of tiles of these widths.
  static int64_t elementsOf(const Layout &layout, int64_t rows,
                            llvm::ArrayRef<int64_t> widths);
  /// Elements of `type` in 16 bytes.
  static unsigned lanesOf(mlir::Type type);
  /// Whether one load can read `lanes` elements of a row: they are contiguous
  /// and aligned.
  static bool isWide(const Strided &from, unsigned widthDim, int64_t width,
                     int64_t lanes);
  /// Calls `move` for every piece of `lanes` elements of a tile that the thread
  /// fills, with its index in the tile and in `from`, and whether it is inside.
  void forPieces(const Tile &tile, const Strided &from, mlir::Value base,
                 mlir::Value first, int64_t limit, unsigned rowDim,
                 unsigned widthDim, unsigned lanes,
                 llvm::function_ref<void(mlir::Value to, mlir::Value place,
                                         mlir::Value inside)>
                     move);

  Layout layout;
  mlir::Value down, across; ///< the thread's first row; its number in the row

private:
  /// Whether `key` is less than the number of keys; null if always true.
  mlir::Value isKey(mlir::Value key);
  /// The element of `from` at (query, key); `otherwise` outside of it.
  mlir::Value elementOf(const Strided &from, mlir::Value base,
                        mlir::Value query, mlir::Value key,
                        mlir::Value otherwise);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value widen(mlir::Value value);
};

using MakeTiles = std::unique_ptr<TileWriter> (*)(
    ThreadWriter &writer, const pipeline::Attention &attention,
    const TileNeeds &needs);
/// Tiles of f32, multiplied without tensor cores: each thread computes its own
/// scores and sums. Null if nothing fits.
std::unique_ptr<TileWriter>
makeThreadTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs);
/// Tiles of 16-bit numbers, multiplied by tensor cores, sums in f32; null if
/// the operands have other types, or nothing fits.
std::unique_ptr<TileWriter>
makeTensorTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs);
/// Max bytes of shared memory that a block uses. All devices since sm_80 allow
/// more: section "Compute Capabilities" of the CUDA programming guide.
constexpr int64_t kMostShared = 96 << 10;

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
