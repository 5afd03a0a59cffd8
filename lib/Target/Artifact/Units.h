//===- Units.h - functions as modules of their own --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code is generated function by function, so that a function that was compiled
// before need not be compiled again, whatever stands beside it now. It is no
// place for optimisations across functions: kernels are not inlined anyway, and
// what is called by pointer or through the runtime's table cannot be.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H
#define STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace stagewright {

/// One function, or the data and the calls of the runtime that remain.
struct Unit {
  /// The function's name in the artifact, empty for what remains. In the
  /// bitcode it is `kUnitName`: where a function stood is not part of what is
  /// compiled.
  std::string name;
  llvm::SmallString<0> bitcode;
  /// A rank program: calls in long rows, run once each. It is compiled fast,
  /// not well.
  bool isProgram = false;
};

inline constexpr llvm::StringLiteral kUnitName = "stagewright.unit";

/// Takes `module` apart, callees first and what remains last. The units of
/// equal modules are equal, and two functions that are equal but for numbers in
/// their names become one.
std::vector<Unit> splitUnits(std::unique_ptr<llvm::Module> module);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H
