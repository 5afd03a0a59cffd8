//===- StepPass.td - passes that need the results of others ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_STEP_PASS_TD
#define STAGEWRIGHT_PIPELINE_STEP_PASS_TD

include "mlir/Pass/PassBase.td"

/// A pass over modules that runs the passes before it where their results are missing (EnsureGraph.h).
class StepPass<string flag> : PassBase<flag, "::stagewright::pipeline::StepPass">;

#endif // STAGEWRIGHT_PIPELINE_STEP_PASS_TD
