//===- Pipeline.h - the pipeline dialect in C++ -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes and enums of dialects/Pipeline. The TableGen files
// describe them and their constraints.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_PIPELINE_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_PIPELINE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "stagewright/Dialect/Actions.h"
#include "stagewright/Dialect/LLVM.h"
#include "stagewright/Dialect/Pipeline/IR/PipelineDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "stagewright/Dialect/Pipeline/IR/PipelineAttributes.h.inc"

#define GET_OP_CLASSES
#include "stagewright/Dialect/Pipeline/IR/PipelineOps.h.inc"

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_PIPELINE_H
