//===- ResultParts.cpp - results of a step as parts per layer -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ResultParts.h"

namespace stagewright::pipeline {

namespace {
/// A sum: its terms, and the additions that make it.
struct Sum {
  SmallVector<Value, 4> terms;
  SmallVector<unsigned, 4> additions;
};
} // namespace

/// Splits `value` into terms, recursively while a term is a backward sum with
/// no other reader.
static Sum takeApart(const StepGraph &graph, Value value) {
  Sum sum;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    int index = graph.indexOf(next);
    if (index < 0 || !graph.ops[index].isBackward() || !next.hasOneUse() ||
        !isTensorAdd(next.getDefiningOp())) {
      sum.terms.push_back(next);
      continue;
    }
    sum.additions.push_back(index);
    Operation *add = next.getDefiningOp();
    pending.push_back(add->getOperand(1));
    pending.push_back(add->getOperand(0));
  }
  return sum;
}

/// Whether backward operations of more than one layer make the terms.
static bool spansLayers(const StepGraph &graph, const Layers &layers,
                        const Sum &sum) {
  llvm::SmallDenseSet<int, 4> found;
  for (Value term : sum.terms) {
    int index = graph.indexOf(term);
    if (index < 0 || !graph.ops[index].isBackward())
      return false;
    found.insert(layers.layerOf[index]);
  }
  return found.size() > 1;
}

std::vector<ResultPart> splitResults(StepGraph &graph, const Layers &layers) {
  std::vector<ResultPart> parts;
  for (auto [number, returned] : llvm::enumerate(graph.returned())) {
    Sum sum;
    if (graph.isGradient(number))
      sum = takeApart(graph, returned);
    if (!spansLayers(graph, layers, sum)) {
      parts.push_back({static_cast<unsigned>(number), returned});
      continue;
    }
    for (unsigned addition : sum.additions)
      graph.ops[addition].live = false;
    for (Value term : sum.terms)
      parts.push_back({static_cast<unsigned>(number), term});
  }
  return parts;
}

} // namespace stagewright::pipeline
