//===- SplitClasses.h - what splitting a class costs ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classes of dimensions that parameters have, each with the time that splitting
// it saves and costs in a microbatch. What an operation makes of a split
// operand is asked of the sharder's own rules.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H

#include "Choose.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/Linkage.h"
#include <set>

namespace stagewright::pipeline {

/// One choice.
struct SplitClass {
  double saved = 0, spent = 0; ///< Seconds of a microbatch.
  double parameterBytes = 0;   ///< Of those that are open.
  /// Open parameters and how they would be split.
  std::vector<std::pair<unsigned, Layout>> parameters;
  /// Others that some operation or value has as well.
  std::set<unsigned> excludes;
  bool isGiven = false; ///< A hint splits it.

  double gain() const { return saved - spent; }
};

class SplitClasses {
public:
  SplitClasses(const StepGraph &graph, int64_t ways, const ShardRates &rates,
               llvm::ArrayRef<unsigned> open, llvm::ArrayRef<Layout> layouts);

  unsigned size() const { return unsigned(classes.size()); }
  const SplitClass &operator[](unsigned number) const {
    return classes[number];
  }
  double seconds = 0; ///< Of all operations of a microbatch on one device.

private:
  /// A class as one factor of a dimension or loop: the product of the factors
  /// around it is the number of chunks.
  struct Use {
    unsigned number = 0; ///< In `classes`.
    unsigned place = 0;  ///< The dimension or loop.
    int64_t outer = 1;
  };

  /// Of the dimensions of a value, or the loops of an operation: those that
  /// parameters have.
  llvm::SmallVector<Use> usesOf(mlir::Value value) const;
  llvm::SmallVector<Use> usesOf(mlir::linalg::LinalgOp op) const;
  void addUses(const Linkage::Factors &factors, unsigned place,
               llvm::SmallVector<Use> &uses) const;

  void addParameter(unsigned argument, bool isOpen, Layout layout);
  void addOperation(mlir::Operation &op);
  void addStructured(mlir::linalg::LinalgOp op, double seconds);
  /// What classes do that one operation or value has together.
  void exclude(llvm::ArrayRef<Use> uses);
  /// Adds what it costs to join a value in every shard.
  void joins(mlir::Value value, unsigned number);
  /// Adds up what is partial of values that `op` reads, unless `op` leaves it
  /// so; of one value, but for what classes in `left` leave.
  void settlePartials(mlir::Operation &op);
  void addUp(mlir::Value value, llvm::ArrayRef<unsigned> left = {});

  mlir::func::FuncOp step;
  int64_t ways;
  const ShardRates &rates;
  Linkage linkage;
  FlopCounter counter;
  llvm::DenseMap<unsigned, unsigned> numbers; ///< In `classes`, by linked one.
  std::vector<SplitClass> classes;
  /// By value, the classes that leave it partial until someone needs it whole.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> partials;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H
