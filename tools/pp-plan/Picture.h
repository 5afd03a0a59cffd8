//===- Picture.h - the simulated step of a plan -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_PICTURE_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_PICTURE_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Simulates `plan` in its order, and writes the SVG and the trace to the files
/// with non-empty names.
Status writePictures(const Problem &problem, Plan plan, const std::string &svg,
                     const std::string &trace);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_PICTURE_H
