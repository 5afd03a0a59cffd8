//===- LayersByStructure.cpp - forward layers without scopes --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every layer has at least one contraction. Between two consecutive
// contractions the best place for a cut is where the fewest bytes are live. The
// place becomes a cut if only one large value is live there, or if the best
// places before and after it have no fewer live bytes. In a residual block the
// input of the block is live beside the branch, so the block is not cut. A
// value that is live for long (the output of an encoder) adds the same bytes to
// every place, so it does not affect the comparison.
//
//===----------------------------------------------------------------------===//

#include "AliveSizes.h"
#include "stagewright/Analysis/Layers.h"

namespace stagewright::pipeline {

namespace {
/// The values that are live before one operation of the chain.
struct Alive {
  int64_t bytes = 0;
  int64_t largest = 0; ///< Bytes of the largest value.

  /// Whether one large value is live, beside at most small ones (statistics).
  bool isSingle() const { return bytes - largest <= largest / 8; }
};
/// The best place for a cut between two contractions.
struct Place {
  size_t position;
  Alive alive;
};
} // namespace

/// Live values before each position of `chain`. A value is counted up to its
/// last use in the chain, so results of the step are not counted after that.
static std::vector<Alive> computeAlive(const StepGraph &graph,
                                       ArrayRef<unsigned> chain) {
  std::vector<int64_t> position(graph.ops.size(), -1);
  for (auto [place, number] : llvm::enumerate(chain))
    position[number] = place;
  std::vector<Alive> alive(chain.size() + 1);
  // A value is live from the place after its definition to its last use.
  llvm::DenseMap<Value, int64_t> lastUse;
  for (auto [place, number] : llvm::enumerate(chain))
    for (Value operand : graph.ops[number].operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && position[index] >= 0)
        lastUse[operand] = place;
  AliveSizes sizes(alive.size());
  for (auto [place, number] : llvm::enumerate(chain))
    for (Value result : graph.ops[number].op->getResults())
      if (auto use = lastUse.find(result); use != lastUse.end())
        sizes.add(place + 1, use->second, bytesOf(result.getType()));
  sizes.sweep([&](size_t place, const AliveSizes::Place &at) {
    alive[place] = {at.bytes, at.largest()};
  });
  return alive;
}

void assignForwardByStructure(const StepGraph &graph, Layers &layers) {
  std::vector<unsigned> chain;
  std::vector<size_t> contractions;
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isChained())
      continue;
    if (isContraction(entry.op))
      contractions.push_back(chain.size());
    chain.push_back(number);
  }
  std::vector<Alive> alive = computeAlive(graph, chain);

  std::vector<Place> places;
  for (size_t k = 0; k + 1 < contractions.size(); ++k) {
    Place best{contractions[k] + 1, alive[contractions[k] + 1]};
    // Of equal places the last, so that operations after a contraction (bias,
    // activation) are in its layer.
    for (size_t p = best.position; p <= contractions[k + 1]; ++p)
      if (alive[p].bytes <= best.alive.bytes)
        best = {p, alive[p]};
    places.push_back(best);
  }
  std::vector<bool> cutBefore(chain.size() + 1, false);
  for (size_t k = 0; k < places.size(); ++k) {
    bool low = (k == 0 || places[k - 1].alive.bytes >= places[k].alive.bytes) &&
               (k + 1 == places.size() ||
                places[k + 1].alive.bytes >= places[k].alive.bytes);
    if (places[k].alive.isSingle() || low)
      cutBefore[places[k].position] = true;
  }

  int layer = 0;
  for (auto [place, number] : llvm::enumerate(chain)) {
    layer += cutBefore[place];
    layers.layerOf[number] = layer;
  }
  for (int i = 0; i <= layer; ++i)
    layers.names.push_back("layer" + std::to_string(i));
}

} // namespace stagewright::pipeline
