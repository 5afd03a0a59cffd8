//===- SplitHints.cpp - hints about values of a step ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitHints.h"
#include "Shard/Layout.h"
#include "stagewright/Analysis/Linkage.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"

namespace stagewright::pipeline {
namespace {

struct SplitHint {
  Value value;
  int64_t dim = 0;
  Location loc;
};

} // namespace

/// Removes the hints from `step` and returns them.
static SmallVector<SplitHint> takeHints(func::FuncOp step) {
  SmallVector<SplitHintOp> ops;
  step.walk([&](SplitHintOp op) { ops.push_back(op); });
  SmallVector<SplitHint> hints;
  for (SplitHintOp op : ops) {
    hints.push_back({op.getValue(), int64_t(op.getDim()), op.getLoc()});
    op.replaceAllUsesWith(op.getValue());
    op.erase();
  }
  return hints;
}

/// Writes to parameter `argument` that it is split as by `layout`, unless the
/// model's file states its split.
static void writeSplit(func::FuncOp step, unsigned argument, Layout layout) {
  if (step.getArgAttr(argument, PipelineDialect::kSplitDim))
    return;
  Builder builder(step.getContext());
  step.setArgAttr(argument, PipelineDialect::kSplitDim,
                  builder.getI64IntegerAttr(layout.dim));
  step.setArgAttr(argument, kSplitDerived, builder.getUnitAttr());
  if (layout.outer != 1)
    step.setArgAttr(argument, PipelineDialect::kSplitOuter,
                    builder.getI64IntegerAttr(layout.outer));
  if (layout.unit != 1)
    step.setArgAttr(argument, kSplitUnit,
                    builder.getI64IntegerAttr(layout.unit));
}

void readSplitHints(func::FuncOp step) {
  SmallVector<SplitHint> hints = takeHints(step);
  if (hints.empty())
    return;
  Linkage linkage(step);
  // The class of a hint is that of the outermost factor of its dimension: for
  // heads times their width, that of the heads.
  llvm::DenseMap<unsigned, bool> found; // By class: whether a parameter has it.
  auto classOf = [&](const SplitHint &hint) -> std::optional<unsigned> {
    Linkage::Factors factors = linkage.of(hint.value, hint.dim);
    if (factors.empty())
      return std::nullopt;
    return factors.front().linked;
  };
  for (const SplitHint &hint : hints)
    if (std::optional<unsigned> linked = classOf(hint))
      found[*linked] = false;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(step.getArgumentTypes()[i]);
    if (argumentRole(step, i) != Role::Parameter)
      continue;
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      Layout layout = Layout::split(dim);
      layout.unit = type.getDimSize(dim);
      for (LinkedFactor factor : linkage.of(step.getArgument(i), dim)) {
        layout.unit /= factor.size;
        if (auto entry = found.find(factor.linked); entry != found.end()) {
          entry->second = true;
          writeSplit(step, i, layout);
        }
        layout.outer *= factor.size;
      }
    }
  }
  auto hasNoEffect = [&](const SplitHint &hint) {
    std::optional<unsigned> linked = classOf(hint);
    return !linked || !found[*linked];
  };
  auto first = llvm::find_if(hints, hasNoEffect);
  if (first == hints.end())
    return;
  auto remark = emitRemark(first->loc);
  remark << "the split of dimension " << first->dim << " of "
         << first->value.getType();
  if (int64_t others = llvm::count_if(hints, hasNoEffect) - 1)
    remark << ", and those of " << others << " other values, have no effect";
  else
    remark << " has no effect";
  remark << ": no parameter is split with it";
}

} // namespace stagewright::pipeline
