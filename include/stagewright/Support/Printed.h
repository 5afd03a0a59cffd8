//===- Printed.h - numbers as text, in a format -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_PRINTED_H
#define STAGEWRIGHT_SUPPORT_PRINTED_H

#include <string>

namespace stagewright {

/// What printf writes, up to 127 characters.
[[gnu::format(printf, 1, 2)]] std::string printed(const char *format, ...);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_PRINTED_H
