//===- ScopeTree.h - how deep a layer's name goes ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks open a scope for every module, down to single products. The layers
// of a model are the scopes at the level at which it repeats: below the outer
// module, above the parts of a block. What tells them apart is the data:
// between two blocks one large value passes, inside a block the residual passes
// beside the branch. Scopes of one name but for its numbers are decided
// together.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_SCOPETREE_H
#define STAGEWRIGHT_LIB_ANALYSIS_SCOPETREE_H

#include "stagewright/Analysis/Scope.h"
#include "stagewright/Analysis/StepGraph.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::pipeline {

class ScopeTree {
public:
  /// `paths`: the scope of each operation of `graph`, which outlives the tree.
  ScopeTree(const StepGraph &graph, llvm::ArrayRef<ScopePath> paths);

  /// How many components of `path`, one of those given, name a layer; 0 if it
  /// names none.
  size_t layerDepth(const ScopePath &path) const;

private:
  struct Node {
    llvm::MapVector<llvm::StringRef, std::unique_ptr<Node>> children;
    std::string signature;            ///< The path without its numbers.
    std::vector<unsigned> operations; ///< Of the forward, in program order.
    unsigned contractions = 0;
    bool repeats = false; ///< Numbered siblings lie here or below.
    bool opens = false;   ///< Its children are layers, not it.
  };
  /// How many of the borders between a scope's parts one large value passes.
  struct Borders {
    unsigned clean = 0, all = 0;
  };

  void findRepeats(Node &node);
  void countBorders(const Node &node, unsigned depth,
                    llvm::ArrayRef<ScopePath> paths);
  void decide(Node &node);

  const StepGraph &graph;
  Node root;
  llvm::StringMap<Borders> borders; ///< By signature.
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_SCOPETREE_H
