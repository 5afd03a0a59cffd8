//===- WriteHints.cpp - layouts of parameters as hints --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hints.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {

std::string withoutNumbers(StringRef name) {
  std::string glob;
  for (char c : name)
    if (!llvm::isDigit(c))
      glob += c;
    else if (!StringRef(glob).ends_with("*"))
      glob += '*';
  return glob;
}

std::string writeHints(func::FuncOp step, ArrayRef<Layout> layouts,
                       ArrayRef<Layout> batches) {
  // By glob: the layout of all its parameters; nothing if they differ.
  llvm::StringMap<std::optional<Layout>> byGlob;
  auto nameOf = [&](unsigned i) {
    auto name = step.getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
    return name ? name.getValue() : StringRef();
  };
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (argumentRole(step, i) != Role::Parameter)
      continue;
    auto [entry, isNew] =
        byGlob.try_emplace(withoutNumbers(nameOf(i)), layouts[i]);
    if (!isNew && entry->second != layouts[i])
      entry->second = std::nullopt;
  }
  std::string text;
  auto write = [&](StringRef names, Layout layout) {
    if (!layout.isSplit())
      return;
    text += (text.empty() ? "" : ",") + names.str() + "=" +
            std::to_string(layout.dim);
    if (layout.outer != 1 || layout.unit != 1)
      text += ":" + std::to_string(layout.outer);
    if (layout.unit != 1)
      text += ":" + std::to_string(layout.unit);
  };
  llvm::StringSet<> written;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (argumentRole(step, i) != Role::Parameter)
      continue;
    std::string glob = withoutNumbers(nameOf(i));
    if (!byGlob[glob])
      write(nameOf(i), layouts[i]);
    else if (written.insert(glob).second)
      write(glob, layouts[i]);
  }
  for (auto [i, layout] : llvm::enumerate(batches))
    write(nameOf(unsigned(i)), layout);
  return text;
}

} // namespace stagewright::pipeline
