//===- GraphLayout.h - the nodes of a graph and their values ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the nodes of a problem in the order of the graph's
// block, before any IR is built.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H
#define STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// A node to be built; its operands and results are numbers of values and
/// residents.
struct NodePlan {
  LayerPhase place;
  std::vector<size_t> inputs, outputs;
  std::vector<size_t> arguments, gradients;
};

/// Forwards by layer, then backwards from the last layer to the first.
struct GraphLayout {
  std::vector<NodePlan> nodes;
  /// Whether each backward is two nodes, I and W.
  bool splitBackward = false;
  std::vector<std::string> layerNames; ///< Unique.
  /// Numbers of the residents that are arguments and results of the graph, in
  /// order; by resident, its index among the arguments or results.
  std::vector<size_t> arguments, results, position;
  std::vector<size_t> parameterOf; ///< Argument for each result.

  /// The name of a node, such as "conv1.F".
  std::string nodeName(LayerPhase place) const;
  size_t numberOf(LayerPhase place) const;

  /// Fails if a layer does not have times for all device classes, a value flows
  /// against the order of nodes, or a gradient has no parameter.
  static Result<GraphLayout> create(const Problem &problem);

private:
  void nameLayers(const Problem &problem);
  void listNodes(const Problem &problem);
  Status placeValues(const Problem &problem);
  Status placeResidents(const Problem &problem);
};

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_PROFILE_GRAPHLAYOUT_H
