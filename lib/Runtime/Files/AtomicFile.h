//===- AtomicFile.h - a file that is written whole or not at all *- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes go to a temporary file, which `commit` renames: a reader sees the old
// or the new file, never a part. Where the file system allows it, the temporary
// file has no name until then (O_TMPFILE), so that nothing remains of a process
// that is killed. Pipes and devices are written directly, since a rename would
// replace them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_ATOMICFILE_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_ATOMICFILE_H

#include "Files/FileDescriptor.h"

#include <cstddef>
#include <span>
#include <string>

namespace stagewright::runtime {

class AtomicFile {
public:
  /// The constructor and the functions below throw an `Error` with the file and
  /// the system's reason on failure; a regular file is then left as it was.
  explicit AtomicFile(std::string path);
  /// Removes what was written, unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Appends bytes.
  void write(std::span<const std::byte> bytes);
  /// Waits until what was written is on the disk; does nothing for pipes and
  /// devices.
  void sync();
  /// Makes the file visible under its path.
  void commit();

private:
  [[noreturn]] void fail(const char *what) const;

  std::string path, temporary;
  bool special;         ///< not a regular file
  bool isNamed = false; ///< whether the file has the name `temporary`
  FileDescriptor file;
};

/// Writes a whole file.
void writeFileAtomically(const std::string &path,
                         std::span<const std::byte> bytes);

/// Throws an `Error` if writing `path` would fail, as far as can be known
/// without writing, so that a long run fails at its start and not at its end.
void requireWritable(const std::string &path);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_ATOMICFILE_H
