//===- Annotations.cpp - how the user places layers -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Annotations.h"
#include "ParameterPaths.h"
#include "stagewright/Analysis/Scope.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool hasAnnotations(ModuleOp module) {
  for (auto step : module.getOps<FunctionOpInterface>()) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (step.getArgAttr(i, kAnnotation))
        return true;
    llvm::DenseSet<Location> seen;
    WalkResult result = step->walk([&](Operation *op) {
      bool isNew = seen.insert(op->getLoc()).second;
      return isNew && !annotationScopesOf(op->getLoc()).empty()
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

namespace {
/// Collects the annotations of operations.
class Reader {
public:
  explicit Reader(const StepGraph &graph) : graph(graph) {
    result.of.assign(graph.ops.size(), StepAnnotations::kOpen);
  }

  FailureOr<StepAnnotations> run() {
    std::vector<std::set<int>> readers = parametersReadFirst(graph);
    for (auto [number, entry] : llvm::enumerate(graph.ops)) {
      if (!entry.isChained())
        continue;
      for (StringRef form : annotationScopesOf(entry.op->getLoc()))
        if (failed(add(number, form)))
          return failure();
      bool reads = false;
      for (int parameter : readers[number]) {
        FunctionOpInterface step = graph.step;
        auto form =
            step.getArgAttrOfType<StringAttr>(unsigned(parameter), kAnnotation);
        if (form && failed(add(number, form.getValue())))
          return failure();
        reads = true;
      }
      if (reads && result.of[number] == StepAnnotations::kOpen)
        result.of[number] = StepAnnotations::kNone;
    }
    return std::move(result);
  }

private:
  LogicalResult add(size_t number, StringRef form) {
    Operation *op = graph.ops[number].op;
    auto [slot, isNew] = numbers.try_emplace(form, result.list.size());
    if (isNew) {
      std::optional<Annotation> read = parseAnnotation(form);
      if (!read)
        return emitError(op->getLoc())
               << "'" << form << "' is not an annotation; expected "
               << kAnnotationForms;
      result.list.push_back(std::move(*read));
    }
    int &own = result.of[number];
    if (own < 0)
      own = int(slot->second);
    if (own == int(slot->second))
      return success();
    return emitError(op->getLoc())
           << "an operation is in " << result.list[size_t(own)].text()
           << " and in " << result.list[slot->second].text()
           << "; annotations cannot be nested or apply to the same parameters, "
           << "remove one of them";
  }

  const StepGraph &graph;
  StepAnnotations result;
  llvm::StringMap<size_t> numbers; ///< In the list, by form.
};
} // namespace

FailureOr<StepAnnotations> readAnnotations(const StepGraph &graph) {
  return Reader(graph).run();
}

StepAnnotations annotationsOfReaders(const StepGraph &graph,
                                     StepAnnotations annotations) {
  std::vector<std::set<int>> readers = parametersReadFirst(graph);
  for (size_t number = 0; number < graph.ops.size(); ++number)
    if (readers[number].empty())
      annotations.of[number] = StepAnnotations::kOpen;
  return annotations;
}

bool splitsIntoStages(const StepAnnotations &ofReaders) {
  std::set<int> found;
  for (int own : ofReaders.of) {
    if (own == StepAnnotations::kOpen)
      continue;
    if (own < 0 || !ofReaders.list[size_t(own)].splits)
      return false;
    found.insert(own);
  }
  return found.size() > 1;
}

std::vector<int> annotationsOfParameters(const StepGraph &graph,
                                         const StepAnnotations &annotations) {
  FunctionOpInterface step = graph.step;
  std::vector<int> result(step.getNumArguments(), StepAnnotations::kNone);
  std::vector<std::set<int>> readers = parametersReadFirst(graph);
  for (size_t number = 0; number < graph.ops.size(); ++number)
    for (int parameter : readers[number])
      result[size_t(parameter)] =
          std::max(annotations.of[number], StepAnnotations::kNone);
  return result;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

void splitAtAnnotations(const StepGraph &graph,
                        const StepAnnotations &annotations, Layers &layers) {
  // By layer: the annotation of each of its segments, in the order of the data.
  std::vector<SmallVector<int, 2>> segments(layers.names.size());
  std::vector<size_t> segmentOf(graph.ops.size(), 0);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    int layer = layers.layerOf[number];
    if (!entry.isChained() || layer < 0)
      continue;
    size_t low = 0;
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand); index >= 0 &&
                                              layers.layerOf[index] == layer &&
                                              graph.ops[index].isChained())
        low = std::max(low, segmentOf[index]);
    int own = annotations.of[number];
    SmallVector<int, 2> &all = segments[layer];
    if (own != StepAnnotations::kOpen) {
      while (low < all.size() && all[low] != own)
        ++low;
      if (low == all.size())
        all.push_back(own);
    }
    segmentOf[number] = low;
  }
  std::vector<int> firsts;
  std::vector<std::string> names;
  llvm::StringSet<> taken;
  for (const std::string &name : layers.names)
    taken.insert(name);
  for (auto [layer, own] : llvm::enumerate(segments)) {
    firsts.push_back(int(names.size()));
    names.push_back(layers.names[layer]);
    for (size_t k = 1; k < own.size(); ++k) {
      std::string name = layers.names[layer] + "." + std::to_string(k);
      while (!taken.insert(name).second)
        name += "b";
      names.push_back(name);
    }
  }
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (int &layer = layers.layerOf[number]; entry.isChained() && layer >= 0)
      layer = firsts[layer] + int(segmentOf[number]);
  layers.names = std::move(names);
}

std::vector<int> annotationsOfLayers(const StepGraph &graph,
                                     const StepAnnotations &annotations,
                                     const Layers &layers) {
  std::vector<int> result(layers.names.size(), StepAnnotations::kOpen);
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (int layer = layers.layerOf[number]; entry.isChained() && layer >= 0)
      result[layer] = std::max(result[layer], annotations.of[number]);
  for (size_t layer = 0; layer < result.size(); ++layer) {
    if (result[layer] != StepAnnotations::kOpen)
      continue;
    auto known = [](int own) { return own != StepAnnotations::kOpen; };
    auto next =
        std::find_if(result.begin() + int64_t(layer), result.end(), known);
    int after = next == result.end() ? StepAnnotations::kOpen : *next;
    int before = layer > 0 ? result[layer - 1] : after;
    bool isFree = before < 0 || after == StepAnnotations::kNone;
    result[layer] = isFree ? StepAnnotations::kNone : before;
  }
  return result;
}

std::vector<AnnotatedLayers> annotatedLayers(GraphOp graph) {
  std::vector<AnnotatedLayers> result;
  auto list = graph->getAttrOfType<ArrayAttr>(kAnnotations);
  if (!list)
    return result;
  StringRef before;
  for (auto [layer, attribute] : llvm::enumerate(list)) {
    StringRef form = cast<StringAttr>(attribute).getValue();
    if (std::optional<Annotation> own = parseAnnotation(form)) {
      if (form != before)
        result.push_back({int64_t(layer), 0, std::move(*own)});
      result.back().end = int64_t(layer) + 1;
    }
    before = form;
  }
  return result;
}

} // namespace stagewright::pipeline
