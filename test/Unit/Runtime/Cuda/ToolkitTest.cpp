//===- ToolkitTest.cpp - our declarations against NVIDIA's ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled if there is a CUDA toolkit: every function and value that the
// runtime declares itself is compared with the toolkit's headers, and every
// symbol is looked up in the toolkit's libraries, which can be opened without a
// GPU. cuBLASLt can check descriptors without a GPU too.
//
//===----------------------------------------------------------------------===//

#include "Cuda/Contraction.h"
#include "Cuda/EmulatedHost.h"
#include "Cuda/Nccl.h"

#include <cublasLt.h>
#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

using namespace stagewright::runtime;

namespace {

/// Whether two types are passed the same way: integers and enumerations,
/// pointers or structures, of equal size.
template <typename A, typename B> constexpr bool alike() {
  constexpr bool numbers = (std::is_integral_v<A> || std::is_enum_v<A>) &&
                           (std::is_integral_v<B> || std::is_enum_v<B>);
  constexpr bool pointers = std::is_pointer_v<A> && std::is_pointer_v<B>;
  constexpr bool structures = std::is_class_v<A> && std::is_class_v<B>;
  return (numbers || pointers || structures) && sizeof(A) == sizeof(B);
}

template <typename Ours, typename Theirs> struct Alike : std::false_type {};
template <typename R, typename... P, typename S, typename... Q>
struct Alike<R (*)(P...), S (*)(Q...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(P) == sizeof...(Q))
      return alike<R, S>() && (alike<P, Q>() && ...);
    return false;
  }();
};

#define SAME(table, member, function)                                          \
  static_assert(Alike<decltype(std::declval<table>().member.address),          \
                      decltype(&::function)>::value,                           \
                #function);
#define SAME_DRIVER(member, function, ...) SAME(cuda::Driver, member, function)
#define SAME_LT(member, function, ...) SAME(cuda::CublasLt, member, function)
#define SAME_NCCL(member, function, ...) SAME(cuda::Nccl, member, function)
STAGEWRIGHT_CUDA_DRIVER(SAME_DRIVER)
STAGEWRIGHT_CUBLASLT(SAME_LT)
STAGEWRIGHT_NCCL(SAME_NCCL)

static_assert(+cuda::statusNotReady == CUDA_ERROR_NOT_READY);
static_assert(+cuda::statusPeerAlreadyEnabled ==
              CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(+cuda::attributeMultiprocessors ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(+cuda::attributeMajor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(+cuda::attributeMinor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(+cuda::functionMaxDynamicShared ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(+cuda::streamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(+cuda::eventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(+cuda::eventRecordExternal == CU_EVENT_RECORD_EXTERNAL);
static_assert(+cuda::hostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(+cuda::graphUseNodePriority ==
              CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
static_assert(+cuda::captureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);

static_assert(+cuda::real32 == CUDA_R_32F && +cuda::real64 == CUDA_R_64F);
static_assert(+cuda::real16 == CUDA_R_16F && +cuda::realBf16 == CUDA_R_16BF);
static_assert(+cuda::compute32 == CUBLAS_COMPUTE_32F);
static_assert(+cuda::compute32Tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(+cuda::compute64 == CUBLAS_COMPUTE_64F);
static_assert(+cuda::operationTranspose == CUBLAS_OP_T);
static_assert(+cuda::ltDescTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(+cuda::ltDescTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(+cuda::ltDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(+cuda::ltDescBias == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(+cuda::ltDescBiasType == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(+cuda::ltDescAux == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
static_assert(+cuda::ltDescAuxRow == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
static_assert(+cuda::ltDescAuxType ==
              CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
static_assert(+cuda::ltLayoutBatches == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(+cuda::ltLayoutBatchStride ==
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(+cuda::ltPreferenceWorkspace ==
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(+cuda::ltPreferenceAlignmentA ==
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(+cuda::ltPreferenceAlignmentD ==
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(+cuda::ltEpilogueDefault == CUBLASLT_EPILOGUE_DEFAULT);
static_assert(+cuda::ltEpilogueBias == CUBLASLT_EPILOGUE_BIAS);
static_assert(+cuda::ltEpilogueGelu == CUBLASLT_EPILOGUE_GELU);
static_assert(+cuda::ltEpilogueGeluBias == CUBLASLT_EPILOGUE_GELU_BIAS);
static_assert(+cuda::ltEpilogueGeluAux == CUBLASLT_EPILOGUE_GELU_AUX);
static_assert(+cuda::ltEpilogueGeluAuxBias == CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
static_assert(+cuda::ltEpilogueDgelu == CUBLASLT_EPILOGUE_DGELU);
static_assert(+cuda::ltEpilogueDgeluBias == CUBLASLT_EPILOGUE_DGELU_BGRAD);
static_assert(+cuda::ltEpilogueSumA == CUBLASLT_EPILOGUE_BGRADA);
static_assert(+cuda::ltEpilogueSumB == CUBLASLT_EPILOGUE_BGRADB);
static_assert(sizeof(cuda::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cuda::LtHeuristic) ==
              sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cuda::LtHeuristic, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid));
static_assert(NCCL_VERSION_CODE >= cuda::ncclOldest);
static_assert(offsetof(cuda::NcclConfig, version) ==
              offsetof(ncclConfig_t, version));
static_assert(offsetof(cuda::NcclConfig, network) ==
              offsetof(ncclConfig_t, netName));
static_assert(sizeof(cuda::NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(cuda::NcclConfig, blocking) ==
              offsetof(ncclConfig_t, blocking));
static_assert(offsetof(cuda::NcclConfig, maxBlocks) ==
              offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(cuda::NcclConfig, splitShare) ==
              offsetof(ncclConfig_t, splitShare));
static_assert(+cuda::ncclStillInProgress == ncclInProgress);
static_assert(+cuda::ncclInt8 == ncclInt8 && +cuda::ncclBytes == ncclUint8 &&
              +cuda::ncclInt32 == ncclInt32 &&
              +cuda::ncclUint32 == ncclUint32 &&
              +cuda::ncclInt64 == ncclInt64 &&
              +cuda::ncclUint64 == ncclUint64 &&
              +cuda::ncclFloat16 == ncclFloat16 &&
              +cuda::ncclFloat32 == ncclFloat32 &&
              +cuda::ncclFloat64 == ncclFloat64 &&
              +cuda::ncclBfloat16 == ncclBfloat16 && +cuda::ncclSum == ncclSum);
static_assert(+cuda::NcclConfig::undefined == NCCL_CONFIG_UNDEF_INT);

TEST(Toolkit, HasEveryFunctionOfTheLibraries) {
  Variable lt("STAGEWRIGHT_CUBLASLT_LIBRARY",
              TOOLKIT_LIBRARIES "/libcublasLt.so.13");
  Variable nccl("STAGEWRIGHT_NCCL_LIBRARY", TOOLKIT_LIBRARIES "/libnccl.so.2");
  EXPECT_GE(cuda::cublasLt().version(), 130000u);
  int version = 0;
  cuda::nccl().version(&version);
  EXPECT_GE(version, 21800);
}

TEST(Toolkit, HasEveryFunctionOfTheDriver) {
  // The stub library for linking, whose calls all return an error.
  Variable library("STAGEWRIGHT_CUDA_LIBRARY",
                   TOOLKIT_LIBRARIES "/stubs/libcuda.so");
  try {
    cuda::driver();
    FAIL() << "the driver for linking runs";
  } catch (const std::exception &error) {
    EXPECT_NE(std::string(error.what()).find("cuInit"), std::string::npos)
        << error.what();
  }
}

TEST(Toolkit, AcceptsDescriptions) {
  Variable library("STAGEWRIGHT_CUBLASLT_LIBRARY",
                   TOOLKIT_LIBRARIES "/libcublasLt.so.13");
  for (int32_t epilogue = SW_EPILOGUE_NONE; epilogue <= SW_EPILOGUE_ADD;
       ++epilogue) {
    cuda::Contraction it = {};
    it.desc.gemm = {SW_BF16, 0, 64, 32, 16, {1, 1}, 16, 1,
                    32,      1, 32, 1,  {}, {},     {}};
    it.desc.a_dtype = it.desc.b_dtype = SW_BF16;
    it.desc.bias_dtype = it.desc.aux_dtype = SW_BF16;
    it.desc.epilogue = epilogue;
    it.bias = it.aux = 4096;
    // 33 is a row stride for which the runtime would not request an algorithm.
    for (int64_t row : {32, 33}) {
      it.desc.aux_row = row;
      cuda::LtCall call(it);
      EXPECT_NE(call.desc, nullptr);
    }
  }
}

} // namespace
