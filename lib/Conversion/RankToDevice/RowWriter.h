//===- RowWriter.h - how a team of threads computes a row -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team, one warp or more, computes all operations of a group for one row. The
// iterations of the inner loops (turns) are assigned in chunks: of P threads
// with V lanes each, thread t computes V turns of chunk c, from (c P + t) V on,
// in every operation. So a thread finds the results of earlier operations in
// its registers, and neighbouring threads access adjacent memory. Values with
// one element per row are held by every thread of the team. Rows too long for
// registers go through memory, chunk by chunk in a loop; each element is read
// by the thread that wrote it.
//
// The last member may sum over the rows, such as the gradient of a norm's
// scale. Then a team computes several rows, its threads accumulate sums for
// their turns, the teams of a block add their sums in shared memory, and each
// block stores one partial sum for a second kernel.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWWRITER_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWWRITER_H

#include "RowLoops.h"
#include "RowTeams.h"
#include "ThreadWriter.h"
#include "llvm/ADT/MapVector.h"

namespace stagewright::device {

struct RowMember {
  mlir::linalg::LinalgOp op;
  RowLoops loops;
  int64_t turns;
  unsigned lanes;
};

/// The buffer that `view` is a view of.
mlir::Value rootOf(mlir::Value view);

class RowWriter {
public:
  /// `fills`: buffers whose elements are all equal, and their value. `partial`:
  /// buffers for the partial sums of the blocks, if the last member sums over
  /// rows.
  RowWriter(ThreadWriter &writer, llvm::SmallVector<RowMember> members,
            llvm::DenseMap<mlir::Value, mlir::Value> fills, RowTeams dealt,
            mlir::ValueRange partial)
      : writer(writer), members(std::move(members)), fills(std::move(fills)),
        dealt(dealt), partial(partial) {}

  void write();

private:
  /// Elements of a buffer that the thread holds in registers.
  struct Known {
    bool isRow;
    llvm::SmallVector<mlir::Value> values; ///< one, or by chunk and lane
    llvm::SmallVector<int> places;         ///< RowLoops::placesOf its map
  };

  /// An access to memory by the threads of a team.
  struct Touch {
    mlir::Value view;
    bool isElement; ///< each thread accesses its own turns only
    llvm::SmallVector<int> places;

    /// Whether each thread accesses the same elements as in `other`.
    bool agrees(const Touch &other) const {
      return isElement && other.isElement && view == other.view &&
             places == other.places;
    }
  };

  //===--- Turns ----------------------------------------------------------===//
  /// Sets the lanes of members, the same for members with equally many turns.
  void chooseLanes();
  /// Indices of the loops of `member` at turn `turn` of its row.
  llvm::SmallVector<mlir::Value> indicesAt(const RowMember &member,
                                           mlir::Value turn);
  llvm::SmallVector<mlir::Value> laneOf(const RowMember &member,
                                        llvm::ArrayRef<mlir::Value> indices,
                                        unsigned lane);
  void write(RowMember &member);
  /// Writes row number `row` of all members but one that sums over rows.
  void takeRow(mlir::Value row);
  /// Writes one chunk: loads, bodies, stores. Returns the updated sums.
  llvm::SmallVector<mlir::Value> writeChunk(RowMember &member, mlir::Value from,
                                            int64_t number, bool partial,
                                            llvm::SmallVector<mlir::Value> sums,
                                            llvm::SmallVector<Known> *made);
  /// Reduces the threads' sums of a row.
  void finishSums(RowMember &member, llvm::ArrayRef<mlir::Value> sums);

  //===--- Sums over rows -------------------------------------------------===//
  /// Writes all rows of the thread's team, of which `row` is the first.
  void writeSummed(mlir::Value row);
  /// Returns the sums of the thread with the terms of the current row added.
  llvm::SmallVector<mlir::Value> addRow(RowMember &member,
                                        mlir::ValueRange sums);
  /// Calls `take` for each chunk with its first turn and its sums, and returns
  /// the concatenated results.
  llvm::SmallVector<mlir::Value>
  forSums(RowMember &member, mlir::ValueRange sums,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(
              int64_t chunk, mlir::Value turn, mlir::ValueRange sums)>
              take);
  /// Adds the sums of the block's teams and stores them as its partial sum.
  void leaveSums(RowMember &member, mlir::ValueRange sums);

  //===--- Operands -------------------------------------------------------===//
  static bool isUsed(RowMember &member, mlir::OpOperand &operand);
  /// Whether the operand is the accumulator of a sum.
  static bool isCarried(RowMember &member, mlir::OpOperand &operand);
  /// Loads the operands that have one element per row.
  void loadRowValues(RowMember &member);
  /// The elements of one operand, one for each lane.
  llvm::SmallVector<mlir::Value> read(RowMember &member,
                                      mlir::OpOperand &operand,
                                      llvm::ArrayRef<mlir::Value> indices,
                                      int64_t chunk);
  /// Records what was loaded for `member`, for use by later members.
  void rememberLoaded(RowMember &member);
  void write(RowMember &member, mlir::OpOperand &init,
             llvm::ArrayRef<mlir::Value> indices, mlir::ValueRange values);
  /// Whether the lanes of an operand are contiguous, and aligned to their
  /// number.
  bool isVector(const RowMember &member, const Memory &memory,
                mlir::AffineMap map);
  mlir::Value zeroOf(mlir::Value buffer);

  //===--- Memory ---------------------------------------------------------===//
  void remember(mlir::Value buffer, Known value);
  /// Discards the known elements of all views of this memory.
  void forget(mlir::Value buffer);
  /// Whether the thread holds the elements of `operand` that it needs.
  bool isKept(RowMember &member, mlir::OpOperand &operand);
  /// Writes a barrier if `member` reads what another thread wrote, or writes
  /// what another thread may still read.
  void meetBefore(RowMember &member);

  ThreadWriter &writer;
  llvm::SmallVector<RowMember> members;
  llvm::DenseMap<mlir::Value, mlir::Value> fills;
  llvm::MapVector<mlir::Value, Known> known;
  /// Of the current member.
  llvm::DenseMap<mlir::OpOperand *, mlir::Value> rowValues;
  llvm::MapVector<mlir::OpOperand *, llvm::SmallVector<mlir::Value>> loaded;
  llvm::SmallVector<Touch> reads, writes; ///< since the last barrier
  llvm::SmallVector<mlir::Value> rowIndices;
  mlir::Value thread; ///< index in the team
  const RowTeams dealt;
  llvm::SmallVector<mlir::Value> partial;
};

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWWRITER_H
