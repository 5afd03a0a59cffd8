//===- DType.h - element types ----------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and sizes of the element types of manifests and safetensors files.
// Nothing here computes with elements.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_DTYPE_H
#define STAGEWRIGHT_LIB_RUNTIME_DTYPE_H

#include "stagewright-rt/runtime.h"

#include <optional>
#include <span>
#include <string_view>

namespace stagewright::runtime {

/// Name in the manifest ("f32", "bool"); "unknown" if the number is no type.
std::string_view dtypeName(int32_t dtype);
/// The type with this name in manifests or, if `upper`, in safetensors files
/// ("F32", "BOOL"); nullopt for an unknown name.
std::optional<sw_dtype> dtypeFromName(std::string_view name,
                                      bool upper = false);
/// Name in a safetensors header ("F32", "BOOL", "F8_E4M3").
std::string_view dtypeUpperName(int32_t dtype);
/// Bytes of one element; 0 if the number is no type.
int64_t dtypeSize(int32_t dtype);

/// Bytes of a row-major tensor; nullopt if an extent is negative or the product
/// exceeds 2^62.
std::optional<int64_t> tensorBytes(int32_t dtype,
                                   std::span<const int64_t> shape);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_DTYPE_H
