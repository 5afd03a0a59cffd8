//===- RowWriter.h - how a team of threads takes a row ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team, one warp or more, takes one row through all operations of a group.
// The turns inside a row are dealt out in chunks: thread t of a team of P takes
// the turns (c P + t) V ... + V - 1 of chunk c, in every operation, so what one
// operation makes the next finds in registers, and neighbours read memory side
// by side. What a row has once, every thread of the team has. Rows too long for
// registers go through memory, chunk by chunk in a loop; each element is read
// by the thread that wrote it.
//
// A last member may sum over the rows, such as the gradient of a norm's scale.
// A team then takes several rows, its threads hold the sums of their turns, the
// teams of a block add up theirs in shared memory, and each block leaves one
// part of the sums for a second kernel.
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
  /// `fills` are buffers that hold one number everywhere. Where the last member
  /// sums over rows, `partial` are where the blocks leave its sums.
  RowWriter(ThreadWriter &writer, llvm::SmallVector<RowMember> members,
            llvm::DenseMap<mlir::Value, mlir::Value> fills, RowTeams dealt,
            mlir::ValueRange partial)
      : writer(writer), members(std::move(members)), fills(std::move(fills)),
        dealt(dealt), partial(partial) {}

  void write();

private:
  /// What the thread knows of a buffer's part in its row.
  struct Known {
    bool isRow;
    llvm::SmallVector<mlir::Value> values; ///< one; or lanes of chunks
    llvm::SmallVector<int> places;         ///< where in the buffer they lie
  };

  /// A use of memory by the threads of a team.
  struct Touch {
    mlir::Value view;
    bool isElement; ///< each thread its own turns
    llvm::SmallVector<int> places;

    /// Whether each thread touches what it touches in `other`.
    bool agrees(const Touch &other) const {
      return isElement && other.isElement && view == other.view &&
             places == other.places;
    }
  };

  //===--- Turns ----------------------------------------------------------===//
  /// Members that have the same number of turns deal them out alike.
  void chooseLanes();
  /// Indices of the loops of `member` at turn `turn` of its row.
  llvm::SmallVector<mlir::Value> indicesAt(const RowMember &member,
                                           mlir::Value turn);
  llvm::SmallVector<mlir::Value> laneOf(const RowMember &member,
                                        llvm::ArrayRef<mlir::Value> indices,
                                        unsigned lane);
  void write(RowMember &member);
  /// All members but one that sums over rows, in row number `row`.
  void takeRow(mlir::Value row);
  /// One chunk: loads, bodies, stores. Sums are carried through.
  llvm::SmallVector<mlir::Value> writeChunk(RowMember &member, mlir::Value from,
                                            int64_t number, bool partial,
                                            llvm::SmallVector<mlir::Value> sums,
                                            llvm::SmallVector<Known> *made);
  /// Adds up the threads' sums of a row.
  void finishSums(RowMember &member, llvm::ArrayRef<mlir::Value> sums);

  //===--- Sums over rows -------------------------------------------------===//
  /// All rows of the thread's team, of which number `row` is the first.
  void writeSummed(mlir::Value row);
  /// The sums of the thread, of all its turns, with those of one row added.
  llvm::SmallVector<mlir::Value> addRow(RowMember &member,
                                        mlir::ValueRange sums);
  /// Calls `take` with those of each chunk and its first turn, and returns what
  /// it makes of them.
  llvm::SmallVector<mlir::Value>
  forSums(RowMember &member, mlir::ValueRange sums,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(
              int64_t chunk, mlir::Value turn, mlir::ValueRange sums)>
              take);
  /// Adds up what the teams of the block have, and leaves it as its part.
  void leaveSums(RowMember &member, mlir::ValueRange sums);

  //===--- Operands -------------------------------------------------------===//
  static bool isUsed(RowMember &member, mlir::OpOperand &operand);
  /// Whether the operand is a sum, which is carried from turn to turn.
  static bool isCarried(RowMember &member, mlir::OpOperand &operand);
  /// Loads, once, the elements that the whole row shares.
  void loadRowValues(RowMember &member);
  /// The elements of one operand, one for each lane.
  llvm::SmallVector<mlir::Value> read(RowMember &member,
                                      mlir::OpOperand &operand,
                                      llvm::ArrayRef<mlir::Value> indices,
                                      int64_t chunk, mlir::ValueRange sums);
  /// What was loaded for `member` the next members need not load.
  void rememberLoaded(RowMember &member);
  void write(RowMember &member, mlir::OpOperand &init,
             llvm::ArrayRef<mlir::Value> indices, mlir::ValueRange values);
  /// Whether the lanes of an operand lie side by side at a multiple of them.
  bool isVector(const RowMember &member, const Memory &memory,
                mlir::AffineMap map);
  mlir::Value zeroOf(mlir::Value buffer);

  //===--- Memory ---------------------------------------------------------===//
  void remember(mlir::Value buffer, Known value);
  /// What is known of any view of this memory is no longer so.
  void forget(mlir::Value buffer);
  /// Whether the thread has the elements of `operand` that it needs.
  bool isKept(RowMember &member, mlir::OpOperand &operand);
  /// Lets the threads of the block meet before one reads what another wrote, or
  /// writes what another may still read.
  void meetBefore(RowMember &member);

  ThreadWriter &writer;
  llvm::SmallVector<RowMember> members;
  llvm::DenseMap<mlir::Value, mlir::Value> fills;
  llvm::MapVector<mlir::Value, Known> known;
  /// Of the member at hand.
  llvm::DenseMap<mlir::OpOperand *, mlir::Value> rowValues;
  llvm::MapVector<mlir::OpOperand *, llvm::SmallVector<mlir::Value>> loaded;
  llvm::SmallVector<Touch> reads, writes; ///< since the threads last met
  llvm::SmallVector<mlir::Value> rowIndices;
  mlir::Value thread; ///< number in the team
  const RowTeams dealt;
  llvm::SmallVector<mlir::Value> partial;
};

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWWRITER_H
