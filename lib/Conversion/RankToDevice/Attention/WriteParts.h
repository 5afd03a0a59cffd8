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

/// An operand where the head of a block begins.
struct Part {
  llvm::StringRef name;
  Strided from;
  mlir::Value base;
};

/// What scores and weights are changed by, element by element.
struct ScoreParts {
  std::optional<Part> mask, keep;
};

/// Which head a block works on, and which of its rows: grid x counts both, rows
/// first. With rows of keys, a head is one of keys; heads of queries that share
/// it are walked.
class Heads {
public:
  /// `rows`: extent of the rows, queries or keys, of which a block has some;
  /// `of`: the operand whose batch dimensions are a block's.
  Heads(TileWriter &tiles, int64_t rows, llvm::StringRef of);

  mlir::Value first; ///< row of the block

  Part part(llvm::StringRef name);
  ScoreParts scoreParts();
  /// Extents of the batch dimensions that a block walks, 1 for the others.
  llvm::ArrayRef<int64_t> walked() const { return walks; }
  /// Sets the indices of these.
  void walkTo(llvm::ArrayRef<mlir::Value> indices);

  //===--- Rows of keys or of queries -------------------------------------===//
  void load(const Tile &tile, const Part &part, mlir::Value first);
  /// Walks the rows of `parts` in [lower, upper), each in a tile of `tiles`.
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
  /// What dropout multiplies a weight by; null: there is none.
  mlir::Value keep(const ScoreParts &parts, mlir::Value query, mlir::Value key);
  /// One beyond the last key that a block of queries sees.
  mlir::Value keysSeen();
  /// The first query, of a column of tiles, that sees a block of keys.
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
