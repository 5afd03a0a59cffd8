//===- Kernels.h - small kernels in PTX for tests ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_EMULATOR_KERNELS_H
#define STAGEWRIGHT_UNIT_EMULATOR_KERNELS_H

#include <string>

/// A kernel `k` of two arrays. In each thread, %t is its number, %at its offset
/// (8 bytes a thread), and %in and %out point to its words. `tables` stand
/// before it.
inline std::string kernelOf(const std::string &body,
                            const std::string &tables = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".extern .shared .align 16 .b8 shared[];\n" +
         tables +
         ".visible .entry k(\n"
         ".param .u64 .ptr .align 1 k_param_0,\n"
         ".param .u64 .ptr .align 1 k_param_1\n)\n.maxntid 1024, 1, 1\n{\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
         ".reg .b64 %in, %out, %at;\n.reg .b32 %t, %lane;\n"
         "ld.param.b64 %in, [k_param_0];\nld.param.b64 %out, [k_param_1];\n"
         "mov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 8;\n"
         "add.s64 %in, %in, %at;\nadd.s64 %out, %out, %at;\n" +
         body + "\nret;\n}\n";
}

#endif // STAGEWRIGHT_UNIT_EMULATOR_KERNELS_H
