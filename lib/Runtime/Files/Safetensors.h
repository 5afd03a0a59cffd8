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

#include "stagewright-rt/runtime.h"

#include <map>
#include <span>
#include <string>
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

/// The type and shape of a tensor that is to be written.
struct TensorType {
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;

  /// Throws an `Error` if the number exceeds 2^62.
  int64_t bytes() const;
};

/// The beginning of a file. The bytes of the tensors must follow, in the order
/// of their names.
std::vector<std::byte>
safetensorsHeader(const std::map<std::string, TensorType> &tensors);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_SAFETENSORS_H
