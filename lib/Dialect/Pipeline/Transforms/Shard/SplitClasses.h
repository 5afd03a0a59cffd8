//===- SplitClasses.h - what splitting a class costs ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classes of dimensions that parameters have and that are split together, each
// with the time per microbatch that splitting it saves and costs. The sharder's
// own rules give the effect of a split operand on an operation.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H

#include "Choose.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/Linkage.h"
#include <set>

namespace stagewright::pipeline {

/// One class of dimensions.
struct SplitClass {
  double saved = 0, spent = 0; ///< Seconds per microbatch.
  double parameterBytes = 0;   ///< Of open parameters.
  double share = 1;            ///< Share of the largest part in the whole.
  double least = 1;            ///< Share of the smallest part.
  /// Open parameters and how they would be split.
  std::vector<std::pair<unsigned, Layout>> parameters;
  /// Classes of the same operations or values: at most one of them is split.
  std::set<unsigned> excludes;
  bool isGiven = false; ///< A parameter that is not open is split by it.

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
  /// A class as one factor of a dimension or loop, which `split` splits.
  struct Use {
    unsigned number = 0; ///< In `classes`.
    unsigned place = 0;  ///< The dimension or loop.
    Layout split;
  };

  /// The classes of the dimensions of a value, or of the loops of an operation.
  llvm::SmallVector<Use> usesOf(mlir::Value value) const;
  llvm::SmallVector<Use> usesOf(mlir::linalg::LinalgOp op) const;
  /// By factor of dimension or loop `dim`: how its class splits it.
  llvm::SmallVector<Layout> splitsOf(const Linkage::Factors &factors,
                                     int64_t dim) const;
  void addUses(const Linkage::Factors &factors, unsigned place,
               llvm::SmallVector<Use> &uses) const;

  void addParameter(unsigned argument, bool isOpen, Layout layout);
  void addOperation(mlir::Operation &op);
  void addStructured(mlir::linalg::LinalgOp op, double seconds);
  /// Records that the classes of one operation or value exclude each other.
  void exclude(llvm::ArrayRef<Use> uses);
  /// Adds to class `number` the cost of receiving `share` of a value.
  void receives(mlir::Value value, unsigned number, double share);
  /// Adds to class `number` the cost of joining the parts of a value in every
  /// shard.
  void joins(mlir::Value value, unsigned number);
  /// Adds the cost of summing the partial values that `op` reads, unless `op`
  /// keeps them partial. addUp: of one value, which stays partial by the
  /// classes in `left`.
  void settlePartials(mlir::Operation &op);
  void addUp(mlir::Value value, llvm::ArrayRef<unsigned> left = {});

  mlir::func::FuncOp step;
  int64_t ways;
  const ShardRates &rates;
  Linkage linkage;
  FlopCounter counter;
  llvm::DenseMap<unsigned, unsigned> numbers; ///< In `classes`, by `linked`.
  std::vector<SplitClass> classes;
  /// By value: the classes by which it is partial until it is needed whole.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> partials;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITCLASSES_H
