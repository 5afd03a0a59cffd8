//===- Alternatives.h - kernels in the place of a library's calls --*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind some calls of a library an artifact has kernels that do the same
// (sw_api's `otherwise`). They are taken where the library has no algorithm,
// and for all such calls where STAGEWRIGHT_ALTERNATIVES is 1: to check them, or
// to find out which of the two is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_ALTERNATIVES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_ALTERNATIVES_H

#include "stagewright-rt/runtime.h"

#include <cstdlib>
#include <string_view>

namespace stagewright::runtime {

/// Whether the libraries are not asked.
inline bool alternativesOnly() {
  static const bool only = [] {
    const char *text = std::getenv("STAGEWRIGHT_ALTERNATIVES");
    return text && std::string_view(text) == "1";
  }();
  return only;
}

/// Whether an epilogue keeps the sum in aux, so that the plain product goes
/// there.
inline bool keepsSum(int32_t epilogue) {
  return epilogue == SW_EPILOGUE_GELU_AUX ||
         epilogue == SW_EPILOGUE_BIAS_GELU_AUX;
}

/// The product whose epilogue a kernel does.
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
