//===- ExplainLayouts.cpp - what can be split, and what not ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/Transforms/ExplainLayouts.h"
#include "Hints.h"
#include "LinkedClasses.h"
#include "SplitFunction.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Support/Text.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace stagewright::pipeline {
namespace {

/// Texts, and values by text, in the order of insertion.
using Texts = llvm::SetVector<std::string, std::vector<std::string>,
                              std::set<std::string>>;
template <typename T>
using TextMap =
    llvm::MapVector<std::string, T, std::map<std::string, unsigned>>;

/// What happens if the classes of one kind are split.
struct Outcome {
  SplitTrace trace;
  Boxes boxes;
  std::string hints;
  /// Why nothing is split, usually beginning with the operation that prevents
  /// it; empty if something is split.
  std::string refusal;
};

class Explainer {
public:
  Explainer(func::FuncOp step, StepGraph graph, int64_t ways)
      : step(step), graph(std::move(graph)), ways(ways) {
    for (const StepOp &entry : this->graph.ops) {
      double own = 0;
      if (entry.live)
        for (const auto &[size, count] :
             counter.countOperation(entry.op).contractions)
          own += count.value;
      flops.push_back(own);
      allFlops += own;
    }
  }

  std::string text();

private:
  Outcome split(const LinkedClasses &kind);
  std::string refusalOf(const SplitTrace &trace) const;
  std::string membersOf(const LinkedClasses &kind);
  std::string placesOf(const LinkedClasses &kind) const;
  std::string outcomeOf(const LinkedClasses &kind, const Outcome &outcome);
  /// The share of `ops` in the flops of contractions, as text.
  std::string percent(const llvm::DenseSet<unsigned> &ops) const;

  func::FuncOp step;
  StepGraph graph;
  int64_t ways;
  FlopCounter counter;
  std::vector<double> flops; ///< In contractions, by operation.
  double allFlops = 0;
  /// Operations that work on parts if some class is split.
  llvm::DenseSet<unsigned> splittable;
};

/// Max number of reasons for whole values that are listed.
constexpr size_t kMostReasons = 6;

std::string Explainer::percent(const llvm::DenseSet<unsigned> &ops) const {
  double own = 0;
  for (unsigned number : ops)
    own += flops[number];
  return llvm::formatv("{0:F1} %", 100 * own / std::max(allFlops, 1.0)).str();
}

/// If no operation computes on parts: the first operation that needs whole
/// values, and why; else empty.
std::string Explainer::refusalOf(const SplitTrace &trace) const {
  for (unsigned number : trace.onParts)
    if (graph.ops[number].work.kind >= WorkKind::Elementwise)
      return {};
  if (trace.onWholes.empty())
    return "no operation computes with these dimensions";
  const auto &[number, why] = *trace.onWholes.begin();
  return describe(graph.ops[number].op) + ": " + why;
}

Outcome Explainer::split(const LinkedClasses &kind) {
  Outcome outcome;
  std::string first =
      kind.ops.empty()
          ? std::string("no operation computes with these dimensions")
          : describe(graph.ops[*kind.ops.begin()].op);
  if (kind.members.empty()) {
    outcome.refusal = first + ": no parameter or batch has this dimension";
    return outcome;
  }
  if (kind.size < ways) {
    outcome.refusal =
        llvm::formatv("{0}: {1} is less than {2}", first, kind.size, ways);
    return outcome;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(step.getLoc());
  func::FuncOp copy = step.clone();
  module->push_back(copy);
  FailureOr<StepGraph> own = StepGraph::create(copy);
  SmallVector<Layout> layouts(step.getNumArguments());
  FunctionSplitter splitter{.ways = ways};
  splitter.batches = layouts;
  for (auto [argument, layout] : kind.members) {
    if (kind.size % ways == 0)
      layout.unit = 1;
    (graph.isParameter(argument) ? layouts : splitter.batches)[argument] =
        layout;
  }
  outcome.hints = writeHints(step, layouts, splitter.batches);
  splitter.trace = &outcome.trace;
  outcome.boxes = splitter.split(copy, &*own, layouts);
  outcome.refusal = refusalOf(outcome.trace);
  return outcome;
}

/// The dimensions of arguments, without numbers in their names.
std::string Explainer::membersOf(const LinkedClasses &kind) {
  Texts texts;
  for (auto [argument, layout] : kind.members) {
    auto name =
        step.getArgAttrOfType<StringAttr>(argument, PipelineDialect::kName);
    std::string text = name ? withoutNumbers(name.getValue())
                            : "argument " + std::to_string(argument);
    text += " dim " + std::to_string(layout.dim);
    if (layout.outer != 1)
      text += " in " + std::to_string(layout.outer) + " blocks";
    texts.insert(text);
  }
  if (kind.values > 0)
    texts.insert(counted(kind.values, "intermediate value"));
  return texts.empty() ? "loops only" : llvm::join(texts, ", ");
}

/// The scopes of the operations with the class, without numbers.
std::string Explainer::placesOf(const LinkedClasses &kind) const {
  Texts places;
  for (unsigned number : kind.ops) {
    std::string scope =
        llvm::join(scopeOf(graph.ops[number].op->getLoc()), "/");
    if (!scope.empty())
      places.insert(withoutNumbers(scope));
  }
  return places.empty() ? "arguments" : llvm::join(places, ", ");
}

std::string Explainer::outcomeOf(const LinkedClasses &kind,
                                 const Outcome &outcome) {
  if (!outcome.refusal.empty())
    return "    not split: " + outcome.refusal + "\n";
  splittable.insert(outcome.trace.onParts.begin(), outcome.trace.onParts.end());
  std::string text = "    split by --shard='" + outcome.hints +
                     "': " + percent(outcome.trace.onParts) +
                     " of contraction flops on parts; " +
                     counted(outcome.boxes.sums, "sum") + ", " +
                     counted(outcome.boxes.joins, "join") + ", " +
                     counted(outcome.boxes.exchanges, "exchange") + "\n";
  TextMap<int64_t> reasons;
  for (const auto &[number, why] : outcome.trace.onWholes)
    ++reasons[describe(graph.ops[number].op) + ": " + why];
  for (auto [i, reason] : llvm::enumerate(reasons)) {
    if (i == kMostReasons) {
      text += "    and " + std::to_string(reasons.size() - i) + " more\n";
      break;
    }
    text += "    needs whole values: " +
            (reason.second > 1 ? std::to_string(reason.second) + " x " : "") +
            reason.first + "\n";
  }
  return text;
}

std::string Explainer::text() {
  TextMap<std::string> layers;
  std::vector<LinkedClasses> kinds = linkedClassesOf(step, graph);
  int64_t count = 0, refused = 0;
  for (const LinkedClasses &kind : kinds) {
    Outcome outcome = split(kind);
    count += kind.count;
    refused += outcome.refusal.empty() ? 0 : kind.count;
    layers[placesOf(kind)] += "  " + counted(kind.count, "class") +
                              " of size " + std::to_string(kind.size) + ": " +
                              membersOf(kind) + "\n    whole, or in up to " +
                              std::to_string(kind.size) + " parts\n" +
                              outcomeOf(kind, outcome);
  }
  std::string text =
      llvm::formatv("{0} of {1} can be split over {2} devices\n{3} of the "
                    "flops in contractions can be split\n",
                    count - refused, counted(count, "linkage class"), ways,
                    percent(splittable));
  for (const auto &[places, own] : layers)
    text += "\n" + places + "\n" + own;
  return text;
}

} // namespace

FailureOr<std::string> explainLayouts(func::FuncOp step, int64_t ways) {
  if (ways < 2 || ways > kMostWays) {
    emitError(step.getLoc())
        << "layouts are for 2 to " << kMostWays << " parts, got " << ways;
    return failure();
  }
  FailureOr<StepGraph> graph = StepGraph::create(step);
  if (failed(graph))
    return failure();
  return Explainer(step, std::move(*graph), ways).text();
}

} // namespace stagewright::pipeline
