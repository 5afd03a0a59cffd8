//===- GridPlacer.cpp - levels of a step over a grid ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridGraph.h"
#include "GridPlaces.h"
#include "GridSegments.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {
namespace {

/// Computes the levels of a step, segment by segment, and names its operations.
class GridPlacer {
public:
  GridPlacer(const StepGraph &graph, ArrayRef<int64_t> grid)
      : grid(graph, grid), levels(this->grid.size(), -1) {}

  void place(bool cuts);

private:
  /// Sets the levels of the operations `own` of a segment, at least `base`.
  void findForwardLevels(ArrayRef<unsigned> own, int64_t base);
  void findBackwardLevels(ArrayRef<unsigned> own, int64_t base);
  void name(ArrayRef<int64_t> numbers);

  GridGraph grid;
  std::vector<int64_t> levels; ///< -1: not placed.
};

} // namespace

void GridPlacer::findForwardLevels(ArrayRef<unsigned> own, int64_t base) {
  for (unsigned number : own) {
    if (!grid.isForward(number))
      continue;
    levels[number] = base;
    grid.forReads(number, [&](unsigned read) {
      levels[number] =
          std::max(levels[number], levels[read] + grid.crosses(read, number));
    });
  }
}

void GridPlacer::findBackwardLevels(ArrayRef<unsigned> own, int64_t base) {
  for (unsigned number : llvm::reverse(own)) {
    if (!grid.isBackward(number))
      continue;
    levels[number] = base;
    auto raise = [&](unsigned other) {
      levels[number] =
          std::max(levels[number], levels[other] + grid.crosses(other, number));
    };
    grid.forReads(number, [&](unsigned read) {
      if (grid.isForward(read))
        raise(read);
    });
    for (unsigned user : grid.graph.ops[number].users)
      if (grid.isBackward(user))
        raise(user);
  }
}

// The last level of each segment but the last one has an even number, other
// levels of a pipeline have odd ones: a stage may end after an even level.
void GridPlacer::place(bool cuts) {
  std::vector<std::vector<unsigned>> segments(1);
  for (unsigned number = 0; number < grid.size(); ++number) {
    NotedLocation noted(grid.graph.ops[number].op->getLoc());
    size_t segment = size_t(std::max<int64_t>(noted.note(grid.grid.size()), 0));
    segments.resize(std::max(segments.size(), segment + 1));
    segments[segment].push_back(number);
  }
  std::vector<int64_t> numbers; // By level.
  for (auto [segment, own] : llvm::enumerate(segments)) {
    auto base = int64_t(numbers.size()), last = base;
    findForwardLevels(own, base);
    findBackwardLevels(own, base);
    for (unsigned number : own)
      last = std::max(last, levels[number]);
    for (int64_t level = base; level <= last; ++level) {
      int64_t next = numbers.empty() ? 0 : numbers.back() + 1;
      bool isEnd = level == last && segment + 1 < segments.size();
      numbers.push_back(next + (cuts && isEnd == (next % 2 != 0)));
    }
  }
  name(numbers);
}

void GridPlacer::name(ArrayRef<int64_t> numbers) {
  std::map<int64_t, std::string> scopes; // By level.
  for (auto [number, entry] : llvm::enumerate(grid.graph.ops))
    if (std::string scope = llvm::join(scopeOf(entry.op->getLoc()), ".");
        entry.isChained() && !scope.empty())
      scopes.try_emplace(levels[number], scope);
  for (auto [number, entry] : llvm::enumerate(grid.graph.ops)) {
    Location inner = NotedLocation(entry.op->getLoc()).own;
    if (grid.isPlaced(unsigned(number))) {
      std::string &scope = scopes[levels[number]];
      std::string own =
          operationName(scope.empty() ? "step" : scope,
                        {numbers[size_t(levels[number])], grid.shards[number]});
      inner = NameLoc::get(StringAttr::get(inner.getContext(), own), inner);
    }
    entry.op->setLoc(inner);
  }
}

LogicalResult placeOnGrid(func::FuncOp step, ArrayRef<int64_t> grid,
                          bool cuts) {
  FailureOr<StepGraph> graph = StepGraph::create(step);
  if (failed(graph))
    return failure();
  if (cuts) {
    Segmenter(*graph, grid).run();
    graph = StepGraph::create(step); // With what is copied.
    if (failed(graph))
      return failure();
  }
  GridPlacer(*graph, grid).place(cuts);
  step->setAttr(PipelineDialect::kGrid,
                Builder(step.getContext()).getDenseI64ArrayAttr(grid));
  return success();
}

} // namespace stagewright::pipeline
