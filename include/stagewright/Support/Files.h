//===- Files.h - reading and writing whole files ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// File access for tools that are not MLIR drivers. Errors name the file and the
// system's reason.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_FILES_H
#define STAGEWRIGHT_SUPPORT_FILES_H

#include "stagewright/Support/Result.h"

namespace stagewright {

/// Reads the whole file at `path`, or standard input for "-".
Result<std::string> readTextFile(const std::string &path);

/// Writes `text` to the file at `path` atomically: to a temporary file beside
/// it, which is then renamed. Writes directly to a pipe or a device; "-" is
/// standard output.
Status writeTextFile(const std::string &path, const std::string &text);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_FILES_H
