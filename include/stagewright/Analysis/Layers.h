//===- Layers.h - which layer an operation belongs to -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers are the units of the chain that a planner cuts into stages. In the
// forward they come from scopes, else from the modules that hold the
// parameters, else from the places where little data is live; a value never
// flows from a layer to an earlier one. In the backward they come from the
// scopes or from the forward values that are read; a value never flows to a
// later layer.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_LAYERS_H
#define STAGEWRIGHT_ANALYSIS_LAYERS_H

#include "stagewright/Analysis/StepGraph.h"
#include "stagewright/Support/Result.h"
#include "llvm/Support/GlobPattern.h"
#include <string>

namespace stagewright::pipeline {

struct StepAnnotations; // Annotations.h

/// Where layers come from. By default from the scopes, or the modules that hold
/// the parameters, at the level at which the model repeats (`transformer/h/0`,
/// `transformer/h/1`).
struct LayerOptions {
  /// Whether scopes are used at all.
  bool useScopes = true;
  /// The number of leading scope components that name a layer; 0: automatic.
  int64_t depth = 0;
  /// Globs that match the leading components of a layer's scope, outermost
  /// first; empty: automatic.
  std::vector<llvm::GlobPattern> pattern;
};

/// Parses the text of an option: `auto`, `flow` (no scopes), a depth of at
/// least 1, or a pattern such as `transformer/h/*`.
Result<LayerOptions> parseLayerOptions(llvm::StringRef text);

struct Layers {
  std::vector<std::string> names;
  /// The layer of each operation of the step graph; -1 if the operation is dead
  /// or free (StepOp::free).
  std::vector<int> layerOf;
  /// Whether the layers came from scopes or modules.
  bool byScope = false;

  int size() const { return names.size(); }
};

/// Assigns every live operation that is not free to a layer: first the forward,
/// then the backward. Guarantees: the layer never decreases along an edge
/// between forward operations, and never increases between backward operations.
/// If `annotations` are given, layers are split where these begin and end.
/// Linear in the number of edges, except for sorting the scopes.
Layers assignLayers(const StepGraph &graph, const LayerOptions &options,
                    const StepAnnotations *annotations = nullptr);

/// The parts of assignLayers().
///@{
/// The scope of each operation, as an index into `names`; -1 for none.
struct Scopes {
  std::vector<std::string> names;
  std::vector<int> scopeOf;
  /// Whether a scope that data leaves and enters again becomes several layers,
  /// one for each time that data enters it.
  bool mayReturn = true;
};
Scopes collectScopes(const StepGraph &graph, const LayerOptions &options);
/// The modules that hold the parameters, as scopes of the forward.
Scopes collectParameterScopes(const StepGraph &graph,
                              const LayerOptions &options);
/// Fills `layers` for the forward by scope. Returns false and changes nothing
/// if there are fewer than two scopes, if they cover less than half of the
/// forward's contractions (of its operations if it has no contractions), or if
/// data returns to one and `mayReturn` is false.
bool assignForwardByScope(const StepGraph &graph, const Scopes &scopes,
                          Layers &layers);
/// Fills `layers` for the forward from the structure of the graph.
void assignForwardByStructure(const StepGraph &graph, Layers &layers);
/// Fills `layers` for the backward; the forward must be assigned.
void assignBackward(const StepGraph &graph, const Scopes &scopes,
                    Layers &layers);
///@}

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_LAYERS_H
