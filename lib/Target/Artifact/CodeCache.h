//===- CodeCache.h - object code kept between compiles ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of object files by the hash of all that they were made from. An
// entry holds a hash of itself, and one that does not match is as good as none.
// Entries appear by a rename, so that any number of compilers may share the
// folder. It never fails: without a folder to write to, everything is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_ARTIFACT_CODECACHE_H
#define STAGEWRIGHT_LIB_TARGET_ARTIFACT_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace stagewright {

/// Size and time of a file, or "none": another build of it may make other code.
std::string stampOfFile(const std::string &path);

class CodeCache {
public:
  /// Keeps entries in `folder`; an empty one keeps nothing.
  explicit CodeCache(llvm::StringRef folder);

  /// The key of code made from `parts` by this compiler: each part counts as a
  /// whole, and so do this program and the LLVM it runs with.
  std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts) const;

  /// The object under `key`, whole and unchanged, if it is there.
  std::optional<llvm::SmallVector<char, 0>> find(llvm::StringRef key) const;

  void add(llvm::StringRef key, llvm::ArrayRef<char> object) const;

  /// Removes the entries that were read longest ago until at most `bytes`
  /// remain; 0 is the default limit, looked at now and then only.
  void prune(uint64_t bytes) const;

private:
  std::string pathOf(llvm::StringRef key) const;

  std::string folder;
  std::string compiler; ///< What would make other code of the same input.
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_CODECACHE_H
