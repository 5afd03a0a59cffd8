//===- Dataflows.h - placing the tasks of a dataflow ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_DATAFLOWS_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_DATAFLOWS_H

#include "PlanOptions.h"

namespace stagewright {

/// Whether an input is a dataflow (Planning/Dataflow.h), by --format or its
/// content. Standard input is one only by --format. Fails if it is one of
/// several inputs, or if an option does not apply.
Result<bool> isDataflow(const PlanOptions &options);

/// Places the tasks of the only input, and writes the placement.
Status placeDataflow(const PlanOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_DATAFLOWS_H
