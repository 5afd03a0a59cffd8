//===- Files.cpp - reads and writes whole files ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Files.h"
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace stagewright {

Result<std::string> readTextFile(const std::string &path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::error_code code;
  if (fs::is_directory(path, code))
    return Error{"cannot read '" + path + "': it is a directory"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Error{"cannot read '" + path + "': " + std::strerror(errno)};
  std::array<char, 1 << 16> part;
  errno = 0;
  while (stream.read(part.data(), part.size()) || stream.gcount() > 0)
    text.write(part.data(), stream.gcount());
  if (stream.bad())
    return Error{"cannot read '" + path +
                 "': " + std::strerror(errno ? errno : EIO)};
  return text.str();
}

/// Writes all of `text`; returns errno if it fails.
static std::optional<int> writeAll(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return errno;
    if (count > 0)
      text.remove_prefix(size_t(count));
  }
  return {};
}

/// Writes a temporary file and renames it, so `path` is never incomplete. An
/// earlier file's mode stays.
static std::optional<int> replaceFile(const std::string &path,
                                      std::string_view text) {
  std::string beside = path + ".XXXXXX";
  int file = ::mkstemp(beside.data());
  if (file < 0)
    return errno;
  // mkstemp creates files of mode 0600; a new file has what the umask allows.
  struct stat earlier = {};
  mode_t mode = 0;
  if (::stat(path.c_str(), &earlier) == 0) {
    mode = earlier.st_mode & 0777;
  } else {
    mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  }
  std::optional<int> reason = writeAll(file, text);
  if (!reason && ::fchmod(file, mode) != 0)
    reason = errno;
  if (::close(file) != 0 && !reason)
    reason = errno;
  if (!reason && ::rename(beside.c_str(), path.c_str()) != 0)
    reason = errno;
  if (reason)
    ::unlink(beside.c_str());
  return reason;
}

/// Whether `path` is the open file, such as /dev/stdout is.
static bool isOpenAs(const std::string &path, int file) {
  struct stat named = {}, open = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/// The file that `path` leads to, which need not exist.
static fs::path behindLinks(fs::path path) {
  constexpr int kMostLinks = 40; // As in Linux.
  std::error_code code;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, code); ++i)
    path = path.parent_path() / fs::read_symlink(path, code);
  return path;
}

Status writeTextFile(const std::string &path, const std::string &text) {
  std::optional<int> reason;
  std::error_code code;
  fs::file_status status = fs::status(path, code);
  if (path == "-" || isOpenAs(path, STDOUT_FILENO)) {
    reason = writeAll(STDOUT_FILENO, text);
  } else if (isOpenAs(path, STDERR_FILENO)) {
    reason = writeAll(STDERR_FILENO, text);
  } else if (fs::is_directory(status)) {
    reason = EISDIR;
  } else if (fs::exists(status) && !fs::is_regular_file(status)) {
    std::ofstream stream(path, std::ios::binary);
    errno = 0;
    if (!(stream << text << std::flush))
      reason = errno ? errno : EIO;
  } else {
    // A link stays, and the file that it leads to is replaced.
    reason = replaceFile(behindLinks(path).string(), text);
  }
  if (reason)
    return Error{"cannot write '" + path + "': " + std::strerror(*reason)};
  return {};
}

} // namespace stagewright
