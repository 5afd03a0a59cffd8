//===- DescribeStash.cpp - describe what is kept and repeated -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/Stash.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/ADT/MapVector.h"

namespace stagewright::pipeline {

/// `exp`, `contraction`, `reduction by addf`: a linalg.generic is named after
/// its last scalar operation, since frameworks write one per generic.
static std::string nameOf(Operation *op) {
  if (isContraction(op) && !Attention::get(op))
    return "contraction";
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return op->getName().stripDialect().str();
  Operation *last = nullptr;
  for (Operation &scalar : linalgOp.getBlock()->without_terminator())
    last = &scalar;
  if (!last)
    return "copy";
  std::string name = last->getName().stripDialect().str();
  return linalgOp.getNumReductionLoops() ? "reduction by " + name : name;
}

/// `4x128x256xf32`.
static std::string shapeOf(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor)
    for (int64_t extent : tensor.getShape())
      stream << extent << "x";
  stream << (tensor ? tensor.getElementType() : type);
  return text;
}

/// The texts as strings. Equal texts become one string, which begins with their
/// number.
static ArrayAttr toAttribute(MLIRContext *context,
                             ArrayRef<std::string> texts) {
  llvm::MapVector<StringRef, int> counts;
  for (const std::string &text : texts)
    ++counts[text];
  SmallVector<Attribute> strings;
  for (auto [text, count] : counts)
    strings.push_back(StringAttr::get(
        context,
        count == 1 ? text.str() : std::to_string(count) + " " + text.str()));
  return ArrayAttr::get(context, strings);
}

ArrayAttr describeStash(const StepGraph &graph, const Layers &layers,
                        const Stash &stash) {
  FunctionOpInterface step = graph.step;
  Builder builder(step.getContext());
  SmallVector<Attribute> entries;
  for (auto [name, layer] : llvm::zip_equal(layers.names, stash.layers)) {
    SmallVector<std::string> keeps, repeats;
    for (mlir::Value value : layer.kept)
      keeps.push_back(nameOf(value.getDefiningOp()) + " " +
                      shapeOf(value.getType()));
    for (unsigned number : layer.repeated) {
      Operation *op = graph.ops[number].op;
      // Views and copies cost too little for a line.
      if (graph.ops[number].work.kind != WorkKind::Move)
        repeats.push_back(nameOf(op) + " " +
                          shapeOf(op->getResult(0).getType()));
    }
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("layer", builder.getStringAttr(name)),
         builder.getNamedAttr("kept",
                              builder.getI64IntegerAttr(layer.keptBytes)),
         builder.getNamedAttr("read",
                              builder.getI64IntegerAttr(layer.readBytes)),
         builder.getNamedAttr("keeps",
                              toAttribute(builder.getContext(), keeps)),
         builder.getNamedAttr("repeats",
                              toAttribute(builder.getContext(), repeats))}));
  }
  return builder.getArrayAttr(entries);
}

} // namespace stagewright::pipeline
