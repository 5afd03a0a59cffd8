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
#include <set>

namespace stagewright::pipeline {

/// For each operation of `graph`: the numbers of the arguments that are
/// parameters of which it is the first reader in the forward. Reads of slices
/// do not count. Empty for operations that are not of the forward.
std::vector<std::set<int>> parametersReadFirst(const StepGraph &graph);

/// For each operation of `graph`: the common path of the modules that contain
/// the parameters which it is the first to read; empty if there are none or
/// their modules have no common path. Components refer to the names of the
/// step's arguments, which must outlive them.
std::vector<ScopePath> pathsOfParameters(const StepGraph &graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_PARAMETERPATHS_H
