//===- Flags.h - our passes as flags of an unmodified mlir-opt --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt turns the passes it knows into flags before it loads a plugin, so
// a plugin's passes could only be named in --pass-pipeline. The flags made
// here write that option for the user. They cannot be mixed with flags of the
// tool's own passes: mlir-opt reads one or the other, and says so.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLUGIN_FLAGS_H
#define STAGEWRIGHT_LIB_PLUGIN_FLAGS_H

namespace stagewright {

/// Makes a flag of every pass of Stagewright, with its options as the flag's
/// value. Does nothing in a tool without --pass-pipeline, or where the flags
/// exist.
void registerPassFlags();

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLUGIN_FLAGS_H
