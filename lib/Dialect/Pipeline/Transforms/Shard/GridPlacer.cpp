//===- GridPlacer.cpp - levels of a step over a grid ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlacer.h"
#include "GridPlaces.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/ShardPlace.h"
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
  /// Each returns the highest level of the segment.
  int64_t findForwardLevels(int64_t segment, int64_t base);
  int64_t findBackwardLevels(int64_t segment, int64_t base);
  void name(ArrayRef<int64_t> numbers);

  GridGraph grid;
  std::vector<int64_t> segments;
  std::vector<int64_t> levels; ///< -1: not placed.
};

} // namespace

int64_t GridPlacer::findForwardLevels(int64_t segment, int64_t base) {
  int64_t last = base;
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number) || segments[number] != segment)
      continue;
    levels[number] = base;
    grid.forReads(number, [&](unsigned read) {
      levels[number] =
          std::max(levels[number], levels[read] + grid.crosses(read, number));
    });
    last = std::max(last, levels[number]);
  }
  return last;
}

int64_t GridPlacer::findBackwardLevels(int64_t segment, int64_t base) {
  int64_t last = base;
  for (unsigned number = unsigned(grid.size()); number-- > 0;) {
    if (!grid.isBackward(number) || segments[number] != segment)
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
    last = std::max(last, levels[number]);
  }
  return last;
}

// The last level of each segment but the last one has an even number, other
// levels of a pipeline have odd ones: a stage may end after an even level.
void GridPlacer::place(bool cuts) {
  int64_t numSegments = 1;
  for (const StepOp &entry : grid.graph.ops) {
    NotedLocation noted(entry.op->getLoc());
    segments.push_back(std::max<int64_t>(noted.note(grid.grid.size()), 0));
    numSegments = std::max(numSegments, segments.back() + 1);
  }
  std::vector<int64_t> numbers; // By level.
  for (int64_t segment = 0; segment < numSegments; ++segment) {
    auto base = int64_t(numbers.size());
    int64_t last = findForwardLevels(segment, base);
    last = std::max(last, findBackwardLevels(segment, base));
    for (int64_t level = base; level <= last; ++level) {
      int64_t next = numbers.empty() ? 0 : numbers.back() + 1;
      bool isEnd = level == last && segment + 1 < numSegments;
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
    noteSegments(*graph, grid);
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
