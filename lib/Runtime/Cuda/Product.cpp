//===- Product.cpp - contractions as cuBLASLt calls -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

namespace {

/// The matrix X[i,j] with these extents and strides, as the library sees it.
LtMatrix view(int64_t rows, int64_t columns, int64_t row, int64_t column,
              const char *name) {
  bool tall = row == 1 || rows == 1;
  bool wide = column == 1 || columns == 1;
  // Column-major matrices are passed as they are, others as their transpose.
  if (tall && (columns == 1 || column >= rows))
    return {false, rows, columns, columns == 1 ? rows : column};
  if (wide && (rows == 1 || row >= columns))
    return {true, columns, rows, rows == 1 ? columns : row};
  raise("a contraction has ", rows, " x ", columns, " elements of ", name,
        " with strides ", row, " and ", column,
        ", but cuBLASLt needs one stride of 1 and the other no smaller than "
        "the extent");
}

int epilogueOf(int32_t epilogue, bool exchanged) {
  switch (epilogue) {
  case SW_EPILOGUE_NONE:
  case SW_EPILOGUE_ADD: // The addend is passed as C.
    return ltEpilogueDefault;
  case SW_EPILOGUE_BIAS:
    return ltEpilogueBias;
  case SW_EPILOGUE_GELU:
    return ltEpilogueGelu;
  case SW_EPILOGUE_BIAS_GELU:
    return ltEpilogueGeluBias;
  case SW_EPILOGUE_GELU_AUX:
    return ltEpilogueGeluAux;
  case SW_EPILOGUE_BIAS_GELU_AUX:
    return ltEpilogueGeluAuxBias;
  case SW_EPILOGUE_DGELU:
    return ltEpilogueDgelu;
  case SW_EPILOGUE_DGELU_BIAS:
    return ltEpilogueDgeluBias;
  case SW_EPILOGUE_A_SUM:
    return exchanged ? ltEpilogueSumB : ltEpilogueSumA;
  case SW_EPILOGUE_B_SUM:
    return exchanged ? ltEpilogueSumA : ltEpilogueSumB;
  default:
    raise("a contraction has the unknown epilogue ", epilogue);
  }
}

/// Whether an epilogue needs a row-major C. Sums over k do not depend on the
/// layout of C.
bool needsColumns(int32_t epilogue) {
  return epilogue != SW_EPILOGUE_NONE && epilogue != SW_EPILOGUE_A_SUM &&
         epilogue != SW_EPILOGUE_B_SUM;
}

bool isEightBits(int32_t dtype) {
  return dtype == SW_F8E4M3FN || dtype == SW_F8E5M2;
}

void requireType(int32_t dtype, const char *name, bool narrow) {
  if (narrow && isEightBits(dtype))
    return;
  switch (dtype) {
  case SW_F32:
  case SW_F64:
  case SW_F16:
  case SW_BF16:
    return;
  default:
    raise("a contraction has ", name, " of type ", dtypeName(dtype),
          ", expected f32, f64, f16",
          narrow ? ", bf16, f8e4m3fn or f8e5m2" : " or bf16");
  }
}

/// Splits the batches into those inside a call and the number of calls: one
/// call if the two dimensions are one strided dimension, else the longer one is
/// inside a call.
void batch(LtProduct &it, const sw_gemm_desc &desc) {
  const int64_t *strides[3] = {desc.a_batch, desc.b_batch, desc.c_batch};
  LtMatrix *matrices[3] = {&it.a, &it.b, &it.c};
  bool one = desc.batch[0] == 1 || desc.batch[1] == 1 ||
             std::all_of(strides, strides + 3, [&](const int64_t *stride) {
               return stride[0] == stride[1] * desc.batch[1];
             });
  int inner = desc.batch[1] >= desc.batch[0] ? 1 : 0;
  if (one && desc.batch[0] > 1 && desc.batch[1] > 1)
    inner = 1;
  it.batches = one ? desc.batch[0] * desc.batch[1] : desc.batch[inner];
  it.calls = one ? 1 : desc.batch[1 - inner];
  for (int i = 0; i < 3; ++i) {
    matrices[i]->batch = strides[i][inner];
    matrices[i]->step = strides[i][1 - inner];
  }
}

} // namespace

LtProduct asProduct(const Contraction &contraction) {
  const sw_contraction_desc &desc = contraction.desc;
  const sw_gemm_desc &gemm = desc.gemm;
  requireType(desc.a_dtype, "A", true);
  requireType(desc.b_dtype, "B", true);
  requireType(gemm.dtype, "C", false);
  // The library cannot transpose C. For a row-major C it computes the
  // transposed product, with the operands exchanged.
  bool exchanged = gemm.c_col == 1 || (gemm.n == 1 && gemm.c_row != 1);
  if (needsColumns(desc.epilogue) && !exchanged)
    raise("a contraction with epilogue ", desc.epilogue,
          " has columns of C that are ", gemm.c_col, " apart, expected 1");
  LtProduct it;
  it.alpha = contraction.alpha;
  if (exchanged) {
    it.a = view(gemm.n, gemm.k, gemm.b_col, gemm.b_row, "B");
    it.b = view(gemm.k, gemm.m, gemm.a_col, gemm.a_row, "A");
    it.c = view(gemm.n, gemm.m, gemm.c_col, gemm.c_row, "C");
  } else {
    it.a = view(gemm.m, gemm.k, gemm.a_row, gemm.a_col, "A");
    it.b = view(gemm.k, gemm.n, gemm.b_row, gemm.b_col, "B");
    it.c = view(gemm.m, gemm.n, gemm.c_row, gemm.c_col, "C");
  }
  if (it.c.transposed)
    raise("a contraction has ", gemm.m, " x ", gemm.n,
          " elements of C with strides ", gemm.c_row, " and ", gemm.c_col,
          ", expected one of 1 and the other no smaller than the extent");
  batch(it, gemm);
  if (exchanged) { // The strides above are in the order A, B.
    std::swap(it.a.batch, it.b.batch);
    std::swap(it.a.step, it.b.step);
  }
  it.a.dtype = exchanged ? desc.b_dtype : desc.a_dtype;
  it.b.dtype = exchanged ? desc.a_dtype : desc.b_dtype;
  it.c.dtype = gemm.dtype;
  it.a.address = exchanged ? contraction.b : contraction.a;
  it.b.address = exchanged ? contraction.a : contraction.b;
  it.c.address = contraction.c;
  it.epilogue = epilogueOf(desc.epilogue, exchanged);
  if (desc.epilogue != SW_EPILOGUE_NONE && it.batches * it.calls > 1)
    raise("a contraction of ", it.batches * it.calls, " batches has epilogue ",
          desc.epilogue, ", expected none");
  it.compute = gemm.dtype == SW_F64 ? compute64
               : desc.tf32          ? compute32Tf32
                                    : compute32;
  it.adds = gemm.beta != 0;
  it.added = it.c;
  if (desc.epilogue == SW_EPILOGUE_ADD) {
    if (it.adds)
      raise("a contraction adds to C and what aux holds, expected one of them");
    if (desc.aux_dtype != gemm.dtype)
      raise("a contraction to ", dtypeName(gemm.dtype),
            " adds what aux holds of type ", dtypeName(desc.aux_dtype),
            ", expected the same");
    it.adds = true;
    it.added.address = contraction.aux;
    it.added.row = desc.aux_row;
  }
  return it;
}

} // namespace stagewright::runtime::cuda
