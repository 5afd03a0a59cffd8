//===- MappedFile.h - a file mapped for reading -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A whole file as bytes, mapped read-only. The file must not shrink while it is
// mapped: reading past its end raises SIGBUS, as with every mapping.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_MAPPEDFILE_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_MAPPEDFILE_H

#include <cstddef>
#include <span>
#include <string>

namespace stagewright::runtime {

class MappedFile {
public:
  /// On failure throws an `Error` with the file and the system's reason.
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return contents; }

private:
  std::span<const std::byte> contents;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_MAPPEDFILE_H
