//===- SplitClasses.cpp - what splitting a class costs --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitClasses.h"
#include "Sharder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Cost/Roofline.h"

namespace stagewright::pipeline {

SplitClasses::SplitClasses(const StepGraph &graph, int64_t ways,
                           const ShardRates &rates, ArrayRef<unsigned> open,
                           ArrayRef<Layout> layouts)
    : step(cast<func::FuncOp>(FunctionOpInterface(graph.step))), ways(ways),
      rates(rates), linkage(step) {
  for (unsigned i = 0; i < layouts.size(); ++i)
    if (graph.isParameter(i))
      addParameter(i, llvm::is_contained(open, i), layouts[i]);
  for (Value argument : step.getArguments())
    exclude(usesOf(argument));
  for (const StepOp &entry : graph.ops)
    if (entry.live)
      addOperation(*entry.op);
  // Results that are not gradients must be whole.
  for (auto [i, value] : llvm::enumerate(graph.returned())) {
    addUp(value);
    if (!graph.isGradient(unsigned(i)))
      for (const Use &use : usesOf(value))
        joins(value, use.number);
  }
}

//===----------------------------------------------------------------------===//
// Uses of classes
//===----------------------------------------------------------------------===//

void SplitClasses::addParameter(unsigned argument, bool isOpen, Layout layout) {
  Value value = step.getArgument(argument);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // Read in the forward and the backward, and its gradient written.
  double moved =
      3 * double(bytesOf(value.getType())) / rates.device.bandwidth.value;
  seconds += moved;
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    Linkage::Factors factors = linkage.of(value, dim);
    for (auto [factor, split] :
         llvm::zip_equal(factors, splitsOf(factors, dim))) {
      bool isGiven = !isOpen && layout == split;
      if (factor.size < ways || !(isOpen || isGiven))
        continue;
      auto [entry, isNew] =
          numbers.try_emplace(factor.linked, unsigned(classes.size()));
      if (isNew)
        classes.emplace_back();
      SplitClass &own = classes[entry->second];
      own.share =
          double(llvm::divideCeil(factor.size, ways)) / double(factor.size);
      own.least = double(factor.size / ways) / double(factor.size);
      own.isGiven |= isGiven;
      // A parameter is split along one dimension.
      bool isTwice =
          !own.parameters.empty() && own.parameters.back().first == argument;
      if (isOpen && isTwice)
        continue;
      own.saved += moved * (1 - own.share);
      if (isGiven)
        continue;
      own.parameters.push_back({argument, split});
      own.parameterBytes += double(bytesOf(type));
    }
  }
}

SmallVector<Layout> SplitClasses::splitsOf(const Linkage::Factors &factors,
                                           int64_t dim) const {
  SmallVector<Layout> splits;
  int64_t outer = 1;
  for (LinkedFactor factor : factors) {
    splits.push_back(Layout::split(dim, outer));
    outer *= factor.size;
  }
  for (auto [factor, split] : llvm::zip_equal(factors, splits))
    if (factor.size % ways != 0)
      split.unit = outer / (split.outer * factor.size);
  return splits;
}

void SplitClasses::addUses(const Linkage::Factors &factors, unsigned place,
                           SmallVector<Use> &uses) const {
  for (auto [factor, split] :
       llvm::zip_equal(factors, splitsOf(factors, place)))
    if (auto found = numbers.find(factor.linked); found != numbers.end())
      uses.push_back({found->second, place, split});
}

SmallVector<SplitClasses::Use> SplitClasses::usesOf(Value value) const {
  SmallVector<Use> uses;
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      addUses(linkage.of(value, dim), unsigned(dim), uses);
  return uses;
}

SmallVector<SplitClasses::Use> SplitClasses::usesOf(linalg::LinalgOp op) const {
  SmallVector<Use> uses;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    addUses(linkage.of(op, loop), loop, uses);
  return uses;
}

void SplitClasses::exclude(ArrayRef<Use> uses) {
  for (const Use &one : uses)
    for (const Use &other : uses)
      if (one.number != other.number)
        classes[one.number].excludes.insert(other.number);
}

//===----------------------------------------------------------------------===//
// Savings and costs
//===----------------------------------------------------------------------===//

void SplitClasses::receives(Value value, unsigned number, double share) {
  classes[number].spent +=
      double(bytesOf(value.getType())) * share / rates.bandwidth +
      rates.latency;
}

void SplitClasses::joins(Value value, unsigned number) {
  receives(value, number, 1 - classes[number].least);
}

void SplitClasses::addUp(Value value, ArrayRef<unsigned> left) {
  auto found = partials.find(value);
  if (found == partials.end())
    return;
  SmallVector<unsigned, 2> kept;
  for (unsigned number : found->second) {
    if (llvm::is_contained(left, number)) {
      kept.push_back(number);
      continue;
    }
    // As in a ring: a scatter, then a join, of rows in equal parts.
    for (int i = 0; i < 2; ++i)
      receives(value, number, double(ways - 1) / double(ways));
  }
  found->second = kept;
}

void SplitClasses::settlePartials(Operation &op) {
  SmallVector<unsigned, 2> left;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  bool keeps = structured ? keepsPartial(structured)
                          : isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                                tensor::ExtractSliceOp>(op);
  if (keeps) {
    // The classes by which all inputs are partial.
    left = partials.lookup(op.getOperand(0));
    if (structured && structured.getNumDpsInputs() == 2) {
      auto other = partials.lookup(op.getOperand(1));
      llvm::erase_if(left, [&](unsigned number) {
        return !llvm::is_contained(other, number);
      });
    }
  }
  for (Value value : readsOf(op))
    addUp(value, left);
  if (!left.empty())
    partials[op.getResult(0)] = left;
}

void SplitClasses::addOperation(Operation &op) {
  NodeWork work;
  FlopCount count = counter.countOperation(&op);
  work.flops = Flops(count.total);
  work.contractions = count.contractions;
  double own = rooflineSeconds(work, rates.device).value;
  seconds += own;
  settlePartials(op);
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured && !structured.hasDynamicShape())
    return addStructured(structured, own);
  llvm::SmallDenseSet<unsigned, 4> handedOn;
  if (isShapeOp(op))
    for (const Use &use : usesOf(op.getResult(0)))
      handedOn.insert(use.number);
  for (Value value : readsOf(op)) {
    SmallVector<Use> uses = usesOf(value);
    exclude(uses);
    for (const Use &use : uses)
      if (!handedOn.contains(use.number))
        joins(value, use.number);
  }
}

void SplitClasses::addStructured(linalg::LinalgOp op, double own) {
  SmallVector<Use> uses = usesOf(op);
  exclude(uses);
  // The classes that can split `op`.
  llvm::SmallDenseSet<unsigned, 4> split;
  for (const Use &use : uses) {
    bool isAlone = llvm::count_if(uses, [&](const Use &other) {
                     return other.number == use.number;
                   }) == 1;
    SplitLoop loop{use.place, use.split.outer, use.split.unit};
    auto results = isAlone ? resultsOf(op, loop, ways) : std::nullopt;
    if (!results)
      continue;
    split.insert(use.number);
    classes[use.number].saved += own * (1 - classes[use.number].share);
    for (auto [result, layout] : llvm::zip_equal(op->getResults(), *results))
      if (!layout.isSplit())
        partials[result].push_back(use.number);
  }
  Value table = lookedUpTable(op);
  for (Value value : readsOf(*op)) {
    bool isOperand = llvm::is_contained(op->getOperands(), value);
    for (const Use &use : usesOf(value)) {
      bool isIndexed = isOperand || loopReading(op, value, use.place);
      if (isIndexed && split.contains(use.number))
        continue;
      if (value == table && use.split.outer == 1)
        partials[op->getResult(0)].push_back(use.number);
      else
        joins(value, use.number);
    }
  }
}

} // namespace stagewright::pipeline
