//===- Infinity.h - infinity, as a double -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_INFINITY_H
#define STAGEWRIGHT_SUPPORT_INFINITY_H

#include <limits>

namespace stagewright {

/// More than any time, load or cost. Stands for that of something impossible or
/// not known yet.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_INFINITY_H
