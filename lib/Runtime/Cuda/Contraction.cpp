//===- Contraction.cpp - matrix products by cuBLASLt ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "DType.h"
#include "Error.h"

#include <utility>

namespace stagewright::runtime::cuda {

namespace {

int typeOf(int32_t dtype) {
  switch (dtype) {
  case SW_F64:
    return real64;
  case SW_F16:
    return real16;
  case SW_BF16:
    return realBf16;
  default:
    return real32;
  }
}

/// The power of two that divides an address and every distance from it; 256
/// is the most that the library asks for.
uint32_t alignmentOf(const LtMatrix &matrix, const LtProduct &product) {
  auto size = uint64_t(dtypeSize(matrix.dtype));
  uint64_t bits = matrix.address | 256;
  if (product.batches > 1)
    bits |= uint64_t(matrix.batch) * size;
  if (product.calls > 1)
    bits |= uint64_t(matrix.step) * size;
  return uint32_t(bits & -bits);
}

LtLayout layoutOf(const LtMatrix &matrix, int64_t batches) {
  const CublasLt &lt = cublasLt();
  LtLayout layout = nullptr;
  lt.layoutCreate(&layout, typeOf(matrix.dtype), uint64_t(matrix.rows),
                  uint64_t(matrix.columns), matrix.row);
  if (batches == 1)
    return layout;
  auto count = int32_t(batches);
  int64_t stride = matrix.batch;
  lt.layoutSet(layout, int(ltLayoutBatches), static_cast<const void *>(&count),
               sizeof(count));
  lt.layoutSet(layout, int(ltLayoutBatchStride),
               static_cast<const void *>(&stride), sizeof(stride));
  return layout;
}

template <typename T> void set(LtDesc desc, int attribute, const T &value) {
  cublasLt().descSet(desc, attribute, static_cast<const void *>(&value),
                     sizeof(value));
}

} // namespace

LtCall::LtCall(const Contraction &contraction)
    : product(asProduct(contraction)) {
  try {
    describe(contraction);
  } catch (...) {
    destroy();
    throw;
  }
}

LtCall::~LtCall() { destroy(); }

LtCall::LtCall(LtCall &&other) noexcept
    : product(other.product), desc(std::exchange(other.desc, nullptr)),
      a(std::exchange(other.a, nullptr)), b(std::exchange(other.b, nullptr)),
      c(std::exchange(other.c, nullptr)), algorithm(other.algorithm) {}

void LtCall::destroy() const {
  if (desc)
    cublasLt().descDestroy.status(desc);
  for (LtLayout layout : {a, b, c})
    if (layout)
      cublasLt().layoutDestroy.status(layout);
}

void LtCall::describe(const Contraction &contraction) {
  const sw_contraction_desc &wanted = contraction.desc;
  cublasLt().descCreate(&desc, product.compute,
                        product.compute == compute64 ? int(real64)
                                                     : int(real32));
  set(desc, ltDescTransposeA,
      int32_t(product.a.transposed ? operationTranspose : operationNone));
  set(desc, ltDescTransposeB,
      int32_t(product.b.transposed ? operationTranspose : operationNone));
  set(desc, ltDescEpilogue, uint32_t(product.epilogue));
  if (contraction.bias) {
    set(desc, ltDescBias, contraction.bias);
    set(desc, ltDescBiasType, int32_t(typeOf(wanted.bias_dtype)));
  }
  if (contraction.aux) {
    set(desc, ltDescAux, contraction.aux);
    set(desc, ltDescAuxRow, wanted.aux_row);
    set(desc, ltDescAuxType, int32_t(typeOf(wanted.aux_dtype)));
  }
  a = layoutOf(product.a, product.batches);
  b = layoutOf(product.b, product.batches);
  c = layoutOf(product.c, product.batches);
}

Contractions::Contractions(const Device &device) : device(device) {
  device.use();
  cublasLt().create(&handle);
}

Contractions::~Contractions() { cublasLt().destroy.status(handle); }

const LtAlgorithm &Contractions::advise(const LtCall &it,
                                        const Contraction &contraction) {
  const LtProduct &product = it.product;
  uint32_t alignments[3] = {alignmentOf(product.a, product),
                            alignmentOf(product.b, product),
                            alignmentOf(product.c, product)};
  std::vector<int64_t> key = {
      product.batches,           product.epilogue,
      product.compute,           product.adds,
      contraction.desc.aux_row,  contraction.desc.bias_dtype,
      contraction.desc.aux_dtype};
  for (const LtMatrix *matrix : {&product.a, &product.b, &product.c})
    key.insert(key.end(), {matrix->transposed, matrix->rows, matrix->columns,
                           matrix->row, matrix->batch, matrix->dtype});
  key.insert(key.end(), alignments, alignments + 3);
  auto [found, added] = advice.try_emplace(key);
  if (!added)
    return found->second;

  const CublasLt &lt = cublasLt();
  LtPreference preference = nullptr;
  lt.preferenceCreate(&preference);
  auto prefer = [&](int attribute, const auto &value) {
    lt.preferenceSet(preference, attribute, static_cast<const void *>(&value),
                     sizeof(value));
  };
  prefer(ltPreferenceWorkspace, uint64_t(libraryWorkspace));
  prefer(ltPreferenceAlignmentA, alignments[0]);
  prefer(ltPreferenceAlignmentB, alignments[1]);
  prefer(ltPreferenceAlignmentC, alignments[2]);
  prefer(ltPreferenceAlignmentD, alignments[2]);
  LtHeuristic best = {};
  int count = 0;
  int status = lt.heuristic.status(handle, it.desc, it.a, it.b, it.c, it.c,
                                   preference, 1, &best, &count);
  lt.preferenceDestroy.status(preference);
  if (status || count == 0 || best.state) {
    advice.erase(found);
    const sw_gemm_desc &gemm = contraction.desc.gemm;
    raise("cuBLASLt has no algorithm for a contraction of ", gemm.m, " x ",
          gemm.n, " x ", gemm.k, " in ", product.batches, " batches of ",
          dtypeName(contraction.desc.a_dtype), " and ",
          dtypeName(contraction.desc.b_dtype), " to ", dtypeName(gemm.dtype),
          " with epilogue ", contraction.desc.epilogue);
  }
  return found->second = best.algorithm;
}

size_t Contractions::prepare(const Contraction &contraction) {
  device.use();
  LtCall it(contraction);
  it.algorithm = advise(it, contraction);
  list.push_back(std::move(it));
  return list.size() - 1;
}

void Contractions::call(size_t number, DevicePointer workspace,
                        Stream stream) const {
  const LtCall &it = list[number];
  const LtProduct &product = it.product;
  // Scalars have the type of the sums.
  float one = 1, beta = product.adds ? 1.f : 0.f;
  double wideOne = 1, wideBeta = product.adds ? 1 : 0;
  bool wide = product.compute == compute64;
  const void *alpha = wide ? static_cast<const void *>(&wideOne) : &one;
  const void *added = wide ? static_cast<const void *>(&wideBeta) : &beta;
  auto at = [](const LtMatrix &matrix, int64_t call) {
    return reinterpret_cast<void *>(
        matrix.address + Address(call * matrix.step * dtypeSize(matrix.dtype)));
  };
  for (int64_t i = 0; i < product.calls; ++i) {
    void *c = at(product.c, i);
    cublasLt().matmul(handle, it.desc, alpha, at(product.a, i), it.a,
                      at(product.b, i), it.b, added, c, it.c, c, it.c,
                      &it.algorithm, reinterpret_cast<void *>(workspace),
                      size_t(libraryWorkspace), stream);
  }
}

} // namespace stagewright::runtime::cuda
