//===- Roles.h - roles of arguments and results of a step -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes `pipeline.role` and `pipeline.combine`, which are strings in
// the IR (dialects/Pipeline/Rationale.md) and enums here. Functions are the
// step, a pipeline.graph, a rank.step and @update.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_ROLES_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_ROLES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "stagewright/Dialect/LLVM.h"

#include "stagewright/Dialect/Pipeline/IR/Roles.h.inc"

namespace stagewright::pipeline {

/// The role among the attributes of an argument or result; nothing if it has
/// none. `facts` may be null.
std::optional<Role> roleIn(DictionaryAttr facts);
/// The role of argument or result `number` of `function`.
///@{
std::optional<Role> argumentRole(FunctionOpInterface function, unsigned number);
std::optional<Role> resultRole(FunctionOpInterface function, unsigned number);
///@}
/// How result `number` of `function` is stated to be combined over
/// microbatches.
std::optional<Combine> combineOf(FunctionOpInterface function, unsigned number);

/// The attributes that state a role or a combination.
///@{
NamedAttribute attributeOf(MLIRContext *context, Role role);
NamedAttribute attributeOf(MLIRContext *context, Combine combine);
///@}

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_ROLES_H
