//===- AtomicFile.cpp - a file that is written whole or not at all --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/AtomicFile.h"

#include "stagewright/Runtime/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace stagewright::runtime {

static bool isSpecial(const std::string &path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

static std::filesystem::path folderOf(const std::string &path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// A path of an open file, by which linkat can name a file without a name.
static std::string pathOf(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

AtomicFile::AtomicFile(std::string where)
    : path(std::move(where)), special(isSpecial(path)), file(-1) {
  temporary = special ? path : path + ".tmp." + std::to_string(getpid());
  if (!special)
    file.value =
        ::open(folderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file.value >= 0 && ::access(pathOf(file.value).c_str(), F_OK) == 0)
    return;
  if (file.value >= 0) // There is no /proc.
    ::close(file.value);
  file.value =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.value < 0)
    fail("write");
  isNamed = !special;
}

AtomicFile::~AtomicFile() {
  if (isNamed)
    ::unlink(temporary.c_str());
}

void AtomicFile::fail(const char *what) const {
  raise("cannot ", what, " '", path, "': ", std::strerror(errno));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file.value, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      fail("write");
    bytes = bytes.subspan(written < 0 ? 0 : size_t(written));
  }
}

void AtomicFile::sync() {
  if (!special && ::fsync(file.value) != 0)
    fail("write");
}

void AtomicFile::commit() {
  if (!special && !isNamed) {
    ::unlink(temporary.c_str()); // Left by a killed process with this ID.
    if (::linkat(AT_FDCWD, pathOf(file.value).c_str(), AT_FDCWD,
                 temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
      fail("write");
    isNamed = true;
  }
  // Some file systems report a full disk only here.
  if (::close(std::exchange(file.value, -1)) != 0)
    fail("write");
  if (!special && std::rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename to");
  isNamed = false;
}

void writeFileAtomically(const std::string &path,
                         std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void requireWritable(const std::string &path) {
  struct stat status{};
  int reason = 0;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    reason = S_ISDIR(status.st_mode)             ? EISDIR
             : ::access(path.c_str(), W_OK) != 0 ? errno
                                                 : 0;
  else if (::access(folderOf(path).c_str(), W_OK | X_OK) != 0)
    reason = errno;
  if (reason)
    raise("cannot write '", path, "': ", std::strerror(reason));
}

} // namespace stagewright::runtime
