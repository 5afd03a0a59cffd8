//===- Safetensors.h - tensors in a file ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the safetensors format: eight bytes of header length, a
// JSON header, then the tensors' bytes. Every offset, shape and size of a file
// is checked against the others and against the file's length before a byte of
// a tensor is looked at. Format: github.com/huggingface/safetensors, README.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H

#include "Files/MappedFile.h"

#include "stagewright-rt/runtime.h"

#include <map>
#include <vector>

namespace stagewright::runtime {

/// A tensor whose bytes somebody else owns.
struct TensorView {
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes; ///< row-major, little-endian
};

/// The tensors in the bytes of a file, which must outlive them, by name.
/// Throws an `Error`.
std::map<std::string, TensorView>
parseSafetensors(std::span<const std::byte> file);

/// A file before it is written. The tensors' bytes are still their owners'.
struct SafetensorsFile {
  explicit SafetensorsFile(const std::map<std::string, TensorView> &tensors);

  std::vector<std::byte> header;
  std::vector<std::span<const std::byte>> parts; ///< the header first
};

/// Writes the tensors in one step, in the order of their names.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, TensorView> &tensors);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H
