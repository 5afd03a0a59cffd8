//===- Artifact.h - a checked and opened artifact ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact is a shared object with a section `.stagewright`:
//
//   bytes 0..3    magic "SWX1"
//   bytes 4..7    version, little-endian u32 (SW_ABI_VERSION)
//   bytes 8..15   length of the manifest, u64
//   bytes 16..23  FNV-1a hash of the manifest, 64 bits
//   bytes 24..    the manifest, JSON text
//
// All of this is checked, and so are the processor features and libraries that
// the manifest requires, before dlopen maps any code of the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_H
#define STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_H

#include "Artifact/Manifest.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// The manifest text of an artifact, after checking its hash.
std::string_view manifestText(std::span<const std::byte> file);

class Artifact {
public:
  /// Opens the file at `path`; if `run` is false, reads only its manifest.
  Artifact(const std::string &path, bool run);
  /// Opens an artifact in memory.
  explicit Artifact(std::span<const std::byte> bytes);
  ~Artifact();
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const Manifest &manifest() const { return description; }
  const std::string &text() const { return json; }
  /// The entry function of a rank; null if only the manifest was read.
  sw_entry entry(int64_t rank) const {
    return entries.empty() ? nullptr : entries[rank];
  }

  /// The data of `argument` in the artifact, of the size given by its shape;
  /// null if it has none.
  const void *data(const Interface &argument) const;

  /// The address of a constant array of its kernels in host memory.
  const void *constant(const ConstantArray &array) const;

  /// The device code of its kernels; throws an `Error` if it has none.
  const void *deviceCode() const;

private:
  void readManifest(std::span<const std::byte> file);
  void open(const std::string &path);
  void close();

  std::string json;
  Manifest description;
  std::vector<void *> libraries;
  void *handle = nullptr;
  int memory = -1; ///< file descriptor of an artifact given as bytes
  std::vector<sw_entry> entries;
};

/// The runtime functions that a CPU artifact's code calls (GeneratedApi.cpp).
const sw_api &generatedCodeApi();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ARTIFACT_H
