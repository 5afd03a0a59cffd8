//===- PipelineAttributes.cpp - phases, costs, plans ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stagewright::pipeline;

#include "stagewright/Dialect/Pipeline/IR/PipelineEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "stagewright/Dialect/Pipeline/IR/PipelineAttributes.cpp.inc"

LogicalResult CostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t flops, int64_t read, int64_t written,
                               DictionaryAttr seconds) {
  if (flops < 0 || read < 0 || written < 0)
    return emitError() << "costs cannot be negative, got flops " << flops
                       << ", read " << read << ", written " << written;
  if (!seconds)
    return success();
  for (NamedAttribute entry : seconds) {
    auto value = dyn_cast<FloatAttr>(entry.getValue());
    if (!value || !(value.getValueAsDouble() >= 0.0) ||
        value.getValue().isInfinity())
      return emitError() << "seconds of device class '"
                         << entry.getName().getValue()
                         << "' must be a finite number of at least 0, got "
                         << entry.getValue();
  }
  return success();
}

void PipelineDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stagewright/Dialect/Pipeline/IR/PipelineAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "stagewright/Dialect/Pipeline/IR/PipelineOps.cpp.inc"
      >();
}
