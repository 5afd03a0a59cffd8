//===- MessageNumbers.h - message numbers from microbatches -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MESSAGENUMBERS_H
#define STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MESSAGENUMBERS_H

#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <map>
#include <vector>

namespace stagewright::rank {

/// The numbers of an operation's messages, by microbatch.
using MessageNumbers = std::map<int64_t, int64_t>;

/// Computes, in one program, the numbers of messages from microbatches. Both
/// functions must be called in program order within a block.
class MessageNumberer {
public:
  explicit MessageNumberer(ProgramOp program)
      : entry(&program.getEntry().getBody().front()) {}

  /// Records the numbers of `op`, a transfer on channel `name`. If a table
  /// gives the order, the numbers of a channel become a second table with the
  /// same rows.
  void note(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
            const MessageNumbers &numbers);
  /// The number of the message of `op`, whose operand 0 is the microbatch. All
  /// transfers must have been noted.
  mlir::Value numberOf(mlir::Operation *op, const MessageNumbers &numbers);

private:
  /// For each row of a table: the number of a message, or -1 if none is needed.
  struct Column {
    TableOp table;
    std::vector<int64_t> numbers;
    mlir::Value value;
  };
  mlir::Value constant(int64_t number);
  /// `slope` times `of`, plus `number`, inserted before `op`.
  mlir::Value linear(mlir::Operation *op, mlir::Value of, int64_t slope,
                     int64_t number);

  mlir::Block *entry;
  mlir::DenseMap<int64_t, mlir::Value> constants;
  std::map<std::tuple<mlir::Block *, void *, int64_t, int64_t>, mlir::Value>
      linears;
  std::map<std::pair<mlir::Operation *, const void *>, Column> columns;
  /// By operation: its column, and the offset to add to the column's number.
  mlir::DenseMap<mlir::Operation *, std::pair<Column *, int64_t>> places;
};

} // namespace stagewright::rank

#endif // STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MESSAGENUMBERS_H
