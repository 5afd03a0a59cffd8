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
#include "llvm/Support/GlobPattern.h"

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

/// A glob that matches `name` only, or with `anyNumber` also names with other
/// numbers in its place.
static std::string globOf(StringRef name, bool anyNumber) {
  std::string glob;
  for (char c : name)
    if (!anyNumber || !llvm::isDigit(c))
      glob += StringRef("[]{}?*\\").contains(c) ? std::string{'\\', c}
                                                : std::string{c};
    else if (!StringRef(glob).ends_with("*"))
      glob += '*';
  return glob;
}

std::string writeHints(func::FuncOp step, ArrayRef<Layout> layouts,
                       ArrayRef<Layout> batches) {
  auto nameOf = [&](unsigned i) {
    auto name = step.getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
    return name ? name.getValue() : StringRef();
  };
  SmallVector<unsigned> parameters;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (argumentRole(step, i) == Role::Parameter)
      parameters.push_back(i);
  // By glob: whether all parameters that it matches have one layout.
  llvm::StringMap<bool> areEqual;
  auto hasOneLayout = [&](StringRef text, const Layout &layout) {
    auto [entry, isNew] = areEqual.try_emplace(text);
    if (isNew) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
      if (!glob) {
        llvm::consumeError(glob.takeError());
        return false;
      }
      entry->second = llvm::all_of(parameters, [&](unsigned i) {
        return !glob->match(nameOf(i)) || layouts[i] == layout;
      });
    }
    return entry->second;
  };
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
  for (unsigned i : parameters) {
    if (!layouts[i].isSplit())
      continue;
    std::string glob = globOf(nameOf(i), /*anyNumber=*/true);
    if (!hasOneLayout(glob, layouts[i]))
      write(globOf(nameOf(i), /*anyNumber=*/false), layouts[i]);
    else if (written.insert(glob).second)
      write(glob, layouts[i]);
  }
  for (auto [i, layout] : llvm::enumerate(batches))
    write(nameOf(unsigned(i)), layout);
  return text;
}

} // namespace stagewright::pipeline
