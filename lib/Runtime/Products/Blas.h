//===- Blas.h - contractions by a tuned library -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runs contractions: the runtime's own tiles, which measure best where
// there are tiles for the processor (AVX2, AVX-512: docs/kernels.md), or one
// BLAS per process, opened with dlopen, where the user names one or the tiles
// are only portable.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H

#include "stagewright-rt/runtime.h"

#include <string>

namespace stagewright::runtime {

/// Chooses on the first call; throws an `Error` where STAGEWRIGHT_BLAS names a
/// library that cannot be opened. Thread-safe.
void requireBlas();
/// "tiles for AVX2" or "OpenBLAS 0.3.21 ... (path)"; empty before
/// `requireBlas`.
const std::string &blasDescription();

/// Makes a library allocate what it needs for `threads` concurrent callers,
/// for they must find it there while a step runs.
void reserveBlasBuffers(int64_t threads);
/// Touches what the calling thread will use: its share of that memory, or the
/// part of its stack on which operands are packed.
void warmUpBlas();

/// One contraction. Exact same call, exact same bits; re-entrant. With tiles, a
/// product cut by rows, columns or batches gives the same bits too.
void gemm(const sw_gemm_desc &desc, const void *a, const void *b, void *c);
/// One convolution, by the tiles.
void convolution(const sw_convolution_desc &desc, const void *a, const void *b,
                 void *c);
/// A contraction by the library; false where the choice fell on the tiles.
bool gemmByBlas(const sw_gemm_desc &desc, const void *a, const void *b,
                void *c);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H
