//===- GridGraph.h - the operations of a step on a grid ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDGRAPH_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDGRAPH_H

#include "stagewright/Analysis/StepGraph.h"

namespace stagewright::pipeline {

/// A location with the shard along each axis of a grid, then the segment; -1
/// where it is not known.
struct NotedLocation {
  explicit NotedLocation(mlir::Location location);

  mlir::Location withNotes() const;
  int64_t note(size_t number) const {
    return number < notes.size() ? notes[number] : -1;
  }
  void setNote(size_t number, int64_t value);

  mlir::Location own;
  llvm::SmallVector<int64_t> notes;
};

/// The operations of a step, with their shards on a grid. The arrays are
/// indexed by operation number.
struct GridGraph {
  GridGraph(const StepGraph &graph, llvm::ArrayRef<int64_t> grid);

  size_t size() const { return graph.ops.size(); }
  bool isForward(unsigned number) const {
    return graph.ops[number].isChained();
  }
  bool isBackward(unsigned number) const {
    return graph.ops[number].isBackward();
  }
  bool isPlaced(unsigned number) const {
    return isForward(number) || isBackward(number);
  }
  bool crosses(unsigned from, unsigned to) const {
    return shards[from] != shards[to];
  }
  /// Whether `op` sums or the like over a loop.
  static bool reduces(mlir::Operation *op);
  /// Calls `take` with the numbers of the placed operations whose values
  /// `number` reads.
  void forReads(unsigned number, llvm::function_ref<void(unsigned)> take) const;
  /// Calls `take` with each use of `value` by a placed operation, and with the
  /// number of that.
  void
  forUses(mlir::Value value,
          llvm::function_ref<void(mlir::OpOperand &, unsigned)> take) const;
  /// Calls `take` with the parameters that `number` reads, also through
  /// operations of one input, and those of whose gradients it is a part.
  void forParameters(unsigned number,
                     llvm::function_ref<void(mlir::Value)> take) const;

  const StepGraph &graph;
  llvm::ArrayRef<int64_t> grid;
  std::vector<int64_t> shards; ///< Row by row of the grid.

private:
  void findShards();
  void findGradients();

  /// By value: the parameter of whose gradient it is a part.
  llvm::DenseMap<mlir::Value, mlir::Value> gradientOf;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDGRAPH_H
