//===- ParallelGemm.h - contractions on the threads of a rank ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a contraction by batches, rows or columns, never by its sum, over the
// rank's threads. With the runtime's tiles (see Multiply.h) the result has the
// same bits as on one thread.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_PARALLELGEMM_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_PARALLELGEMM_H

#include "stagewright-rt/runtime.h"

namespace stagewright::runtime {

/// `gemm` on the rank's pool, if it has one and the product is large enough.
void parallelGemm(sw_rank &rank, const sw_gemm_desc &desc, const void *a,
                  const void *b, void *c);

/// The same for a convolution.
void parallelConvolution(sw_rank &rank, const sw_convolution_desc &desc,
                         const void *a, const void *b, void *c);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_PARALLELGEMM_H
