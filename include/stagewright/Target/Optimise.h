//===- Optimise.h - LLVM optimisation of one module -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_OPTIMISE_H
#define STAGEWRIGHT_TARGET_OPTIMISE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace stagewright {

/// Runs LLVM's O3 pipeline for `machine`. `packs` enables SLP vectorisation,
/// which has no use on GPUs, where threads are the vector lanes.
void optimise(llvm::Module &module, llvm::TargetMachine &machine, bool packs);

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_OPTIMISE_H
