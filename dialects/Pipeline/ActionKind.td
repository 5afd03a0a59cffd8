//===- ActionKind.td - what an action computes ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ACTION_KIND_TD
#define STAGEWRIGHT_ACTION_KIND_TD

include "mlir/IR/AttrTypeBase.td"

/// A letter of schedules: the enum of `stagewright/Scheduling/Schedule.h`, for phases of nodes and for actions of ranks.
class Stagewright_ActionKindAttr<Dialect dialect, string name, string mnemonic_> : AttrDef<dialect, name> {
  let description = [{
    F is the forward, I the gradient of the input, for which an earlier stage waits, W the gradient of the weights, for
    which none waits, B the whole backward (I and W in one), R the forward once more, whose values the backward reads
    instead of kept ones, and U the update that ends a step.
  }];
  let mnemonic = mnemonic_;
  let parameters = (ins AttrParameter<"::stagewright::ActionKind", "F, B, I, W, R or U">:$value);
  let assemblyFormat = "$value";
  let returnType = "::stagewright::ActionKind";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = cppNamespace # "::" # cppClassName # "::get($_builder.getContext(), $0)";
}

#endif // STAGEWRIGHT_ACTION_KIND_TD
