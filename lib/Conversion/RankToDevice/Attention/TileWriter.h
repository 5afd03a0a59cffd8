//===- TileWriter.h - products of tiles in shared memory --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels of attention share. A block has some rows of one head and
// walks columns of the other operand, a tile of scores at a time. All threads
// of a row are neighbours in a warp and add up by shuffles.
//
//        columns: tile b, in shared memory             width
//            +---------------+                    +-------------+
//   rows:    | scores: R x C |                    | sums: R x   |
//   tile a   |  of a thread  | -> weights x       | width / T   |
//            +---------------+    tile b        = | of a thread |
//                                                 +-------------+
//
// Of the T threads of a row, each has `side` neighbours, then every (T x side)
// th: scores one by one (ThreadTiles) or as tensor cores have them
// (TensorTiles). Rows of a tile are padded to whole chunks, and by 16 bytes
// more, so that 8 rows lie in different banks. Beyond the array a tile is zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H

#include "../ThreadWriter.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

/// An operand with its stride in every dimension of the space of attention.
struct Strided {
  Memory memory;
  llvm::SmallVector<int64_t> strides;
};

/// Rows in shared memory.
struct Tile {
  Memory memory;
  int64_t rows, width, stride;
  int64_t buffers = 1;
  mlir::Value start = {}; ///< of the buffer in use; null: that of the memory
  /// Of weights that stay in registers: those of a thread.
  llvm::SmallVector<mlir::Value> numbers = {};
};

/// What a kernel needs of its tiles.
struct TileNeeds {
  llvm::SmallVector<int64_t> sums;   ///< widths, of each row
  llvm::SmallVector<int64_t> own;    ///< widths of tiles of the block's rows
  llvm::SmallVector<int64_t> walked; ///< and of those of columns
  int64_t scores, weights; ///< tiles that a thread has at once, and puts
};

/// The dimensions of the rows and of the width of an operand.
std::pair<unsigned, unsigned> dimsOf(const pipeline::Attention &of,
                                     llvm::StringRef name);

class TileWriter {
public:
  static constexpr int64_t kThreads = 128;

  /// Scores of a thread, rows first.
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
  /// Where an operand begins for these indices of the batch dimensions.
  mlir::Value base(const Strided &operand, llvm::ArrayRef<mlir::Value> batches);
  Tile tile(int64_t rows, int64_t width, int64_t buffers = 1);
  /// One of columns, for `walk`.
  virtual Tile walkedTile(int64_t width) { return tile(columns(), width); }
  /// One that `put` fills.
  virtual Tile weightTile() = 0;
  /// Fills a tile from row `first` on, of `limit` rows.
  virtual void load(const Tile &tile, const Strided &from, mlir::Value base,
                    mlir::Value first, int64_t limit, unsigned rowDim,
                    unsigned widthDim);
  /// One number of a row, as f32; `otherwise` beyond `limit`.
  mlir::Value loadRow(const Strided &from, mlir::Value base, mlir::Value row,
                      int64_t limit, unsigned rowDim, mlir::Value otherwise);
  /// Keeps a thread's scores as weights; `share` comes between the last of
  /// these and `accumulate`.
  virtual void put(Tile &tile, mlir::ValueRange scores) = 0;
  virtual void share() = 0;
  /// Stores the sums of a thread.
  void store(mlir::ValueRange sums, const Strided &to, mlir::Value base,
             mlir::Value first, int64_t limit, unsigned rowDim,
             unsigned widthDim);
  /// Runs `turn` for the columns of [lower, upper), a tile of them at a time,
  /// which `load` fills. `again`: others have used the tiles before.
  virtual Values walk(mlir::Value lower, mlir::Value upper,
                      llvm::ArrayRef<Tile> tiles, Load load,
                      mlir::ValueRange state, bool again, Turn turn);

  //===--- Products -------------------------------------------------------===//
  /// Scores: rows of `a` times rows of `b`, over their width.
  virtual Values multiply(const Tile &a, const Tile &b) = 0;
  /// `sums` with the product of `weights` and `b`, over its rows.
  virtual Values accumulate(mlir::ValueRange sums, const Tile &weights,
                            const Tile &b) = 0;
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
  mlir::Value zeroOf(mlir::Type type);
  mlir::Value truth();
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x);

protected:
  /// How the threads of a block share a tile of scores, and the sums.
  struct Layout {
    int64_t threads;   ///< of a row
    int64_t rowStep;   ///< between rows of a thread
    int64_t scoreSide; ///< scores side by side
    int64_t sumSide;   ///< sums side by side
    int64_t chunk;     ///< elements of which a row of a tile has whole ones
    mlir::Type element;
    mlir::Value (*rowOfThread)(ThreadWriter &writer);
  };

  TileWriter(ThreadWriter &writer, const pipeline::Attention &attention,
             Layout layout, int64_t r, int64_t c);

  static Strided operand(ThreadWriter &writer,
                         const pipeline::Attention &attention,
                         llvm::StringRef name);
  /// Elements of tiles of these widths in shared memory.
  static int64_t elementsOf(const Layout &layout, int64_t rows,
                            llvm::ArrayRef<int64_t> widths);
  /// Elements of `type` in 16 bytes.
  static unsigned lanesOf(mlir::Type type);
  /// Whether so many elements of a row lie side by side where one load reaches
  /// them.
  static bool isWide(const Strided &from, unsigned widthDim, int64_t width,
                     int64_t lanes);
  /// Calls `move` for every piece of `lanes` elements of a tile that the thread
  /// fills: where it lies in the tile and in `from`, and whether it is inside.
  void forPieces(const Tile &tile, const Strided &from, mlir::Value base,
                 mlir::Value first, int64_t limit, unsigned rowDim,
                 unsigned widthDim, unsigned lanes,
                 llvm::function_ref<void(mlir::Value to, mlir::Value place,
                                         mlir::Value inside)>
                     move);

  Layout layout;
  mlir::Value down, across; ///< first row of a thread; its number in the row

private:
  /// Whether `key` is a key; null where all of a tile are.
  mlir::Value isKey(mlir::Value key);
  /// The element of an array of queries and keys; `otherwise` beyond.
  mlir::Value elementOf(const Strided &from, mlir::Value base,
                        mlir::Value query, mlir::Value key,
                        mlir::Value otherwise);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value widen(mlir::Value value);
};

using MakeTiles = std::unique_ptr<TileWriter> (*)(
    ThreadWriter &writer, const pipeline::Attention &attention,
    const TileNeeds &needs);
/// Tiles of f32, of which each thread multiplies its own; null if nothing fits.
std::unique_ptr<TileWriter>
makeThreadTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs);
/// Tiles of 16-bit numbers, multiplied by tensor cores, sums in f32; null if
/// the operands are others, or nothing fits.
std::unique_ptr<TileWriter>
makeTensorTiles(ThreadWriter &writer, const pipeline::Attention &attention,
                const TileNeeds &needs);
/// What a block may have on every device since sm_80; section "Compute
/// Capabilities" of the CUDA programming guide.
constexpr int64_t kMostShared = 96 << 10;

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_TILEWRITER_H
