//===- MappedFile.cpp - a file mapped for reading -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/MappedFile.h"

#include "Files/FileDescriptor.h"
#include "stagewright/Runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace stagewright::runtime {

MappedFile::MappedFile(const std::string &path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (file.value < 0 || fstat(file.value, &status) != 0)
    raise("cannot open '", path, "': ", std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    raise("cannot open '", path, "': not a regular file");
  if (status.st_size == 0)
    return; // mmap refuses an empty range
  void *address = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE,
                       file.value, 0);
  if (address == MAP_FAILED)
    raise("cannot map '", path, "': ", std::strerror(errno));
  contents = {static_cast<const std::byte *>(address), size_t(status.st_size)};
}

MappedFile::~MappedFile() {
  if (!contents.empty())
    munmap(const_cast<std::byte *>(contents.data()), contents.size());
}

} // namespace stagewright::runtime
