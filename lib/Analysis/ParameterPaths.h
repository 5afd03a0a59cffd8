//===- ParameterPaths.h - scopes from the names of parameters ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_PARAMETERPATHS_H
#define STAGEWRIGHT_LIB_ANALYSIS_PARAMETERPATHS_H

#include "stagewright/Analysis/Scope.h"
#include "stagewright/Analysis/StepGraph.h"

namespace stagewright::pipeline {

/// For each operation of `graph` the path of the modules that hold the
/// parameters which it is the first to read; empty for others, and where
/// several modules have none in common. The parts of paths live as long as the
/// names of the step's arguments.
std::vector<ScopePath> pathsOfParameters(const StepGraph &graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_PARAMETERPATHS_H
