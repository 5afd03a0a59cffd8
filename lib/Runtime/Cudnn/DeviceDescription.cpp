//===- DeviceDescription.cpp - descriptions of absent devices -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cudnn/DeviceDescription.h"

#include "stagewright/Runtime/Error.h"

#include <sstream>

namespace stagewright::runtime::cudnn {

namespace {

/// Memory is in bytes. Source: CUDA's "Compute Capabilities", and data sheets.
struct Described {
  const char *name;
  int architecture;
  int processors, sharedMemory, blocks;
  long memory;
};
constexpr Described devices[] = {
    {"NVIDIA A100", 80, 108, 166912, 32, 42949672960},
    {"NVIDIA H100", 90, 132, 232448, 32, 85899345920},
    {"NVIDIA B200", 100, 148, 232448, 32, 193273528320}};

} // namespace

std::string describeDevice(int architecture) {
  for (const Described &it : devices) {
    if (it.architecture != architecture)
      continue;
    std::ostringstream text;
    text << R"({"deviceName":")" << it.name << R"(","cudaDeviceId":0,)"
         << R"("deviceVer":)" << it.architecture * 10
         << R"(,"driverVer":13000,)"
         << R"("multiProcessorCount":)" << it.processors
         << R"(,"maxSharedMemoryPerBlockOptin":)" << it.sharedMemory
         << R"(,"maxCtasPerSM":)" << it.blocks << R"(,"totalGlobalMem":)"
         << it.memory << R"(,"maxGridSize":[2147483647,65535,65535],)"
         << R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
         << R"("warpSize":32,"maxSharedMemoryPerBlock":49152,)"
         << R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
         << R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
         << R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,)"
         << R"("smClockRateKHz":1980000,"memClockRateKHz":2619000,)"
         << R"("l2CacheSize":52428800})";
    return text.str();
  }
  raise("no device of sm_", architecture,
        " is described; expected sm_80, sm_90 or sm_100");
}

} // namespace stagewright::runtime::cudnn
