//===- TwinContraction.cpp - contractions of a device, on the host --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "TwinElements.h"
#include "Twins.h"

namespace stagewright::runtime {

void contractOnHost(const sw_contraction_desc &desc, const void *a,
                    const void *b, void *c) {
  const sw_gemm_desc &g = desc.gemm;
  if (desc.epilogue != SW_EPILOGUE_NONE)
    raise("the host has no epilogue ", desc.epilogue);
  for (int64_t outer = 0; outer < g.batch[0]; ++outer)
    for (int64_t inner = 0; inner < g.batch[1]; ++inner) {
      int64_t fromA = outer * g.a_batch[0] + inner * g.a_batch[1];
      int64_t fromB = outer * g.b_batch[0] + inner * g.b_batch[1];
      int64_t fromC = outer * g.c_batch[0] + inner * g.c_batch[1];
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
          int64_t at = fromC + i * g.c_row + j * g.c_col;
          double sum = g.beta ? readElement(c, g.dtype, at) : 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum +=
                readElement(a, desc.a_dtype,
                            fromA + i * g.a_row + k * g.a_col) *
                readElement(b, desc.b_dtype, fromB + k * g.b_row + j * g.b_col);
          writeElement(c, g.dtype, at, sum);
        }
    }
}

} // namespace stagewright::runtime
