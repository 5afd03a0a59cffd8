//===- ParameterPaths.cpp - scopes from the names of parameters -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library whose modules leave no scopes in locations still stores parameters
// in a tree: the first reader of `params/blocks/0/attention/q/weight` belongs
// to `blocks/0/attention/q`. Parameters read in slices are ignored, as they
// belong to several layers; so are later readers of a parameter, such as the
// output projection that shares the embedding.
//
//===----------------------------------------------------------------------===//

#include "ParameterPaths.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {

/// The modules that contain each parameter, outermost first, by argument
/// number: the parts of its name except the last, without the common prefix.
static std::vector<ScopePath> holdersOfParameters(const StepGraph &graph) {
  FunctionOpInterface step = graph.step;
  std::vector<ScopePath> holders(step.getNumArguments());
  std::optional<ScopePath> common;
  for (auto [number, path] : llvm::enumerate(holders)) {
    auto name =
        step.getArgAttrOfType<StringAttr>(number, PipelineDialect::kName);
    if (!name || !graph.isParameter(number))
      continue;
    name.getValue().split(path, '/');
    if (path.size() > 1 && path.back() == "value") // Flax NNX appends it
      path.pop_back();
    path.pop_back();
    if (!common)
      common = path;
    auto shared =
        std::mismatch(common->begin(), common->end(), path.begin(), path.end());
    common->erase(shared.first, common->end());
  }
  size_t dropped = common ? common->size() : 0;
  // Keep one more component if a path would start with a number.
  if (dropped > 0 && llvm::any_of(holders, [&](const ScopePath &path) {
        return path.size() > dropped &&
               llvm::all_of(path[dropped], llvm::isDigit);
      }))
    --dropped;
  for (ScopePath &path : holders)
    path.erase(path.begin(), path.begin() + std::min(dropped, path.size()));
  return holders;
}

std::vector<std::set<int>> parametersReadFirst(const StepGraph &graph) {
  std::vector<std::set<int>> firsts(graph.ops.size());
  // The parameter that a free operation reads and passes on whole; -1: none.
  std::vector<int> handed(graph.ops.size(), -1);
  std::set<int> read;
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    std::set<int> parameters;
    for (Value operand : entry.operands) {
      int index = graph.indexOf(operand), parameter = -1;
      if (index >= 0)
        parameter = handed[index];
      else if (unsigned argument = cast<BlockArgument>(operand).getArgNumber();
               graph.isParameter(argument))
        parameter = argument;
      if (parameter >= 0)
        parameters.insert(parameter);
    }
    if (entry.free && parameters.size() == 1 &&
        !isa<tensor::ExtractSliceOp>(entry.op))
      handed[number] = *parameters.begin();
    if (!entry.isChained())
      continue;
    for (int parameter : parameters)
      if (read.insert(parameter).second)
        firsts[number].insert(parameter);
  }
  return firsts;
}

std::vector<ScopePath> pathsOfParameters(const StepGraph &graph) {
  std::vector<ScopePath> holders = holdersOfParameters(graph);
  std::vector<ScopePath> paths;
  for (const std::set<int> &parameters : parametersReadFirst(graph)) {
    std::optional<ScopePath> path;
    for (int parameter : parameters) {
      const ScopePath &holder = holders[parameter];
      if (!path)
        path = holder;
      path->erase(std::mismatch(path->begin(), path->end(), holder.begin(),
                                holder.end())
                      .first,
                  path->end());
    }
    paths.push_back(path.value_or(ScopePath()));
  }
  return paths;
}

} // namespace stagewright::pipeline
