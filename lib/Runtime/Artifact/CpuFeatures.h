//===- CpuFeatures.h - instruction sets of this processor -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests whether this processor has the features that an artifact's manifest
// names (as LLVM does), before any code of the artifact is mapped.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_CPUFEATURES_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_CPUFEATURES_H

#include <string>
#include <vector>

namespace stagewright::runtime {

/// Whether this processor is known to have all `features`.
bool hasCpuFeatures(const std::vector<std::string> &features);

/// Throws an `Error` that lists every feature this processor lacks. A feature
/// that cannot be checked here counts as lacking.
void requireCpuFeatures(const std::vector<std::string> &features);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_CPUFEATURES_H
