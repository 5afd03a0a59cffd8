//===- Safetensors.h - safetensors files ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the safetensors format: 8 bytes with the length of the
// header, a JSON header, then the bytes of the tensors. Every offset, shape and
// size in a file is checked against the others and against the length of the
// file before any byte of a tensor is read. Format:
// github.com/huggingface/safetensors, README.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H

#include "Files/MappedFile.h"

#include "stagewright-rt/runtime.h"

#include <map>
#include <vector>

namespace stagewright::runtime {

/// A tensor that does not own its bytes.
struct TensorView {
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes; ///< row-major, little-endian
};

/// The tensors of a file, by name. They refer to the bytes `file`, which must
/// outlive them. Throws an `Error`.
std::map<std::string, TensorView>
parseSafetensors(std::span<const std::byte> file);

/// The contents of a file to be written. The bytes of the tensors are not
/// copied and must outlive it.
struct SafetensorsFile {
  explicit SafetensorsFile(const std::map<std::string, TensorView> &tensors);

  std::vector<std::byte> header;
  std::vector<std::span<const std::byte>> parts; ///< the header first
};

/// Writes the tensors atomically, sorted by name.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, TensorView> &tensors);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H
