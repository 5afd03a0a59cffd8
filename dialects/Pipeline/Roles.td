//===- Roles.td - what the arguments and results of a step are ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of `pipeline.role` and `pipeline.combine`. An importer writes
// them as strings (see Rationale.md); the dialect verifies them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ROLES_TD
#define STAGEWRIGHT_ROLES_TD

include "mlir/IR/EnumAttr.td"

def Pipeline_Role : I32Enum<"Role", "what an argument or result of a step or of @update is", [
    I32EnumCase<"Parameter", 0, "parameter">, I32EnumCase<"Batch", 1, "batch">, I32EnumCase<"Constant", 2, "constant">,
    I32EnumCase<"Seed", 3, "seed">, I32EnumCase<"Microbatch", 4, "microbatch">, I32EnumCase<"Gradient", 5, "gradient">,
    I32EnumCase<"State", 6, "state">, I32EnumCase<"Loss", 7, "loss">, I32EnumCase<"Output", 8, "output">]> {
  let cppNamespace = "::stagewright::pipeline";
}

def Pipeline_Combine : I32Enum<"Combine", "how the results of microbatches are combined", [
    I32EnumCase<"Mean", 0, "mean">, I32EnumCase<"Sum", 1, "sum">, I32EnumCase<"Concat", 2, "concat">,
    I32EnumCase<"Last", 3, "last">]> {
  let cppNamespace = "::stagewright::pipeline";
}

#endif // STAGEWRIGHT_ROLES_TD
