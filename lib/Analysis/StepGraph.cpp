//===- StepGraph.cpp - a step as a dense data-flow graph ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/StepGraph.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"

namespace stagewright::pipeline {

/// Max number of cheap operations on arguments that are repeated instead of
/// sending their result. Index arithmetic on token numbers (bounds,
/// wrap-around, one or two broadcasts) has six; a random generator has over a
/// hundred.
static constexpr unsigned kLongestFreeChain = 8;

/// Whether all results of `op` are scalars (a constant, an index read from a
/// tensor). Nodes pass only tensors, so every reader recomputes scalars.
static bool makesScalars(Operation *op) {
  return op->getNumRegions() == 0 &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
}

void StepGraph::collectOperands(StepOp &entry) const {
  llvm::SetVector<Value> read(entry.op->operand_begin(),
                              entry.op->operand_end());
  getUsedValuesDefinedAbove(entry.op->getRegions(), read);
  llvm::SetVector<Value> tensors;
  llvm::SetVector<unsigned> scalars;
  for (Value value : read) {
    int index = indexOf(value);
    if (index < 0 || !makesScalars(ops[index].op)) {
      tensors.insert(value);
      continue;
    }
    scalars.insert_range(ops[index].scalars);
    scalars.insert(index);
    tensors.insert_range(ops[index].operands);
  }
  entry.operands.assign(tensors.begin(), tensors.end());
  entry.scalars.assign(scalars.begin(), scalars.end());
}

FailureOr<StepGraph> StepGraph::create(FunctionOpInterface step) {
  StepGraph graph;
  graph.step = step;
  if (!step.getFunctionBody().hasOneBlock())
    return step.emitError()
           << "@" << step.getName() << " must have one block, "
           << "got " << step.getFunctionBody().getBlocks().size()
           << "; use structured control flow (scf) instead";
  Block &block = step.getFunctionBody().front();
  for (Operation &op : block.without_terminator()) {
    if (!isMemoryEffectFree(&op))
      return emitError(op.getLoc())
             << "'" << op.getName() << "' has side effects and "
             << "cannot be moved to a stage; a step is made of "
             << "operations on tensors";
    graph.indices[&op] = graph.ops.size();
    StepOp entry;
    entry.op = &op;
    entry.work = workOf(&op);
    entry.forward = op.hasAttr(PipelineDialect::kForward);
    graph.collectOperands(entry);
    graph.ops.push_back(std::move(entry));
  }
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand); index >= 0)
        if (auto &users = graph.ops[index].users;
            users.empty() || users.back() != number)
          users.push_back(number);
  graph.markLive();
  graph.markFree();
  return graph;
}

int StepGraph::indexOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return -1;
  auto found = indices.find(op);
  return found == indices.end() ? -1 : static_cast<int>(found->second);
}

ValueRange StepGraph::returned() const {
  FunctionOpInterface function = step;
  return function.getFunctionBody().front().getTerminator()->getOperands();
}

bool StepGraph::isGradient(unsigned number) const {
  return resultRole(step, number) == Role::Gradient;
}

bool StepGraph::isParameter(unsigned number) const {
  return argumentRole(step, number) == Role::Parameter;
}

void StepGraph::markLive() {
  for (auto [number, value] : llvm::enumerate(returned()))
    if (int index = indexOf(value); index >= 0) {
      ops[index].live = true;
      ops[index].forward |= !isGradient(number);
    }
  for (StepOp &entry : llvm::reverse(ops))
    for (Value operand : entry.operands)
      if (int index = indexOf(operand); index >= 0) {
        ops[index].live |= entry.live;
        ops[index].forward |= entry.forward;
      }
}

void StepGraph::markFree() {
  // For each operation: on which kinds of arguments it depends, and how many
  // operations, including itself, compute it from them; an operation counts
  // once for each path on which it is used, and constants do not count.
  struct Cone {
    bool parameters = false, others = false;
    unsigned size = 0;
  };
  std::vector<Cone> cones(ops.size());
  for (auto [number, entry] : llvm::enumerate(ops)) {
    Cone &cone = cones[number];
    bool fromFree = true;
    for (Value operand : entry.operands) {
      if (int index = indexOf(operand); index >= 0) {
        cone.parameters |= cones[index].parameters;
        cone.others |= cones[index].others;
        cone.size =
            std::min(cone.size + cones[index].size, kLongestFreeChain + 1);
        fromFree &= ops[index].free;
        continue;
      }
      bool parameter = isParameter(cast<BlockArgument>(operand).getArgNumber());
      (parameter ? cone.parameters : cone.others) = true;
    }
    bool constant = !cone.parameters && !cone.others;
    cone.size += constant ? 0 : 1;
    entry.free = constant || (fromFree && entry.work.isCheap() &&
                              cone.parameters != cone.others &&
                              cone.size <= kLongestFreeChain);
  }
}

} // namespace stagewright::pipeline
