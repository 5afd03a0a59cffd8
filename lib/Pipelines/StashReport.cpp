//===- StashReport.cpp - what is kept for the backward, for people --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Support/Units.h"

using namespace mlir;

namespace stagewright {

static std::string bytesOf(DictionaryAttr layer, StringRef field) {
  return toString(Bytes(layer.getAs<IntegerAttr>(field).getInt()));
}

static std::string listOf(DictionaryAttr layer, StringRef field) {
  std::string text;
  for (Attribute item : layer.getAs<ArrayAttr>(field))
    text += (text.empty() ? "" : ", ") + cast<StringAttr>(item).str();
  return text.empty() ? "nothing" : text;
}

/// All but the name.
static std::string describe(DictionaryAttr layer) {
  return "keeps " + bytesOf(layer, "kept") + " of " + bytesOf(layer, "read") +
         " that its backward reads\n  keeps   " + listOf(layer, "keeps") +
         "\n  repeats " + listOf(layer, "repeats") + "\n";
}

void describeStash(ModuleOp module, CompileReport *report) {
  if (!report)
    return;
  for (auto graph : module.getOps<pipeline::GraphOp>()) {
    auto layers =
        graph->getAttrOfType<ArrayAttr>(pipeline::PipelineDialect::kStash);
    if (!layers)
      continue;
    auto dictionaries = layers.getAsRange<DictionaryAttr>();
    SmallVector<DictionaryAttr> all(dictionaries.begin(), dictionaries.end());
    report->stash += "stash of a microbatch, by layer\n";
    for (size_t first = 0; first < all.size();) {
      std::string text = describe(all[first]);
      size_t end = first + 1;
      while (end < all.size() && describe(all[end]) == text)
        ++end;
      report->stash += all[first].getAs<StringAttr>("layer").str();
      if (end > first + 1)
        report->stash += " .. " + all[end - 1].getAs<StringAttr>("layer").str();
      report->stash += ": " + text;
      first = end;
    }
  }
}

} // namespace stagewright
