//===- Commands.h - commands of a recorded program --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that passes over a recorded program, such as FirstSums and Means,
// share.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMANDS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMANDS_H

#include "Artifact/Manifest.h"
#include "Extents.h"

namespace stagewright::runtime::cuda {

/// The memory of the device that `command` reads or writes, unless
/// mayTouchAny(). Operands of unknown length count as one byte. Slots count
/// when they are claimed or acquired, not when they are given back, sent or
/// released.
std::vector<Extent> usesOf(const RankProgram &program,
                           const std::vector<Kernel> &kernels,
                           const Command &command);

/// Removes the commands for which `removed` is set.
void removeCommands(RankProgram &program, const std::vector<bool> &removed);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMANDS_H
