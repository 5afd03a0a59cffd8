//===- Roles.cpp - roles of arguments and results of a step ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

#include "stagewright/Dialect/Pipeline/IR/Roles.cpp.inc"

namespace stagewright::pipeline {

std::optional<Role> roleIn(DictionaryAttr facts) {
  auto word =
      facts ? facts.getAs<StringAttr>(PipelineDialect::kRole) : StringAttr();
  return word ? symbolizeRole(word.getValue()) : std::nullopt;
}

std::optional<Role> argumentRole(FunctionOpInterface function,
                                 unsigned number) {
  return roleIn(function.getArgAttrDict(number));
}

std::optional<Role> resultRole(FunctionOpInterface function, unsigned number) {
  return roleIn(function.getResultAttrDict(number));
}

std::optional<Combine> combineOf(FunctionOpInterface function,
                                 unsigned number) {
  auto word = function.getResultAttrOfType<StringAttr>(
      number, PipelineDialect::kCombine);
  return word ? symbolizeCombine(word.getValue()) : std::nullopt;
}

NamedAttribute attributeOf(MLIRContext *context, Role role) {
  return Builder(context).getNamedAttr(
      PipelineDialect::kRole, StringAttr::get(context, stringifyRole(role)));
}

NamedAttribute attributeOf(MLIRContext *context, Combine combine) {
  return Builder(context).getNamedAttr(
      PipelineDialect::kCombine,
      StringAttr::get(context, stringifyCombine(combine)));
}

} // namespace stagewright::pipeline
