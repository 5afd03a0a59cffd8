//===- CodeCache.h - a cache of object code ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of object files, named by the hash of all inputs of their
// compilation. An entry holds a hash of its contents; if that does not match,
// the entry is ignored. Entries are created by renaming, so any number of
// compilers may share the folder. A cache never fails: if the folder cannot be
// written, everything is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_CODECACHE_H
#define STAGEWRIGHT_TARGET_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace stagewright {

/// Size and time of a file, or "none". They identify the build of a tool,
/// because another build may generate other code.
std::string stampOfFile(const std::string &path);

class CodeCache {
public:
  /// Keeps entries in `folder`; if that is empty, nothing is kept.
  explicit CodeCache(llvm::StringRef folder);

  /// The key of code made from `parts` by this compiler. The hash separates the
  /// parts, and covers this program and the LLVM that it runs with.
  std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts) const;

  /// The object under `key`, if there is an intact one.
  std::optional<llvm::SmallVector<char, 0>> find(llvm::StringRef key) const;

  void add(llvm::StringRef key, llvm::ArrayRef<char> object) const;

  /// Removes entries not read for 30 days, then the least recently read ones
  /// until at most `bytes` remain. 0 stands for the default limit, which is
  /// only checked at intervals.
  void prune(uint64_t bytes) const;

private:
  std::string pathOf(llvm::StringRef key) const;

  std::string folder;
  std::string compiler; ///< Identifies this program and its LLVM.
};

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_CODECACHE_H
