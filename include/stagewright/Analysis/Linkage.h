//===- Linkage.h - which dimensions are split together ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever splits a dimension of one value over devices splits those of other
// values with it: the columns of a projection, the heads that they become, the
// rows of the projection behind. Such dimensions are one class, found by
// joining dimensions that stand at the same loop of a linalg operation, or that
// a reshape or slice hands on (the linkage groups of Auto-MAP, Wang et al.,
// 2020).
//
// A dimension is a product of factors, outermost first: a fused projection to
// queries, keys and values has 3 x heads x elements, of which a reshape shows
// what it is made of. Classes are of factors, so heads alone can be split.
//
// Values that depend on no argument (masks, zeros) link nothing: each device
// makes what it needs of them. Nor does what a region reads from outside.
// Linear in the number of operations, as good as.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_LINKAGE_H
#define STAGEWRIGHT_ANALYSIS_LINKAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace stagewright::pipeline {

/// A class and the number of parts that its dimensions can be cut into.
struct LinkedFactor {
  unsigned linked = 0; ///< The number of the class.
  int64_t size = 0;    ///< More than one.
};

class Linkage {
public:
  /// Follows the operations of `step`, whose body is one block. A gradient is
  /// linked to its parameter, and the rows of a stack to each other.
  explicit Linkage(mlir::func::FuncOp step);

  using Factors = mlir::SmallVector<LinkedFactor, 2>; ///< Outermost first.

  /// The factors of dimension `dim` of a tensor; none of what links nothing, of
  /// a dimension of one or of unknown size.
  Factors of(mlir::Value value, int64_t dim) const;
  /// Those of a loop; none of one that no operand tells the size of.
  Factors of(mlir::linalg::LinalgOp op, unsigned loop) const;

private:
  using Nodes = mlir::SmallVector<unsigned, 2>;
  /// A factor, which others are joined to, or which turned out to be several.
  struct Node {
    unsigned parent = 0;
    int64_t size = 0;
    Nodes inner;
  };

  unsigned add(int64_t size);
  unsigned find(unsigned node) const;
  /// Appends what `nodes` have turned out to be.
  void leaves(mlir::ArrayRef<unsigned> nodes, Nodes &list) const;
  /// Cuts a leaf into an outer factor of `outer` and the rest.
  void cut(unsigned node, int64_t outer);
  /// Lets two products be one, as far as their factors fit each other.
  void join(mlir::ArrayRef<unsigned> left, mlir::ArrayRef<unsigned> right);

  Factors factorsOf(mlir::ArrayRef<unsigned> nodes) const;
  /// The nodes by dimension; null of what links nothing.
  mlir::SmallVector<Nodes> *dimsOf(mlir::Value value);
  void link(mlir::Operation &op);
  void linkStructured(mlir::linalg::LinalgOp op);
  /// The dimensions of `small` are those groups of dimensions of `large`.
  void linkReshape(mlir::Value small, mlir::Value large,
                   mlir::ArrayRef<mlir::ReassociationIndices> groups);
  /// Dimension `dim` of `large` has, from `first` on, that of `small`.
  void linkRange(Nodes &small, Nodes &large, int64_t first, int64_t count,
                 int64_t size);
  void linkSlice(mlir::Value small, mlir::Value large,
                 const llvm::SmallBitVector &dropped,
                 mlir::ArrayRef<int64_t> firsts,
                 mlir::ArrayRef<int64_t> strides);

  mutable std::vector<Node> nodes; ///< Looking one up shortens its way.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<Nodes>> dims;
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<Nodes>> loops;
  llvm::DenseSet<mlir::Value> unlinked; ///< Depend on no argument.
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_LINKAGE_H
