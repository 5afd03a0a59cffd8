//===- GraphLayout.cpp - the nodes of a graph and their values ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLayout.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

namespace stagewright {

/// Makes the names of layers unique, because those of nodes must be.
void GraphLayout::nameLayers(const Problem &problem) {
  std::set<std::string> taken;
  for (const Layer &layer : problem.layers) {
    std::string name = layer.name;
    for (size_t i = 2; !taken.insert(name).second; ++i)
      name = layer.name + " " + std::to_string(i);
    layerNames.push_back(name);
  }
}

void GraphLayout::listNodes(const Problem &problem) {
  auto isW = [](const LayerPhase &place) {
    return place.phase == ActionKind::WeightGradient;
  };
  splitBackward =
      llvm::any_of(problem.layers,
                   [](const Layer &layer) {
                     return llvm::any_of(layer.times, [](StageTimes times) {
                       return times.weightGradient.value > 0;
                     });
                   }) ||
      llvm::any_of(problem.values, [&](const LayerValue &value) {
        return isW(value.producer) || llvm::any_of(value.uses, isW);
      });
  int64_t layers = int64_t(problem.layers.size());
  for (int64_t layer = 0; layer < layers; ++layer)
    nodes.push_back({{layer, ActionKind::Forward}, {}, {}, {}, {}});
  if (problem.forwardOnly)
    return;
  for (int64_t layer = layers; layer-- > 0;) {
    nodes.push_back({{layer, ActionKind::InputGradient}, {}, {}, {}, {}});
    if (splitBackward)
      nodes.push_back({{layer, ActionKind::WeightGradient}, {}, {}, {}, {}});
  }
}

size_t GraphLayout::numberOf(LayerPhase place) const {
  size_t layers = layerNames.size();
  if (place.phase == ActionKind::Forward)
    return size_t(place.layer);
  size_t fromEnd = layers - 1 - size_t(place.layer);
  return layers + (splitBackward ? 2 * fromEnd : fromEnd) +
         (place.phase == ActionKind::WeightGradient ? 1 : 0);
}

static const char *suffixOf(ActionKind phase, bool splitBackward) {
  return phase == ActionKind::Forward          ? ".F"
         : phase == ActionKind::WeightGradient ? ".W"
         : splitBackward                       ? ".I"
                                               : ".B";
}

std::string GraphLayout::nodeName(LayerPhase place) const {
  return layerNames[size_t(place.layer)] + suffixOf(place.phase, splitBackward);
}

Status GraphLayout::placeValues(const Problem &problem) {
  // Values with a stated transfer come first among the results of a node.
  for (bool stated : {true, false})
    for (auto [number, value] : llvm::enumerate(problem.values)) {
      if (value.uses.empty() || value.transfer.has_value() != stated)
        continue;
      size_t producer = numberOf(value.producer);
      if (producer < nodes.size())
        nodes[producer].outputs.push_back(number);
    }
  for (auto [number, value] : llvm::enumerate(problem.values))
    for (const LayerPhase &use : value.uses) {
      size_t producer = numberOf(value.producer), consumer = numberOf(use);
      if (producer >= nodes.size() || consumer >= nodes.size())
        return Error{"a problem without backwards has a value of phase I or W "
                     "of layer '" +
                     problem.layers[value.producer.layer].name + "'"};
      if (producer >= consumer)
        return Error{"a value goes from " + nodeName(value.producer) +
                     " back to " + nodeName(use) + ", which runs before it"};
      std::vector<size_t> &inputs = nodes[consumer].inputs;
      if (inputs.empty() || inputs.back() != number)
        inputs.push_back(number);
    }
  return {};
}

Status GraphLayout::placeResidents(const Problem &problem) {
  position.resize(problem.residents.size());
  // Parameters without a gradient so far, by size and layers, which must equal
  // those of the gradient.
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<size_t>> open;
  for (auto [number, resident] : llvm::enumerate(problem.residents)) {
    if (resident.layers.empty() || resident.kind == ResidentKind::Gradient)
      continue;
    position[number] = arguments.size();
    arguments.push_back(number);
    if (resident.kind == ResidentKind::Parameter)
      open[{resident.bytes.value, resident.layers}].push_back(number);
    for (int64_t layer : resident.layers)
      nodes[numberOf({layer, ActionKind::Forward})].arguments.push_back(number);
  }
  for (auto [number, resident] : llvm::enumerate(problem.residents)) {
    if (resident.layers.empty() || resident.kind != ResidentKind::Gradient)
      continue;
    std::vector<size_t> &parameters =
        open[{resident.bytes.value, resident.layers}];
    const std::string &layer = problem.layers[resident.layers.front()].name;
    if (parameters.empty() || problem.forwardOnly)
      return Error{"a gradient of " + toString(resident.bytes) + " of layer '" +
                   layer + "' has no " +
                   (problem.forwardOnly ? "backward" : "parameter")};
    parameterOf.push_back(position[parameters.front()]);
    parameters.erase(parameters.begin());
    position[number] = results.size();
    results.push_back(number);
    ActionKind phase =
        splitBackward ? ActionKind::WeightGradient : ActionKind::InputGradient;
    for (int64_t of : resident.layers)
      nodes[numberOf({of, phase})].gradients.push_back(number);
  }
  return {};
}

Result<GraphLayout> GraphLayout::create(const Problem &problem) {
  size_t classes = std::max<size_t>(problem.cluster.classes().size(), 1);
  for (const Layer &layer : problem.layers)
    if (layer.times.size() != classes)
      return Error{"layer '" + layer.name + "' has times for " +
                   std::to_string(layer.times.size()) +
                   " device classes, expected " + std::to_string(classes)};
  GraphLayout layout;
  layout.nameLayers(problem);
  layout.listNodes(problem);
  if (Status status = layout.placeValues(problem); !status)
    return status.error();
  if (Status status = layout.placeResidents(problem); !status)
    return status.error();
  return layout;
}

} // namespace stagewright
