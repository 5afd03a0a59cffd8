//===- LinkedClasses.cpp - all linkage classes of a step ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkedClasses.h"
#include "Hints.h"
#include "stagewright/Analysis/Linkage.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::pipeline {

std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    if (StringRef last = name.getName().getValue().rsplit('/').second;
        !last.empty())
      text += " (" + last.str() + ")";
  std::string scope = llvm::join(scopeOf(op->getLoc()), "/");
  return text + (scope.empty() ? "" : " in " + withoutNumbers(scope));
}

/// Whether `argument` of `step` is one that classes list: a parameter or a
/// batch.
static bool isListed(func::FuncOp step, unsigned argument) {
  std::optional<Role> role = argumentRole(step, argument);
  return role == Role::Parameter || role == Role::Batch;
}

/// A text that is the same for equal classes of equal layers.
static std::string signatureOf(func::FuncOp step, const StepGraph &graph,
                               const LinkedClasses &own) {
  std::vector<std::string> parts;
  for (auto [argument, layout] : own.members) {
    auto name =
        step.getArgAttrOfType<StringAttr>(argument, PipelineDialect::kName);
    parts.push_back((name ? withoutNumbers(name.getValue())
                          : "%" + std::to_string(argument)) +
                    "=" + std::to_string(layout.dim) + ":" +
                    std::to_string(layout.outer));
  }
  llvm::sort(parts);
  if (parts.empty() && !own.ops.empty())
    parts.push_back(describe(graph.ops[*own.ops.begin()].op));
  return std::to_string(own.size) + " " + llvm::join(parts, ",");
}

std::vector<LinkedClasses> linkedClassesOf(func::FuncOp step,
                                           const StepGraph &graph) {
  Linkage linkage(step);
  llvm::MapVector<unsigned, LinkedClasses> classes;
  auto classOf = [&](LinkedFactor factor) -> LinkedClasses & {
    LinkedClasses &own = classes[factor.linked];
    own.size = factor.size;
    own.count = 1;
    return own;
  };
  for (BlockArgument argument : step.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned number = argument.getArgNumber();
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      Layout layout = Layout::split(dim, 1, type.getDimSize(dim));
      for (LinkedFactor factor : linkage.of(argument, dim)) {
        layout.unit /= factor.size;
        LinkedClasses &own = classOf(factor);
        bool isTwice =
            !own.members.empty() && own.members.back().first == number;
        if (isListed(step, number) && !isTwice)
          own.members.push_back({number, layout});
        layout.outer *= factor.size;
      }
    }
  }
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.live)
      continue;
    if (auto op = dyn_cast<linalg::LinalgOp>(entry.op))
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        for (LinkedFactor factor : linkage.of(op, loop))
          classOf(factor).ops.insert(unsigned(number));
    for (Value result : entry.op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
        for (LinkedFactor factor : linkage.of(result, dim)) {
          LinkedClasses &own = classOf(factor);
          own.ops.insert(unsigned(number));
          ++own.values;
        }
    }
  }
  std::vector<LinkedClasses> kinds;
  llvm::StringMap<size_t> known;
  for (auto &[linked, own] : classes) {
    auto [entry, isNew] =
        known.try_emplace(signatureOf(step, graph, own), kinds.size());
    if (isNew) {
      kinds.push_back(std::move(own));
      continue;
    }
    LinkedClasses &kind = kinds[entry->second];
    ++kind.count;
    kind.values += own.values;
    kind.members.append(own.members);
    kind.ops.insert(own.ops.begin(), own.ops.end());
  }
  return kinds;
}

} // namespace stagewright::pipeline
