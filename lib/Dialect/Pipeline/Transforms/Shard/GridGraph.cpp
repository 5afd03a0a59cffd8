//===- GridGraph.cpp - the operations of a step on a grid -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridGraph.h"
#include "Sharder.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

NotedLocation::NotedLocation(Location location) : own(location) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto noted = fused ? dyn_cast_or_null<DenseI64ArrayAttr>(fused.getMetadata())
                     : nullptr;
  if (!noted)
    return;
  own = fused.getLocations().front();
  notes.assign(noted.asArrayRef().begin(), noted.asArrayRef().end());
}

void NotedLocation::setNote(size_t number, int64_t value) {
  notes.resize(std::max(notes.size(), number + 1), -1);
  notes[number] = value;
}

Location NotedLocation::withNotes() const {
  MLIRContext *context = own.getContext();
  return FusedLoc::get(context, {own}, DenseI64ArrayAttr::get(context, notes));
}

GridGraph::GridGraph(const StepGraph &graph, ArrayRef<int64_t> grid)
    : graph(graph), grid(grid), shards(graph.ops.size()) {
  findShards();
  findGradients();
}

bool GridGraph::reduces(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.getNumReductionLoops() > 0;
}

void GridGraph::forReads(unsigned number,
                         function_ref<void(unsigned)> take) const {
  for (Value operand : graph.ops[number].operands)
    if (int index = graph.indexOf(operand);
        index >= 0 && isPlaced(unsigned(index)))
      take(unsigned(index));
}

void GridGraph::forUses(Value value,
                        function_ref<void(OpOperand &, unsigned)> take) const {
  Block *block = value.getParentBlock();
  for (OpOperand &use : value.getUses()) {
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    int index = user->getNumResults() ? graph.indexOf(user->getResult(0)) : -1;
    if (index >= 0 && isPlaced(unsigned(index)))
      take(use, unsigned(index));
  }
}

void GridGraph::forParameters(unsigned number,
                              function_ref<void(Value)> take) const {
  Operation *op = graph.ops[number].op;
  for (Value value : readsOf(*op))
    if (auto argument = dyn_cast<BlockArgument>(originOf(value));
        argument && graph.isParameter(argument.getArgNumber()))
      take(argument);
  for (Value result : op->getResults())
    if (Value argument = gradientOf.lookup(result))
      take(argument);
}

// An operation that all shards along an axis share, or that was made for an
// argument, has no shard along it. It gets that of its first user that has one,
// else that of an operand.
void GridGraph::findShards() {
  for (auto [axis, size] : llvm::enumerate(grid)) {
    std::vector<int64_t> own;
    for (const StepOp &entry : graph.ops)
      own.push_back(NotedLocation(entry.op->getLoc()).note(axis));
    for (size_t number = own.size(); number-- > 0;)
      for (unsigned user : graph.ops[number].users)
        if (own[number] < 0)
          own[number] = own[user];
    for (unsigned number = 0; number < own.size(); ++number) {
      forReads(number, [&](unsigned read) {
        if (own[number] < 0)
          own[number] = own[read];
      });
      shards[number] =
          shards[number] * size + std::max<int64_t>(own[number], 0);
    }
  }
}

// The parts of a gradient are the values from which it is computed, up to those
// that sum over rows.
void GridGraph::findGradients() {
  FunctionOpInterface step = graph.step;
  for (auto [number, value] : llvm::enumerate(graph.returned())) {
    auto of = step.getResultAttrOfType<IntegerAttr>(unsigned(number),
                                                    PipelineDialect::kOf);
    if (!of)
      continue;
    Value argument = step.getFunctionBody().getArgument(unsigned(of.getInt()));
    forPartsOfGradient(value, /*throughSums=*/true, [&](Value part) {
      return gradientOf.try_emplace(part, argument).second;
    });
  }
}

} // namespace stagewright::pipeline
