//===- Contraction.cpp - matrix products by cuBLASLt ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "Cuda/Alternatives.h"
#include "DType.h"
#include "stagewright/Runtime/Error.h"

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
  case SW_F8E4M3FN:
    return realF8E4M3;
  case SW_F8E5M2:
    return realF8E5M2;
  default:
    return real32;
  }
}

/// The largest power of two, at most matrixAlignment, that divides all numbers
/// whose bitwise or is `bits`.
uint32_t alignmentOf(uint64_t bits) {
  bits |= uint64_t(matrixAlignment);
  return uint32_t(bits & -bits);
}

/// The common alignment of the matrices of all batches and calls.
uint32_t alignmentOf(const LtMatrix &matrix, const LtProduct &product) {
  auto size = uint64_t(dtypeSize(matrix.dtype));
  uint64_t bits = matrix.address;
  if (product.batches > 1)
    bits |= uint64_t(matrix.batch) * size;
  if (product.calls > 1)
    bits |= uint64_t(matrix.step) * size;
  return alignmentOf(bits);
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

LtCall &LtCall::operator=(LtCall &&other) noexcept {
  std::swap(product, other.product);
  std::swap(desc, other.desc);
  std::swap(a, other.a);
  std::swap(b, other.b);
  std::swap(c, other.c);
  std::swap(added, other.added);
  std::swap(algorithm, other.algorithm);
  std::swap(leaves, other.leaves);
  std::swap(isNothing, other.isNothing);
  return *this;
}

LtCall::LtCall(LtCall &&other) noexcept
    : product(other.product), desc(std::exchange(other.desc, nullptr)),
      a(std::exchange(other.a, nullptr)), b(std::exchange(other.b, nullptr)),
      c(std::exchange(other.c, nullptr)),
      added(std::exchange(other.added, nullptr)), algorithm(other.algorithm),
      leaves(other.leaves), isNothing(other.isNothing) {}

void LtCall::destroy() const {
  if (desc)
    cublasLt().descDestroy.status(desc);
  for (LtLayout layout : {a, b, c, added})
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
  if (contraction.aux && wanted.epilogue != SW_EPILOGUE_ADD) {
    set(desc, ltDescAux, contraction.aux);
    set(desc, ltDescAuxRow, wanted.aux_row);
    set(desc, ltDescAuxType, int32_t(typeOf(wanted.aux_dtype)));
  }
  a = layoutOf(product.a, product.batches);
  b = layoutOf(product.b, product.batches);
  c = layoutOf(product.c, product.batches);
  added = layoutOf(product.added, product.batches);
}

Contractions::Contractions(const Device &device) : device(device) {
  device.use();
  const CublasLt &lt = cublasLt();
  int status = lt.create.status(&handle);
  // 130100 is version 13.1, and 12040 the driver of CUDA 12.4.
  int version = int(lt.version()), newest = 0;
  driver().driverVersion.status(&newest);
  if (status && version / 10000 > newest / 1000)
    raise("'", lt.path, "' is cuBLASLt ", version / 10000,
          ", which the driver of CUDA ", newest / 1000, ".", newest % 1000 / 10,
          " does not run: ", lt.statusString(status), " (", status,
          "); install a newer driver, or an older cuBLASLt whose path "
          "STAGEWRIGHT_CUBLASLT_LIBRARY gives");
  if (status)
    CublasLtErrors::fail(lt.create.symbol, status);
}

Contractions::~Contractions() { cublasLt().destroy.status(handle); }

const LtAlgorithm *Contractions::advise(const LtCall &it,
                                        const Contraction &contraction) {
  const LtProduct &product = it.product;
  uint32_t alignments[4] = {
      alignmentOf(product.a, product), alignmentOf(product.b, product),
      alignmentOf(product.added, product), alignmentOf(product.c, product)};
  // The library gets the alignment of bias and aux from their addresses in the
  // description (CUBLASLT_MATMUL_DESC_BIAS_POINTER).
  std::vector<int64_t> key = {product.batches,
                              product.epilogue,
                              product.compute,
                              product.adds,
                              contraction.desc.aux_row,
                              contraction.desc.bias_dtype,
                              contraction.desc.aux_dtype,
                              alignmentOf(contraction.bias),
                              alignmentOf(contraction.aux)};
  for (const LtMatrix *matrix :
       {&product.a, &product.b, &product.added, &product.c})
    key.insert(key.end(), {matrix->transposed, matrix->rows, matrix->columns,
                           matrix->row, matrix->batch, matrix->dtype});
  key.insert(key.end(), alignments, alignments + 4);
  auto [found, added] = advice.try_emplace(key);
  if (!added)
    return found->second ? &*found->second : nullptr;

  const CublasLt &lt = cublasLt();
  LtPreference preference = nullptr;
  lt.preferenceCreate(&preference);
  auto prefer = [&](int attribute, const auto &value) {
    lt.preferenceSet(preference, attribute, static_cast<const void *>(&value),
                     sizeof(value));
  };
  prefer(ltPreferenceWorkspace, uint64_t(libraryWorkspace));
  prefer(ltPreferenceReductions, uint32_t(ltReductionInSums));
  prefer(ltPreferenceAlignmentA, alignments[0]);
  prefer(ltPreferenceAlignmentB, alignments[1]);
  prefer(ltPreferenceAlignmentC, alignments[2]);
  prefer(ltPreferenceAlignmentD, alignments[3]);
  LtHeuristic list[8] = {};
  int count = 0;
  int status = lt.heuristic.status(handle, it.desc, it.a, it.b, it.added, it.c,
                                   preference, 8, list, &count);
  lt.preferenceDestroy.status(preference);
  for (int i = 0; i < count && !status && !found->second; ++i)
    if (!list[i].state)
      found->second = list[i].algorithm;
  return found->second ? &*found->second : nullptr;
}

size_t Contractions::prepare(const Contraction &contraction) {
  device.use();
  const sw_contraction_desc &desc = contraction.desc;
  bool isAux = contraction.aux && desc.epilogue != SW_EPILOGUE_ADD;
  bool asks = (!desc.otherwise || !alternativesOnly()) &&
              (!isAux || desc.aux_row % auxRowMultiple == 0);
  LtCall it(contraction);
  const LtAlgorithm *found = asks ? advise(it, contraction) : nullptr;
  if (!found && desc.otherwise) {
    bool plain = desc.epilogue == SW_EPILOGUE_NONE;
    if (!plain) {
      Contraction product = contraction;
      product.desc = withoutEpilogue(desc);
      product.bias = product.aux = 0;
      if (keepsSum(desc.epilogue))
        product.c = contraction.aux;
      it = LtCall(product);
      found = advise(it, product);
    }
    it.leaves = true;
    it.isNothing = plain;
  }
  if (!found && !it.isNothing)
    raise("cuBLASLt has no algorithm for a contraction of ", desc.gemm.m, " x ",
          desc.gemm.n, " x ", desc.gemm.k, " in ", it.product.batches,
          " batches of ", dtypeName(desc.a_dtype), " and ",
          dtypeName(desc.b_dtype), " to ", dtypeName(desc.gemm.dtype),
          " with epilogue ", desc.epilogue);
  if (found)
    it.algorithm = *found;
  list.push_back(std::move(it));
  return list.size() - 1;
}

void Contractions::call(size_t number, DevicePointer workspace,
                        Stream stream) const {
  const LtCall &it = list[number];
  if (it.isNothing)
    return;
  const LtProduct &product = it.product;
  // cuBLASLt reads alpha and beta in the accumulation type.
  auto factor = float(product.alpha);
  float beta = product.adds ? 1.f : 0.f;
  double wideBeta = product.adds ? 1 : 0;
  bool wide = product.compute == compute64;
  const void *alpha =
      wide ? static_cast<const void *>(&product.alpha) : &factor;
  const void *added = wide ? static_cast<const void *>(&wideBeta) : &beta;
  auto at = [](const LtMatrix &matrix, int64_t call) {
    return reinterpret_cast<void *>(
        matrix.address + Address(call * matrix.step * dtypeSize(matrix.dtype)));
  };
  for (int64_t i = 0; i < product.calls; ++i) {
    cublasLt().matmul(handle, it.desc, alpha, at(product.a, i), it.a,
                      at(product.b, i), it.b, added, at(product.added, i),
                      it.added, at(product.c, i), it.c, &it.algorithm,
                      reinterpret_cast<void *>(workspace),
                      size_t(libraryWorkspace), stream);
  }
}

} // namespace stagewright::runtime::cuda
