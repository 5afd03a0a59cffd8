//===- SplitHints.h - hints about values of a step --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SPLITHINTS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SPLITHINTS_H

#include "Shard/Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::pipeline {

/// Attribute of a parameter whose `pipeline.split_dim` follows from a hint
/// about another value: the split is dropped where it does not fit.
inline constexpr llvm::StringLiteral kSplitDerived = "pipeline.split_derived";

/// Attribute of such a parameter: the number of consecutive indices that stay
/// on one device, which is the extent of the factors inside the one that is
/// split. It is 1 if absent.
inline constexpr llvm::StringLiteral kSplitUnit = "pipeline.split_unit";

/// How the model's own file splits an argument over an axis of shards.
struct OwnSplit {
  Layout layout;
  bool isDerived = false; ///< It follows from a hint about another value.
};

/// How the model's file splits `argument` over `axis` of a grid, or for axis -1
/// over the only axis; nothing if it does not.
std::optional<OwnSplit> ownSplit(mlir::func::FuncOp step, unsigned argument,
                                 int64_t axis);

/// Whether the model's file splits `argument` over the axes of a grid, so that
/// the attributes are lists with an entry for each.
bool isSplitOverGrid(mlir::func::FuncOp step, unsigned argument);

/// Removes what the model's file says about splits from `attributes`.
void eraseOwnSplit(mlir::NamedAttrList &attributes);

/// Removes all `pipeline.split_hint` from `step`, which has roles. Parameters
/// with a dimension, or a factor of one, that is linked to the dimension of a
/// hint (Analysis/Linkage.h) get it as `pipeline.split_dim`, `split_outer` and
/// `split_unit`, unless they have one. Emits a remark if hints are linked to no
/// parameter.
void readSplitHints(mlir::func::FuncOp step);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SPLITHINTS_H
