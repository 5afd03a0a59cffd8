//===- Counters.h - cost of a kernel's accesses -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_COUNTERS_H
#define STAGEWRIGHT_TEST_CUDA_PTX_COUNTERS_H

#include <cstdint>

namespace emulator::ptx {

/// Addresses of the lanes of a warp that take part in one access.
struct Request {
  uint64_t address[32];
  int lanes = 0;
  int bytes = 0; ///< per lane
};

/// Global loads or stores: each access of a warp is one request, which moves
/// whole sectors.
struct Traffic {
  static constexpr int sector = 32; ///< bytes: guide, "Device Memory Accesses"
  int64_t requests = 0, sectors = 0, bytes = 0;

  void add(const Request &request);
};

/// Shared memory has 32 banks, each of which serves one word of 4 bytes at a
/// time: a request takes as many waves as the max number of words in one bank.
/// Accesses of 8 and 16 bytes are split into half and quarter warps.
struct Banks {
  int64_t requests = 0, waves = 0;

  void add(const Request &request);
};

struct Counters {
  int64_t launches = 0, blocks = 0;
  int64_t instructions = 0; ///< counted once per warp
  int64_t barriers = 0;     ///< counted once per block
  Traffic loads, stores;
  Banks shared;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_COUNTERS_H
