//===- Optimise.h - LLVM's optimisations of one module ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_ARTIFACT_OPTIMISE_H
#define STAGEWRIGHT_LIB_TARGET_ARTIFACT_OPTIMISE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace stagewright {

/// LLVM's pipeline of level 3 for `machine`. `packs` makes vectors of equal
/// operations side by side, which threads of a device are already.
void optimise(llvm::Module &module, llvm::TargetMachine &machine, bool packs);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_OPTIMISE_H
