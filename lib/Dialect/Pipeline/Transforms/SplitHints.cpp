//===- SplitHints.cpp - hints about values of a step ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitHints.h"
#include "stagewright/Analysis/Linkage.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include <map>

namespace stagewright::pipeline {
namespace {

struct SplitHint {
  Value value;
  int64_t dim = 0;
  int64_t axis = -1; ///< Of a grid; -1: the only one.
  Location loc;
};

} // namespace

/// The entry of `attribute` for `axis` of a grid, or for axis -1 its number.
static int64_t entryOf(Attribute attribute, int64_t axis, int64_t otherwise) {
  auto number = llvm::dyn_cast_or_null<IntegerAttr>(attribute);
  auto list = llvm::dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (axis < 0)
    return number ? number.getInt() : otherwise;
  return list && axis < list.size() ? list[axis] : otherwise;
}

std::optional<OwnSplit> ownSplit(func::FuncOp step, unsigned argument,
                                 int64_t axis) {
  auto entry = [&](StringRef name, int64_t otherwise) {
    return entryOf(step.getArgAttr(argument, name), axis, otherwise);
  };
  int64_t dim = entry(PipelineDialect::kSplitDim, -1);
  if (dim < 0)
    return std::nullopt;
  bool isDerived = axis < 0 ? bool(step.getArgAttr(argument, kSplitDerived))
                            : entry(kSplitDerived, 0) != 0;
  return OwnSplit{Layout::split(dim, entry(PipelineDialect::kSplitOuter, 1),
                                entry(kSplitUnit, 1)),
                  isDerived};
}

bool isSplitOverGrid(func::FuncOp step, unsigned argument) {
  return llvm::isa_and_nonnull<DenseI64ArrayAttr>(
      step.getArgAttr(argument, PipelineDialect::kSplitDim));
}

void eraseOwnSplit(NamedAttrList &attributes) {
  for (StringRef name : {PipelineDialect::kSplitDim, kSplitDerived,
                         PipelineDialect::kSplitOuter, kSplitUnit})
    attributes.erase(name);
}

/// Removes the hints from `step` and returns them.
static SmallVector<SplitHint> takeHints(func::FuncOp step) {
  SmallVector<SplitHintOp> ops;
  step.walk([&](SplitHintOp op) { ops.push_back(op); });
  SmallVector<SplitHint> hints;
  for (SplitHintOp op : ops) {
    hints.push_back({op.getValue(), int64_t(op.getDim()),
                     op.getAxis() ? int64_t(*op.getAxis()) : -1, op.getLoc()});
    op.replaceAllUsesWith(op.getValue());
    op.erase();
  }
  return hints;
}

/// Writes to parameter `argument` that it is split as by `layout` over `axis`,
/// unless the model's file states its split.
static void writeSplit(func::FuncOp step, unsigned argument, int64_t axis,
                       Layout layout) {
  bool isStated = bool(step.getArgAttr(argument, PipelineDialect::kSplitDim));
  if (ownSplit(step, argument, axis) ||
      (isStated && isSplitOverGrid(step, argument) != (axis >= 0)))
    return;
  Builder builder(step.getContext());
  auto write = [&](StringRef name, int64_t otherwise, int64_t value) {
    SmallVector<int64_t> list;
    for (int64_t i = 0; i < PipelineDialect::kGridAxes; ++i)
      list.push_back(
          i == axis ? value
                    : entryOf(step.getArgAttr(argument, name), i, otherwise));
    if (axis < 0 && value != otherwise)
      step.setArgAttr(argument, name, builder.getI64IntegerAttr(value));
    else if (axis >= 0 &&
             llvm::any_of(list, [&](int64_t it) { return it != otherwise; }))
      step.setArgAttr(argument, name, builder.getDenseI64ArrayAttr(list));
  };
  write(PipelineDialect::kSplitDim, -1, layout.dim);
  write(PipelineDialect::kSplitOuter, 1, layout.outer);
  write(kSplitUnit, 1, layout.unit);
  if (axis < 0)
    step.setArgAttr(argument, kSplitDerived, builder.getUnitAttr());
  else
    write(kSplitDerived, 0, 1);
}

void readSplitHints(func::FuncOp step) {
  SmallVector<SplitHint> hints = takeHints(step);
  if (hints.empty())
    return;
  Linkage linkage(step);
  // The class of a hint is that of the outermost factor of its dimension: for
  // heads times their width, that of the heads.
  using LinkedAxis = std::pair<unsigned, int64_t>; // A class, and an axis.
  std::map<LinkedAxis, bool> found; // Whether a parameter has the class.
  auto classOf = [&](const SplitHint &hint) -> std::optional<LinkedAxis> {
    Linkage::Factors factors = linkage.of(hint.value, hint.dim);
    if (factors.empty())
      return std::nullopt;
    return LinkedAxis(factors.front().linked, hint.axis);
  };
  for (const SplitHint &hint : hints)
    if (std::optional<LinkedAxis> linked = classOf(hint))
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
        for (int64_t axis = -1; axis < PipelineDialect::kGridAxes; ++axis)
          if (auto entry = found.find({factor.linked, axis});
              entry != found.end()) {
            entry->second = true;
            writeSplit(step, i, axis, layout);
          }
        layout.outer *= factor.size;
      }
    }
  }
  auto hasNoEffect = [&](const SplitHint &hint) {
    std::optional<LinkedAxis> linked = classOf(hint);
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
