//===- Elf.h - finding a section in an ELF file -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads just enough of an ELF64 file to find a section by name, and checks that
// every table and every loadable segment is inside the file: a truncated or
// foreign file is an error here, not a bus error in dlopen. Not a general ELF
// library. Source of the layout: System V ABI, chapter 4.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_ELF_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_ELF_H

#include <cstddef>
#include <span>
#include <string_view>

namespace stagewright::runtime {

/// The contents of section `name` of the shared object in `file`. Throws an
/// `Error` that names the malformed part of the file.
std::span<const std::byte> findElfSection(std::span<const std::byte> file,
                                          std::string_view name);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_ELF_H
