//===- MappedFile.cpp - a file mapped for reading -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/MappedFile.h"

#include "Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stagewright::runtime {

namespace {

/// A file descriptor, closed by its destructor.
struct Descriptor {
  int value;
  explicit Descriptor(int value) : value(value) {}
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
};

} // namespace

MappedFile::MappedFile(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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

void writeFileAtomically(const std::string &path,
                         std::span<const std::span<const std::byte>> parts) {
  // Pipes and devices are written directly; a rename would replace them.
  struct stat status;
  bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string temporary =
      special ? path : path + ".tmp." + std::to_string(getpid());
  auto fail = [&](const char *what) {
    int reason = errno;
    if (!special)
      ::unlink(temporary.c_str());
    raise("cannot ", what, " '", path, "': ", std::strerror(reason));
  };
  {
    Descriptor file(::open(temporary.c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.value < 0)
      raise("cannot write '", path, "': ", std::strerror(errno));
    for (auto part : parts)
      for (size_t done = 0; done < part.size();) {
        ssize_t written =
            ::write(file.value, part.data() + done, part.size() - done);
        if (written < 0 && errno != EINTR)
          fail("write");
        done += written < 0 ? 0 : size_t(written);
      }
    // Some file systems report a full disk only here.
    if (::close(std::exchange(file.value, -1)) != 0)
      fail("write");
  }
  if (!special && std::rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename to");
}

void requireWritable(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  struct stat status{};
  int reason = 0;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    reason = S_ISDIR(status.st_mode)             ? EISDIR
             : ::access(path.c_str(), W_OK) != 0 ? errno
                                                 : 0;
  else if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    reason = errno;
  if (reason)
    raise("cannot write '", path, "': ", std::strerror(reason));
}

} // namespace stagewright::runtime
