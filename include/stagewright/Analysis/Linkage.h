//===- Linkage.h - which dimensions are split together ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a dimension of one value is split over devices, dimensions of other values
// must be split with it: the columns of a projection, the heads into which a
// reshape splits them, the rows of the next projection. Such dimensions form a
// class. Classes are found by joining dimensions that the same loop of a linalg
// operation indexes, or that a reshape or slice maps to each other (the linkage
// groups of Auto-MAP, Wang et al., 2020).
//
// A dimension is a product of factors, outermost first: a fused projection to
// queries, keys and values has 3 x heads x elements, as a reshape of it shows.
// The members of a class are factors, so heads alone can be split.
//
// Values that depend on no argument (masks, zeros) link nothing: each device
// makes the part that it needs. A value that a region reads by `tensor.extract`
// is linked in the dimensions that a loop indexes: for an embedding look-up,
// all dimensions of the indices, and all dimensions of the table except the one
// that the indices select. Time is almost linear in the number of operations.
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

/// A class, and the number of parts into which it can be split.
struct LinkedFactor {
  unsigned linked = 0; ///< The number of the class.
  int64_t size = 0;    ///< More than one.
};

/// The loop of `op` whose index is index `dim` of every `tensor.extract` from
/// `value` in the region of `op`. `value` is defined outside of the region.
/// None if there is no such loop, or if it does not have as many iterations as
/// the dimension has elements.
std::optional<unsigned> loopReading(mlir::linalg::LinalgOp op,
                                    mlir::Value value, int64_t dim);

class Linkage {
public:
  /// Analyses the operations of `step`, whose body is one block. A gradient is
  /// linked to its parameter, and the rows of one stacked parameter, which are
  /// arguments with the same position, to each other.
  explicit Linkage(mlir::func::FuncOp step);

  using Factors = mlir::SmallVector<LinkedFactor, 2>; ///< Outermost first.

  /// The factors of dimension `dim` of a tensor; none if `value` links nothing
  /// or the dimension has extent 1 or unknown extent.
  Factors of(mlir::Value value, int64_t dim) const;
  /// The factors of a loop; none if its extent is 1 or unknown.
  Factors of(mlir::linalg::LinalgOp op, unsigned loop) const;

private:
  using Nodes = mlir::SmallVector<unsigned, 2>;
  /// A factor. It may be joined to another (`parent`), or cut into several
  /// (`inner`).
  struct Node {
    unsigned parent = 0;
    int64_t size = 0;
    Nodes inner;
  };

  unsigned add(int64_t size);
  unsigned find(unsigned node) const;
  /// Appends the factors into which `nodes` have been cut so far.
  void leaves(mlir::ArrayRef<unsigned> nodes, Nodes &list) const;
  /// Cuts a leaf into an outer factor of size `outer` and the rest.
  void cut(unsigned node, int64_t outer);
  /// Joins the factors of two products, outermost first, cutting them to equal
  /// sizes, until two sizes have no common divisor.
  void join(mlir::ArrayRef<unsigned> left, mlir::ArrayRef<unsigned> right);

  Factors factorsOf(mlir::ArrayRef<unsigned> nodes) const;
  /// The nodes of each dimension; null if `value` links nothing.
  mlir::SmallVector<Nodes> *dimsOf(mlir::Value value);
  void link(mlir::Operation &op);
  void linkStructured(mlir::linalg::LinalgOp op);
  /// Dimension i of `small` is the product of the dimensions `groups[i]` of
  /// `large`.
  void linkReshape(mlir::Value small, mlir::Value large,
                   mlir::ArrayRef<mlir::ReassociationIndices> groups);
  /// Dimension `small`, of extent `count`, is the part of dimension `large`, of
  /// extent `size`, from index `first` on.
  void linkRange(Nodes &small, Nodes &large, int64_t first, int64_t count,
                 int64_t size);
  void linkSlice(mlir::Value small, mlir::Value large,
                 const llvm::SmallBitVector &dropped,
                 mlir::ArrayRef<int64_t> firsts,
                 mlir::ArrayRef<int64_t> strides);

  mutable std::vector<Node> nodes; ///< Mutable: find() shortens paths.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<Nodes>> dims;
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<Nodes>> loops;
  llvm::DenseSet<mlir::Value> unlinked; ///< Depend on no argument.
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_LINKAGE_H
