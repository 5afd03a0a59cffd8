//===- CublasLt.h - cuBLASLt's matrix products ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of cuBLASLt that the runtime calls, declared as Driver.h declares
// that of the driver. Source: "cuBLAS", chapter "Using the cuBLASLt API",
// version 13. Every function and value here is also in version 12, which is
// used if version 13 is not installed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_CUBLASLT_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_CUBLASLT_H

#include "Driver.h"

namespace stagewright::runtime::cuda {

/// The library's handles are opaque pointers.
using LtHandle = void *;
using LtDesc = void *;
using LtLayout = void *;
using LtPreference = void *;

/// Alignment of a workspace, bytes; with any other address cublasLtMatmul
/// returns CUBLAS_STATUS_INVALID_VALUE. Source: the parameter `workspace` of
/// "cublasLtMatmul()".
inline constexpr int64_t workspaceAlignment = 256;
/// Max alignment of a matrix that an algorithm needs, bytes. Source: the
/// default of CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES to D_BYTES.
inline constexpr int64_t matrixAlignment = 256;
/// The row stride of an auxiliary matrix of GELU must be a multiple of this,
/// elements. Source: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD. The address of a
/// bias must be a multiple of the size of its elements (the library's own error
/// text).
inline constexpr int64_t auxRowMultiple = 8;

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// Values of the library's enumerations.
enum : int {
  real32 = 0,
  real64 = 1,
  real16 = 2,
  realBf16 = 14,
  realF8E4M3 = 28,
  realF8E5M2 = 29
};
enum : int { compute32 = 68, compute32Tf32 = 77, compute64 = 70 };
enum : int { operationNone = 0, operationTranspose = 1 };
enum : int { orderColumn = 0 };
enum : int {
  ltDescTransposeA = 3,
  ltDescTransposeB = 4,
  ltDescEpilogue = 7,
  ltDescBias = 8,
  ltDescBiasBatch = 10,
  ltDescAux = 11,
  ltDescAuxRow = 12,
  ltDescAuxBatch = 13,
  ltDescAuxType = 22,
  ltDescBiasType = 26
};
enum : int { ltLayoutBatches = 5, ltLayoutBatchStride = 6 };
enum : int {
  ltPreferenceWorkspace = 1,
  ltPreferenceReductions = 3,
  ltPreferenceAlignmentA = 5,
  ltPreferenceAlignmentB = 6,
  ltPreferenceAlignmentC = 7,
  ltPreferenceAlignmentD = 8
};
/// For split sums: the parts are added in the type of the sums, in fixed order.
enum : int { ltReductionInSums = 2 };
enum : int {
  ltEpilogueDefault = 1,
  ltEpilogueBias = 4,
  ltEpilogueGelu = 32,
  ltEpilogueGeluBias = 36,
  ltEpilogueGeluAux = 160,
  ltEpilogueGeluAuxBias = 164,
  ltEpilogueDgelu = 192,
  ltEpilogueDgeluBias = 208,
  ltEpilogueSumA = 256,
  ltEpilogueSumB = 512
};

// NOLINTBEGIN(bugprone-macro-parentheses): types are among the arguments.
/// One line per function: the member, the symbol, the types of its parameters.
#define STAGEWRIGHT_CUBLASLT(X)                                                \
  X(create, cublasLtCreate, LtHandle *)                                        \
  X(destroy, cublasLtDestroy, LtHandle)                                        \
  X(descCreate, cublasLtMatmulDescCreate, LtDesc *, int, int)                  \
  X(descDestroy, cublasLtMatmulDescDestroy, LtDesc)                            \
  X(descSet, cublasLtMatmulDescSetAttribute, LtDesc, int, const void *,        \
    size_t)                                                                    \
  X(layoutCreate, cublasLtMatrixLayoutCreate, LtLayout *, int, uint64_t,       \
    uint64_t, int64_t)                                                         \
  X(layoutDestroy, cublasLtMatrixLayoutDestroy, LtLayout)                      \
  X(layoutSet, cublasLtMatrixLayoutSetAttribute, LtLayout, int, const void *,  \
    size_t)                                                                    \
  X(preferenceCreate, cublasLtMatmulPreferenceCreate, LtPreference *)          \
  X(preferenceDestroy, cublasLtMatmulPreferenceDestroy, LtPreference)          \
  X(preferenceSet, cublasLtMatmulPreferenceSetAttribute, LtPreference, int,    \
    const void *, size_t)                                                      \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic, LtHandle, LtDesc, LtLayout,     \
    LtLayout, LtLayout, LtLayout, LtPreference, int, LtHeuristic *, int *)     \
  X(matmul, cublasLtMatmul, LtHandle, LtDesc, const void *, const void *,      \
    LtLayout, const void *, LtLayout, const void *, const void *, LtLayout,    \
    void *, LtLayout, const LtAlgorithm *, void *, size_t, Stream)

struct CublasLtErrors {
  [[noreturn]] static void fail(const char *symbol, int status);
};

struct CublasLt {
#define STAGEWRIGHT_MEMBER(member, function, ...)                              \
  Function<CublasLtErrors, __VA_ARGS__> member{#function};
  STAGEWRIGHT_CUBLASLT(STAGEWRIGHT_MEMBER)
#undef STAGEWRIGHT_MEMBER

  const char *(*statusString)(int) = nullptr; ///< cublasLtGetStatusString
  size_t (*version)() = nullptr;              ///< cublasLtGetVersion
  std::string path;
};
// NOLINTEND(bugprone-macro-parentheses)

/// The library, opened by the first call; throws an `Error` if it is missing.
const CublasLt &cublasLt();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_CUBLASLT_H
