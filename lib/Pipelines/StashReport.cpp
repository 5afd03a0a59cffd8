//===- StashReport.cpp - readable report of stashes -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileReport.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Support/Units.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

namespace stagewright {

static std::string bytesOf(DictionaryAttr layer, StringRef field) {
  return toString(Bytes(layer.getAs<IntegerAttr>(field).getInt()));
}

static std::string listOf(DictionaryAttr layer, StringRef field) {
  std::string text;
  for (Attribute item : layer.getAs<ArrayAttr>(field))
    text += (text.empty() ? "" : ", ") + cast<StringAttr>(item).str();
  return text.empty() ? "nothing" : text;
}

/// The report of a layer, without its name.
static std::string describe(DictionaryAttr layer) {
  return "keeps " + bytesOf(layer, "kept") + " of " + bytesOf(layer, "read") +
         " that its backward reads\n  keeps   " + listOf(layer, "keeps") +
         "\n  repeats " + listOf(layer, "repeats") + "\n";
}

/// The bytes that the plan keeps of a layer whose `forward` is repeated by
/// `again`: its results, or the inputs if it is repeated as a layer of its own.
static int64_t keptBytes(pipeline::NodeOp forward, pipeline::NodeOp again) {
  auto isRead = [&](OpResult result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<pipeline::NodeOp>(user);
      return reader && reader.getLayer() == again.getLayer();
    });
  };
  int64_t kept = 0;
  if (forward.getLayer() == again.getLayer()) {
    for (OpResult result : forward->getResults())
      kept += isRead(result) ? pipeline::bytesOf(result.getType()) : 0;
    return kept;
  }
  for (mlir::Value input : llvm::SetVector<mlir::Value>(again->operand_begin(),
                                                        again->operand_end())) {
    auto maker = input.getDefiningOp<pipeline::NodeOp>();
    if (maker && maker.getPhase() == ActionKind::Forward)
      kept += pipeline::bytesOf(input.getType());
  }
  return kept;
}

/// By name of each layer at a recomputation level above 0, or repeated by
/// another layer: the bytes that the plan keeps, and the share of the forward
/// that it repeats.
static llvm::StringMap<std::string> choicesOf(pipeline::GraphOp graph) {
  auto nodes = graph.getBody().front().getOps<pipeline::NodeOp>();
  llvm::StringMap<pipeline::NodeOp> forwards; // By name of the layer.
  for (pipeline::NodeOp node : nodes)
    if (node.getPhase() == ActionKind::Forward)
      forwards.try_emplace(graph.getLayerName(node.getLayer()), node);
  llvm::StringMap<std::string> choices;
  for (pipeline::NodeOp again : nodes) {
    StringRef layer = again.getNodeName();
    if (!layer.consume_back(pipeline::PipelineDialect::kAgainSuffix))
      continue;
    pipeline::NodeOp forward = forwards.lookup(layer);
    if (!forward || forward == again)
      continue;
    int64_t kept = keptBytes(forward, again);
    std::string text = "  the plan keeps " + toString(Bytes(kept));
    pipeline::CostAttr cost = again.getCostAttr(), all = forward.getCostAttr();
    if (cost && all && all.getFlops() > 0)
      text += " and repeats " +
              std::to_string(std::llround(100.0 * double(cost.getFlops()) /
                                          double(all.getFlops()))) +
              " % of the forward's operations";
    choices[layer] = text + "\n";
  }
  return choices;
}

/// Names of the layers whose stash the plan offloads to the host.
static llvm::StringSet<> offloadedIn(ModuleOp module, pipeline::GraphOp graph) {
  llvm::StringSet<> names;
  for (auto program : module.getOps<pipeline::ProgramOp>())
    for (auto stage : program.getOps<pipeline::StageOp>())
      if (std::optional<ArrayRef<int64_t>> layers = stage.getOffload())
        for (int64_t layer : *layers)
          names.insert(graph.getLayerName(layer));
  return names;
}

void describeStash(ModuleOp module, CompileReport *report) {
  if (!report)
    return;
  for (auto graph : module.getOps<pipeline::GraphOp>()) {
    auto layers =
        graph->getAttrOfType<ArrayAttr>(pipeline::PipelineDialect::kStash);
    if (!layers)
      continue;
    auto dictionaries = layers.getAsRange<DictionaryAttr>();
    SmallVector<DictionaryAttr> all(dictionaries.begin(), dictionaries.end());
    llvm::StringMap<std::string> choices = choicesOf(graph);
    llvm::StringSet<> offloaded = offloadedIn(module, graph);
    auto textOf = [&](DictionaryAttr layer) {
      StringRef name = layer.getAs<StringAttr>("layer").getValue();
      return describe(layer) + choices.lookup(name) +
             (offloaded.contains(name)
                  ? "  the plan leaves it on the host until the backward\n"
                  : "");
    };
    report->stash += "stash of a microbatch, by layer\n";
    for (size_t first = 0; first < all.size();) {
      std::string text = textOf(all[first]);
      size_t end = first + 1;
      while (end < all.size() && textOf(all[end]) == text)
        ++end;
      report->stash += all[first].getAs<StringAttr>("layer").str();
      if (end > first + 1)
        report->stash += " .. " + all[end - 1].getAs<StringAttr>("layer").str();
      report->stash += ": " + text;
      first = end;
    }
  }
}

} // namespace stagewright
