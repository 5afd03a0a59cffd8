//===- Blas.h - contractions by tiles or a BLAS library ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions are computed by one of these, chosen once per process: the
// runtime's own tiles, which are fastest on processors that they are written
// for (AVX2, AVX-512: docs/kernels.md), or a BLAS library, opened with dlopen,
// if the user names one, or if there are only portable tiles and OpenBLAS is
// found.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H

#include "stagewright-rt/runtime.h"

#include <string>

namespace stagewright::runtime {

/// Chooses on the first call; throws an `Error` if STAGEWRIGHT_BLAS names a
/// library that cannot be opened, or has no cblas_sgemm or no cblas_dgemm.
/// Thread-safe.
void requireBlas();
/// "tiles for AVX2" or "OpenBLAS 0.3.21 ... (path)"; empty before
/// `requireBlas`.
const std::string &blasDescription();

/// Makes the library allocate its buffers for `threads` concurrent callers,
/// because nothing may be allocated while a step runs.
void reserveBlasBuffers(int64_t threads);
/// Touches the memory that the calling thread will use: its share of those
/// buffers, or the part of its stack on which operands are packed.
void warmUpBlas();

/// Computes a contraction. Re-entrant; equal calls give equal bits. With tiles,
/// a product that is computed in parts (of rows, columns or batches) also has
/// the same bits.
void gemm(const sw_gemm_desc &desc, const void *a, const void *b, void *c);
/// Computes a convolution, always by tiles.
void convolution(const sw_convolution_desc &desc, const void *a, const void *b,
                 void *c);
/// Computes a contraction by the library; false if the tiles were chosen.
bool gemmByBlas(const sw_gemm_desc &desc, const void *a, const void *b,
                void *c);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_BLAS_H
