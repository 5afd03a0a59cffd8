//===- LtCall.h - one product by the emulator's cuBLASLt --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_EMULATOR_LTCALL_H
#define STAGEWRIGHT_UNIT_EMULATOR_LTCALL_H

#include "Devices.h"

/// A matrix, column by column, or a vector in memory of its own.
struct LtArray {
  int type = stagewright::runtime::cuda::realBf16;
  int64_t rows = 0, columns = 1, row = 0; ///< row: 0 if packed
  int batches = 1;
  int64_t stride = 0;  ///< elements from one batch to the next
  uint64_t offset = 0; ///< of its address, bytes
  size_t room = 1 << 17;
  bool isWritten = true, isNull = false;
  uint32_t alignment = 256; ///< that the search for an algorithm assumes
};

/// D [16 x 32] = A^T B with k = 64, with the changes of a test.
struct LtCall {
  using Desc = stagewright::runtime::cuda::LtDesc;

  int compute = stagewright::runtime::cuda::compute32;
  bool transposesA = true, transposesB = false;
  LtArray a = {.rows = 64, .columns = 16}, b = {.rows = 64, .columns = 32};
  LtArray c = {.rows = 16, .columns = 32}, d = c;
  int epilogue = stagewright::runtime::cuda::ltEpilogueDefault;
  LtArray bias = {.rows = 16}, aux = {.rows = 16};
  LtArray workspace = {.isWritten = false};
  size_t workspaceBytes = 1 << 16;
  float beta = 0;
  bool cIsD = false; ///< C is in the memory of D, at its own offset
  /// An attribute that is set to `laterValue` after the search for an
  /// algorithm.
  int later = -1;
  uint64_t laterValue = 0;

  template <typename T> static void set(Desc desc, int attribute, T value) {
    stagewright::runtime::cuda::cublasLt().descSet(
        desc, attribute, static_cast<const void *>(&value), sizeof(value));
  }

  /// The status of the search for an algorithm, then that of the product.
  std::pair<int, int> run(Bench &bench,
                          stagewright::runtime::cuda::Stream stream) const {
    using namespace stagewright::runtime::cuda;
    const CublasLt &lt = cublasLt();
    auto place = [&](const LtArray &it) {
      DevicePointer at =
          it.isWritten ? bench.written(it.room) : bench.array(it.room);
      return it.isNull ? 0 : at + it.offset;
    };
    LtHandle handle = nullptr;
    lt.create(&handle);
    LtDesc desc = nullptr;
    lt.descCreate(&desc, compute, int(real32));
    set(desc, ltDescTransposeA, int32_t(transposesA));
    set(desc, ltDescTransposeB, int32_t(transposesB));
    set(desc, ltDescEpilogue, uint32_t(epilogue));
    set(desc, ltDescBias, place(bias));
    set(desc, ltDescBiasType, int32_t(bias.type));
    set(desc, ltDescAux, place(aux));
    set(desc, ltDescAuxType, int32_t(aux.type));
    set(desc, ltDescAuxRow, aux.row ? aux.row : aux.rows);
    LtPreference preference = nullptr;
    lt.preferenceCreate(&preference);
    auto most = uint64_t(1 << 16);
    lt.preferenceSet(preference, int(ltPreferenceWorkspace),
                     static_cast<const void *>(&most), sizeof(most));
    LtLayout layouts[4] = {};
    const LtArray *arrays[4] = {&a, &b, &c, &d};
    int status = 0;
    for (int i = 0; i < 4 && !status; ++i) {
      const LtArray &it = *arrays[i];
      status = lt.layoutCreate.status(&layouts[i], it.type, uint64_t(it.rows),
                                      uint64_t(it.columns),
                                      it.row ? it.row : it.rows);
      if (status)
        break;
      lt.layoutSet(layouts[i], int(ltLayoutBatches),
                   static_cast<const void *>(&it.batches), sizeof(it.batches));
      lt.layoutSet(layouts[i], int(ltLayoutBatchStride),
                   static_cast<const void *>(&it.stride), sizeof(it.stride));
      lt.preferenceSet(preference, int(ltPreferenceAlignmentA) + i,
                       static_cast<const void *>(&it.alignment),
                       sizeof(it.alignment));
    }
    LtHeuristic found;
    int count = 0;
    if (!status)
      status =
          lt.heuristic.status(handle, desc, layouts[0], layouts[1], layouts[2],
                              layouts[3], preference, 1, &found, &count);
    std::pair<int, int> statuses = {status, -1};
    if (status)
      return statuses;
    if (later >= 0)
      set(desc, later, laterValue);
    double one = 1, betas = double(beta);
    float one32 = 1;
    bool wide = compute == compute64;
    const void *factor = wide ? static_cast<const void *>(&one)
                              : static_cast<const void *>(&one32);
    const void *factorOfC = wide ? static_cast<const void *>(&betas)
                                 : static_cast<const void *>(&beta);
    auto pointer = [](DevicePointer it) {
      return reinterpret_cast<void *>(it);
    };
    void *result = pointer(place(d));
    void *added =
        cIsD ? static_cast<char *>(result) + c.offset : pointer(place(c));
    statuses.second = lt.matmul.status(
        handle, desc, factor, static_cast<const void *>(pointer(place(a))),
        layouts[0], static_cast<const void *>(pointer(place(b))), layouts[1],
        factorOfC, static_cast<const void *>(added), layouts[2], result,
        layouts[3], &found.algorithm, pointer(place(workspace)), workspaceBytes,
        stream);
    return statuses;
  }
};

#endif // STAGEWRIGHT_UNIT_EMULATOR_LTCALL_H
