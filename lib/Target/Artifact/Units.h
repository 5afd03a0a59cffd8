//===- Units.h - functions as separate modules ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code is generated function by function, so that an unchanged function is not
// compiled again when other functions change. This prevents optimisations
// across functions, but costs nothing: kernels are not inlined anyway, and
// calls by pointer or through the runtime's table cannot be.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H
#define STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace stagewright {

/// One function, or the rest: the data and the calls of the runtime.
struct Unit {
  /// The function's name in the artifact; empty for the rest. In the bitcode it
  /// is `kUnitName`, so that the compiled code does not depend on the
  /// function's position.
  std::string name;
  llvm::SmallString<0> bitcode;
  /// A rank program: a long sequence of calls, each run once. It is compiled
  /// with few optimisations, to save compile time.
  bool isProgram = false;
};

inline constexpr llvm::StringLiteral kUnitName = "stagewright.unit";

/// Splits `module` into units, callees first and the rest last. Equal modules
/// give equal units. Functions that only differ in numbers in their names
/// become one.
std::vector<Unit> splitUnits(std::unique_ptr<llvm::Module> module);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_UNITS_H
