//===- DType.h - element types ----------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and sizes of the element types of manifests and safetensors files.
// Nothing here computes with elements: the runtime only moves bytes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_DTYPE_H
#define STAGEWRIGHT_LIB_RUNTIME_DTYPE_H

#include "stagewright-rt/runtime.h"

#include <optional>
#include <span>
#include <string_view>

namespace stagewright::runtime {

/// Name in the manifest ("f32", "bool"); "unknown" for a number that is none.
std::string_view dtypeName(int32_t dtype);
/// The type of a manifest's name, of a safetensors name ("F32", "BOOL") when
/// `upper`; nothing for a name that is none.
std::optional<sw_dtype> dtypeFromName(std::string_view name,
                                      bool upper = false);
/// Name in a safetensors header: the manifest's name in capitals.
std::string_view dtypeUpperName(int32_t dtype);
/// Bytes of one element; 0 for a number that is no type.
int64_t dtypeSize(int32_t dtype);

/// Bytes of a row-major tensor; nothing when an extent is negative or the
/// product does not fit into 62 bits.
std::optional<int64_t> tensorBytes(int32_t dtype,
                                   std::span<const int64_t> shape);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_DTYPE_H
