//===- MessageNumbers.h - numbers in the place of microbatches --*- C++ -*-===//
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
/// calls come with the operations of a block in their order.
class MessageNumberer {
public:
  explicit MessageNumberer(ProgramOp program)
      : entry(&program.getEntry().getBody().front()) {}

  /// Notes the numbers of `op`, a transfer on the channel called `name`: where
  /// a table gives the order, those of a channel are a column beside it.
  void note(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
            const MessageNumbers &numbers);
  /// The number of the message of `op`, whose microbatch is its operand; once
  /// all are noted.
  mlir::Value numberOf(mlir::Operation *op, const MessageNumbers &numbers);

private:
  /// Of every row of a table, the number of a message; -1 where nobody asks.
  struct Column {
    TableOp table;
    std::vector<int64_t> numbers;
    mlir::Value value;
  };
  mlir::Value constant(int64_t number);
  /// `slope` times `of` and `number`, before `op`.
  mlir::Value linear(mlir::Operation *op, mlir::Value of, int64_t slope,
                     int64_t number);

  mlir::Block *entry;
  mlir::DenseMap<int64_t, mlir::Value> constants;
  std::map<std::tuple<mlir::Block *, void *, int64_t, int64_t>, mlir::Value>
      linears;
  std::map<std::pair<mlir::Operation *, const void *>, Column> columns;
  /// The column of an operation, and what it adds to that.
  mlir::DenseMap<mlir::Operation *, std::pair<Column *, int64_t>> places;
};

} // namespace stagewright::rank

#endif // STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MESSAGENUMBERS_H
