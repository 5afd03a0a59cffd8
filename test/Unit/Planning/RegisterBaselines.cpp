//===- RegisterBaselines.cpp - published planners in all tests ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Baselines.h"

[[maybe_unused]] static const bool registered = [] {
  stagewright::registerBaselines();
  return true;
}();
