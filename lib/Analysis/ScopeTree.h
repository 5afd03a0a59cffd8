//===- ScopeTree.h - which scopes are layers --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks open a scope for every module, down to single products. The layers
// of a model are the scopes at the level at which it repeats: below the outer
// module, above the parts of a block. The data flow shows this level: between
// two blocks only one large value is live, inside a block the residual is live
// beside the branch. The places with one and with several large live values are
// counted, for all scopes whose names differ only in numbers together.
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
  /// `paths`: the scope of each operation of `graph`, which must outlive the
  /// tree.
  ScopeTree(const StepGraph &graph, llvm::ArrayRef<ScopePath> paths);

  /// How many leading components of `path`, one of `paths`, name its layer; 0
  /// if it is in none.
  size_t layerDepth(const ScopePath &path) const;

private:
  struct Node {
    llvm::MapVector<llvm::StringRef, std::unique_ptr<Node>> children;
    std::string signature;            ///< The path without its numbers.
    std::vector<unsigned> operations; ///< Of the forward, in program order.
    unsigned contractions = 0;
    bool repeats = false; ///< Has numbered siblings among its descendants.
    bool opens = false; ///< Not a layer: its children are layers, or open too.
  };
  /// Borders between the parts of a scope: those where at most one large value
  /// is live (`clean`), and all.
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
