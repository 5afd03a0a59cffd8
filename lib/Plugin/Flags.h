//===- Flags.h - our passes as flags of an unmodified mlir-opt --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt makes flags of the passes it knows before it loads a plugin, so
// passes of a plugin can only be named in --pass-pipeline. The flags defined
// here set that option. They cannot be combined with flags of mlir-opt's own
// passes: it accepts one or the other, and reports an error.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLUGIN_FLAGS_H
#define STAGEWRIGHT_LIB_PLUGIN_FLAGS_H

namespace stagewright {

/// Adds a flag for every pass of Stagewright, with the pass options as its
/// value. Does nothing in a tool without --pass-pipeline, or if the flags exist
/// already.
void registerPassFlags();

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLUGIN_FLAGS_H
