//===- Files.h - whole files in and out -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tools that are no MLIR drivers read and write. Errors name the file and
// the system's reason.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_FILES_H
#define STAGEWRIGHT_SUPPORT_FILES_H

#include "stagewright/Support/Result.h"

namespace stagewright {

/// The whole of the file at `path`, or of standard input for "-".
Result<std::string> readTextFile(const std::string &path);

/// Puts `text` into the file at `path`, beside its place first and then renamed
/// so that no reader sees half of it. A pipe or a device is written to; "-" is
/// standard output.
Status writeTextFile(const std::string &path, const std::string &text);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_FILES_H
