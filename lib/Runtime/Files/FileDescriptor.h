//===- FileDescriptor.h - an open file --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_FILEDESCRIPTOR_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_FILEDESCRIPTOR_H

#include <unistd.h>

namespace stagewright::runtime {

/// A file descriptor, closed by its destructor.
struct FileDescriptor {
  int value;
  explicit FileDescriptor(int value) : value(value) {}
  ~FileDescriptor() {
    if (value >= 0)
      ::close(value);
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_FILEDESCRIPTOR_H
