//===- WriteParts.h - heads of attention and their operands -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_WRITEPARTS_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_WRITEPARTS_H

#include "TileWriter.h"

namespace stagewright::device {

/// An operand; `base` is the index of the first element of the block's head.
struct Part {
  llvm::StringRef name;
  Strided from;
  mlir::Value base;
};

/// The operands that change scores and weights element by element.
struct ScoreParts {
  std::optional<Part> mask, keep;
};

/// The head and the rows of a block: grid x enumerates both, rows fastest. If
/// rows are keys, the head is a key head, and the block loops over the query
/// heads that share it.
class Heads {
public:
  /// `rows`: the number of all rows, queries or keys; `of`: the operand whose
  /// batch dimensions the grid enumerates.
  Heads(TileWriter &tiles, int64_t rows, llvm::StringRef of);

  mlir::Value first; ///< first row of the block

  Part part(llvm::StringRef name);
  ScoreParts scoreParts();
  /// Extents of the batch dimensions in a block's loops, 1 for the others.
  llvm::ArrayRef<int64_t> walked() const { return walks; }
  /// Sets the indices of these dimensions.
  void walkTo(llvm::ArrayRef<mlir::Value> indices);

  //===--- Rows of keys or of queries -------------------------------------===//
  void load(const Tile &tile, const Part &part, mlir::Value first);
  /// Loops over rows [lower, upper) of `parts`, each loaded to its tile.
  TileWriter::Values walk(mlir::Value lower, mlir::Value upper,
                          llvm::ArrayRef<Tile> tiles,
                          llvm::ArrayRef<Part> parts, mlir::ValueRange state,
                          TileWriter::Turn turn);
  void store(mlir::ValueRange sums, const Part &part);
  /// One number of a query; 0 beyond the last.
  mlir::Value loadRow(const Part &part, mlir::Value query);
  void storeRow(const Part &part, mlir::Value query, mlir::Value value);
  TileWriter::Masked mask(const ScoreParts &parts, mlir::Value score,
                          mlir::Value query, mlir::Value key);
  /// The dropout factor of a weight; null without dropout.
  mlir::Value keep(const ScoreParts &parts, mlir::Value query, mlir::Value key);
  /// One past the last key that a block of queries attends to.
  mlir::Value keysSeen();
  /// The first query that attends to a block of keys, rounded down to a tile.
  mlir::Value queriesFrom();

private:
  TileWriter &tiles;
  ThreadWriter &writer;
  bool hasWalked = false;
  const pipeline::Attention &attention;
  llvm::SmallVector<mlir::Value> batches;
  llvm::SmallVector<int64_t> walks;
};

mlir::LogicalResult writeForward(ThreadWriter &writer,
                                 const pipeline::Attention &attention,
                                 MakeTiles make);
mlir::LogicalResult writeQueryGradient(ThreadWriter &writer,
                                       const pipeline::Attention &attention,
                                       MakeTiles make);
mlir::LogicalResult writeKeyGradient(ThreadWriter &writer,
                                     const pipeline::Attention &attention,
                                     MakeTiles make);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_WRITEPARTS_H
