//===- Annotated.cpp - shards of annotated layers -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Annotated.h"

namespace stagewright::pipeline {

FailureOr<std::vector<OpenParameters>>
openParameters(const StepGraph &graph, const StepAnnotations &annotations,
               int64_t ways, const HintedLayouts &hinted) {
  std::vector<OpenParameters> open;
  if (!annotations.any()) {
    open.push_back({nullptr, hinted.open});
    return open;
  }
  FunctionOpInterface step = graph.step;
  for (const Annotation &each : annotations.list)
    if (each.count != ways)
      return emitError(step.getLoc())
             << each.text() << " is for " << each.count
             << " devices, but layers are split over " << ways
             << "; give all annotations the same number, and omit "
             << "--tensor-parallel or set it to that number";
  std::vector<int> ofArgument = annotationsOfParameters(graph, annotations);
  for (const Annotation &each : annotations.list)
    if (each.splits)
      open.push_back({&each, {}});
  open.push_back({});
  for (unsigned i = 0; i < ofArgument.size(); ++i) {
    if (!graph.isParameter(i) || hinted.isStated[i])
      continue;
    if (ofArgument[i] < 0) {
      open.back().arguments.push_back(i);
      continue;
    }
    const Annotation *own = &annotations.list[size_t(ofArgument[i])];
    for (OpenParameters &group : open)
      if (group.annotation == own)
        group.arguments.push_back(i);
  }
  return open;
}

FailureOr<SmallVector<Layout>> sharedBatches(func::FuncOp step,
                                             const StepAnnotations &annotations,
                                             int64_t ways) {
  SmallVector<Layout> layouts;
  auto replicated = llvm::find_if(
      annotations.list, [](const Annotation &each) { return !each.splits; });
  if (replicated == annotations.list.end())
    return layouts;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    layouts.emplace_back();
    auto dim =
        step.getArgAttrOfType<IntegerAttr>(i, PipelineDialect::kBatchDim);
    auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[i]);
    if (!dim || !type)
      continue;
    layouts.back() = Layout::split(dim.getInt());
    auto name = step.getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
    if (!fitsEvenly(type, layouts.back(), ways))
      return emitError(step.getLoc())
             << replicated->text() << " shares the samples of a microbatch "
             << "equally among " << ways << " devices, but '"
             << (name ? name.getValue() : StringRef("an argument")) << "' has "
             << type.getDimSize(dim.getInt())
             << "; give microbatches of a multiple of " << ways << " samples";
  }
  return layouts;
}

} // namespace stagewright::pipeline
