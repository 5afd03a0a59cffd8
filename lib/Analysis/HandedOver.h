//===- HandedOver.h - values that nodes of a stage pass on ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that a node makes for nodes of its stage and phase only is not kept.
// It takes memory from the node that makes it to the last one that reads it,
// and while nodes between the two run, such as those of the layers that a skip
// connection goes around. Nodes of a phase run in the order of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_HANDEDOVER_H
#define STAGEWRIGHT_LIB_ANALYSIS_HANDEDOVER_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright::pipeline {

/// Alignment of an arena's slots in bytes, equal to RankDialect::kAlignment.
inline constexpr int64_t kSlotAlignment = 64;

class HandedOver {
public:
  /// `stages`: by layer, its stage. Empty: stages are not known, and all layers
  /// may be in one. In that case, if the layers are those of shards, values
  /// between layers lie in rings: a value counts only in the layers that make
  /// and read it.
  explicit HandedOver(GraphOp graph, ArrayRef<int64_t> stages = {});

  /// Bytes that wait for `node` or later nodes when it begins.
  int64_t before(NodeOp node) const { return bytes.lookup(node).before; }
  /// Bytes that a device needs while `node` runs with this workspace, in
  /// addition to kept values, for one of `parts` parts of a microbatch; 0:
  /// unknown.
  int64_t temporariesOf(NodeOp node, std::optional<int64_t> workspace,
                        int64_t parts = 1) const;

private:
  struct Bytes {
    int64_t before = 0, during = 0;
  };
  llvm::DenseMap<mlir::Operation *, Bytes> bytes;
};

/// Sets Layer::temporaries, given the stage of each layer: what nodes of other
/// stages pass lies in rings, even if they run on the same device.
void countTemporariesOfStages(GraphOp graph, ArrayRef<int64_t> stages,
                              Problem &problem);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_HANDEDOVER_H
