//===- Blas.h - contractions by a tuned library -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds one BLAS per process with dlopen and runs `sw_gemm_desc` on it, on the
// calling thread. Which library, and why its kernel is chosen by hand, stands
// with its measurements in README.md. A matrix that BLAS cannot express (no
// stride equal to 1) takes a plain loop: right, and slow.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_BLAS_H
#define STAGEWRIGHT_LIB_RUNTIME_BLAS_H

#include "stagewright-rt/runtime.h"

#include <string>

namespace stagewright::runtime {

/// Opens the library on the first call; throws an `Error` that lists where it
/// was looked for. Thread-safe.
void requireBlas();
/// "OpenBLAS 0.3.21 ... (path)"; empty before `requireBlas`.
const std::string &blasDescription();

/// Makes the library allocate what it needs for `threads` concurrent callers,
/// for they must find it there while a step runs.
void reserveBlasBuffers(int64_t threads);
/// Touches the calling thread's share of that memory.
void warmUpBlas();

/// One contraction. Exact same call, exact same bits.
void gemm(const sw_gemm_desc &desc, const void *a, const void *b, void *c);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_BLAS_H
