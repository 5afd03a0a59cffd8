//===- CublasLtTest.cpp - errors of the emulator's cuBLASLt ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each error is documented in "cuBLAS", section "cublasLtMatmul()", or found by
// the library's own checks of its arguments.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include <gtest/gtest.h>

#include <optional>

using namespace stagewright::runtime::cuda;

namespace {

enum : int { invalid = 7, notSupported = 15 };

/// C [16 x 32] = A^T B with k = 64, or what a test changes of that.
struct Call {
  int a = realBf16, b = realBf16, c = realBf16, compute = compute32;
  bool transposesA = true;
  int64_t m = 16, n = 32, k = 64, kOfB = 64, row = 0; ///< row: of A, 0: packed
  int epilogue = ltEpilogueDefault, batches = 1;
  uint64_t aOffset = 0, workspaceOffset = 0, biasOffset = 0;
  size_t workspace = 1 << 16;
  int64_t auxRow = 16;
  /// Where C is if it is not D: byte offsets after the start of B, or of D.
  std::optional<uint64_t> behindB = {}, behindD = {};

  int status() const;

private:
  static LtLayout layout(int type, int64_t rows, int64_t columns, int64_t row,
                         int batches) {
    LtLayout it = nullptr;
    if (cublasLt().layoutCreate.status(&it, type, uint64_t(rows),
                                       uint64_t(columns), row))
      return nullptr;
    auto count = int32_t(batches);
    int64_t stride = row * columns;
    cublasLt().layoutSet(it, int(ltLayoutBatches),
                         static_cast<const void *>(&count), sizeof(count));
    cublasLt().layoutSet(it, int(ltLayoutBatchStride),
                         static_cast<const void *>(&stride), sizeof(stride));
    return it;
  }
  template <typename T> static void set(LtDesc desc, int attribute, T value) {
    cublasLt().descSet(desc, attribute, static_cast<const void *>(&value),
                       sizeof(value));
  }
};

int Call::status() const {
  Bench bench;
  const CublasLt &lt = cublasLt();
  constexpr size_t room = 1 << 17;
  DevicePointer arrays[3] = {bench.written(room), bench.written(room),
                             bench.written(room)};
  DevicePointer space = bench.array(room), bias = bench.written(room),
                aux = bench.written(room);
  LtHandle handle = nullptr;
  lt.create(&handle);
  LtDesc desc = nullptr;
  lt.descCreate(&desc, compute,
                compute == compute64 ? int(real64) : int(real32));
  set(desc, ltDescTransposeA, int32_t(transposesA));
  set(desc, ltDescEpilogue, uint32_t(epilogue));
  set(desc, ltDescBias, bias + biasOffset);
  set(desc, ltDescBiasType, int32_t(c));
  set(desc, ltDescAux, aux);
  set(desc, ltDescAuxRow, auxRow);
  int64_t rows = transposesA ? k : m, columns = transposesA ? m : k;
  LtLayout left = layout(a, rows, columns, row ? row : rows, batches);
  LtLayout right = layout(b, kOfB, n, kOfB, batches);
  LtLayout result = layout(c, m, n, m, batches);
  LtPreference preference = nullptr;
  lt.preferenceCreate(&preference);
  auto most = uint64_t(1 << 16);
  lt.preferenceSet(preference, int(ltPreferenceWorkspace),
                   static_cast<const void *>(&most), sizeof(most));
  LtHeuristic found;
  int count = 0, status = invalid;
  if (left)
    status = lt.heuristic.status(handle, desc, left, right, result, result,
                                 preference, 1, &found, &count);
  float one[2] = {1, 0}, beta[2] = {behindB || behindD ? 1.f : 0.f, 0};
  DevicePointer added =
      behindB ? arrays[1] + *behindB : arrays[2] + behindD.value_or(0);
  auto at = [](DevicePointer address) {
    return reinterpret_cast<void *>(address);
  };
  if (status == 0)
    status = lt.matmul.status(
        handle, desc, static_cast<const void *>(one),
        static_cast<const void *>(at(arrays[0] + aOffset)), left,
        static_cast<const void *>(at(arrays[1])), right,
        static_cast<const void *>(beta), static_cast<const void *>(at(added)),
        result, at(arrays[2]), result, &found.algorithm,
        at(space + workspaceOffset), workspace, bench.stream());
  for (LtLayout it : {left, right, result})
    if (it)
      lt.layoutDestroy(it);
  lt.preferenceDestroy(preference);
  lt.descDestroy(desc);
  lt.destroy(handle);
  return status;
}

TEST(EmulatedCublasLt, TakesAProduct) {
  EXPECT_EQ(Call().status(), 0);
  EXPECT_EQ(Call{.epilogue = ltEpilogueGeluAuxBias}.status(), 0);
  EXPECT_EQ((Call{.a = realF8E4M3, .b = realF8E5M2}.status()), 0);
}

TEST(EmulatedCublasLt, RefusesItsWorkspace) {
  EXPECT_EQ(Call{.workspaceOffset = 64}.status(), invalid);
  EXPECT_EQ(Call{.workspace = 1 << 15}.status(), invalid);
}

TEST(EmulatedCublasLt, RefusesExtentsThatDoNotMeet) {
  EXPECT_EQ(Call{.kOfB = 48}.status(), invalid);
  EXPECT_EQ(Call{.row = 63}.status(), invalid);
}

TEST(EmulatedCublasLt, RefusesEpiloguesWhoseArraysAreNotAligned) {
  EXPECT_EQ((Call{.epilogue = ltEpilogueBias, .biasOffset = 1}.status()),
            invalid);
  EXPECT_EQ((Call{.epilogue = ltEpilogueGeluAux, .auxRow = 20}.status()),
            invalid);
  EXPECT_EQ((Call{.epilogue = ltEpilogueGeluAux, .auxRow = 8}.status()),
            invalid);
}

TEST(EmulatedCublasLt, RefusesOperandsLessAlignedThanPromised) {
  EXPECT_EQ(Call{.aOffset = 2}.status(), invalid);
}

TEST(EmulatedCublasLt, TakesACThatIsNotD) {
  EXPECT_EQ(Call{.behindB = 0}.status(), 0);
  EXPECT_EQ(Call{.behindD = 0}.status(), 0);
}

TEST(EmulatedCublasLt, RefusesACThatIsPartOfD) {
  EXPECT_EQ(Call{.behindD = 256}.status(), invalid);
}

TEST(EmulatedCublasLt, RefusesACThatIsLessAlignedThanPromised) {
  EXPECT_EQ(Call{.behindB = 2}.status(), invalid);
}

TEST(EmulatedCublasLt, HasNoAlgorithmForSomeTypesAndShapes) {
  EXPECT_EQ(Call{.b = real16}.status(), notSupported);
  EXPECT_EQ(Call{.compute = compute64}.status(), notSupported);
  EXPECT_EQ((Call{.epilogue = ltEpilogueBias, .batches = 2}.status()),
            notSupported);
  EXPECT_EQ((Call{.a = realF8E5M2, .b = realF8E5M2}.status()), notSupported);
  EXPECT_EQ(
      (Call{.a = realF8E4M3, .b = realF8E4M3, .transposesA = false}.status()),
      notSupported);
  EXPECT_EQ((Call{.a = realF8E4M3, .b = realF8E4M3, .m = 24}.status()),
            notSupported);
}

} // namespace
