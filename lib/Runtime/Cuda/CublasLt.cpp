//===- CublasLt.cpp - cuBLASLt's matrix products --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

namespace {

constexpr LibraryName cublasLtName = {
    {"libcublasLt.so.13", "libcublasLt.so.12"},
    "STAGEWRIGHT_CUBLASLT_LIBRARY",
    "contractions on a GPU need it",
    "the package libcublas-13-0 or libcublas-12-9 of NVIDIA's Debian "
    "repository, or with nvidia-cublas or nvidia-cublas-cu12 of PyPI"};

CublasLt openCublasLt() {
  Library library(cublasLtName);
  CublasLt it;
  STAGEWRIGHT_CUBLASLT(STAGEWRIGHT_LOOK_UP)
  library.find(it.statusString, "cublasLtGetStatusString");
  library.find(it.version, "cublasLtGetVersion");
  it.path = library.path();
  return it;
}

} // namespace

const CublasLt &cublasLt() {
  static CublasLt it = openCublasLt();
  return it;
}

void CublasLtErrors::fail(const char *symbol, int status) {
  raise(symbol, ": ", cublasLt().statusString(status), " (", status, ")");
}

} // namespace stagewright::runtime::cuda
