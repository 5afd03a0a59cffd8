//===- GraphLayout.h - which node takes and makes what ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the nodes of a problem in the order of the graph's
// block, before there is any IR.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H
#define STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// A node to be: what it takes and makes, by number of value and resident.
struct NodePlan {
  LayerPhase place;
  std::vector<size_t> inputs, outputs;
  std::vector<size_t> arguments, gradients;
};

/// Forwards by layer, then backwards from the last layer to the first.
struct GraphLayout {
  std::vector<NodePlan> nodes;
  /// Whether backwards are two nodes, I and W.
  bool splitBackward = false;
  std::vector<std::string> layerNames; ///< Each once.
  /// Numbers of residents that are arguments and results of the graph, in
  /// order; where a resident stands among them.
  std::vector<size_t> arguments, results, position;
  std::vector<size_t> parameterOf; ///< Argument of each result.

  /// "conv1.F".
  std::string nodeName(LayerPhase place) const;
  size_t numberOf(LayerPhase place) const;

  /// Fails for values that no order of nodes allows and for gradients without
  /// their parameter.
  static Result<GraphLayout> create(const Problem &problem);

private:
  void nameLayers(const Problem &problem);
  void listNodes(const Problem &problem);
  Status placeValues(const Problem &problem);
  Status placeResidents(const Problem &problem);
};

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H
