//===- Alternatives.h - kernels instead of library calls --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For some library calls an artifact also has kernels that compute the same
// (sw_api's `otherwise`). They are used if the library has no algorithm, and
// for all such calls if STAGEWRIGHT_ALTERNATIVES is 1: to test the kernels, or
// to find out whether a kernel or the library is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_ALTERNATIVES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_ALTERNATIVES_H

#include "stagewright-rt/runtime.h"

#include <cstdlib>
#include <string_view>

namespace stagewright::runtime {

/// Whether kernels replace all library calls that have an alternative.
inline bool alternativesOnly() {
  static const bool only = [] {
    const char *text = std::getenv("STAGEWRIGHT_ALTERNATIVES");
    return text && std::string_view(text) == "1";
  }();
  return only;
}

/// Whether `epilogue` stores the input of GELU in aux. Without the epilogue,
/// the product is then written to aux.
inline bool keepsSum(int32_t epilogue) {
  return epilogue == SW_EPILOGUE_GELU_AUX ||
         epilogue == SW_EPILOGUE_BIAS_GELU_AUX;
}

/// The product alone, if a kernel computes its epilogue.
inline sw_contraction_desc withoutEpilogue(sw_contraction_desc desc) {
  if (keepsSum(desc.epilogue)) {
    desc.gemm.dtype = desc.aux_dtype;
    desc.gemm.c_row = desc.aux_row;
  }
  desc.epilogue = SW_EPILOGUE_NONE;
  desc.otherwise = 0;
  desc.bias_dtype = desc.aux_dtype = 0;
  desc.aux_row = 0;
  return desc;
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_ALTERNATIVES_H
