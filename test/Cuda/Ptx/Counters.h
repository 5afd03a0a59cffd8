//===- Counters.h - what a kernel's accesses cost ---------------*- C++ -*-===//
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
  int bytes = 0; ///< of each lane
};

/// Of one direction: a warp's access is a request, which moves whole sectors.
struct Traffic {
  static constexpr int sector = 32; ///< bytes; "Device Memory Accesses", guide
  int64_t requests = 0, sectors = 0, bytes = 0;

  void add(const Request &request);
};

/// Shared memory has 32 banks of 4 bytes, each of which serves one word at a
/// time: a request takes as many waves as its fullest bank has words. Accesses
/// of 8 and 16 bytes are those of half and quarter warps.
struct Banks {
  int64_t requests = 0, waves = 0;

  void add(const Request &request);
};

struct Counters {
  int64_t launches = 0, blocks = 0;
  int64_t instructions = 0; ///< of warps
  int64_t barriers = 0;     ///< of blocks
  Traffic loads, stores;
  Banks shared;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_COUNTERS_H
