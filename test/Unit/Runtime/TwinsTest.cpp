//===- TwinsTest.cpp - kernels of a device, run on the host ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Twins/Twins.h"
#include "Error.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace stagewright::runtime;

namespace {

/// A kernel over one buffer of floats.
struct Kernel {
  std::vector<float> data;
  int64_t extent;
  sw_twin twin = {};

  Kernel(void (*run)(sw_thread *, void *const *), int64_t count, int64_t grid,
         int64_t block, int64_t shared)
      : data(size_t(count)), extent(count * int64_t(sizeof(float))) {
    std::iota(data.begin(), data.end(), 0.0f);
    twin.run = run;
    twin.name = "kernel";
    twin.extents = &extent;
    twin.arguments = 1;
    twin.meets = shared >= 0;
    twin.grid[0] = grid, twin.grid[1] = twin.grid[2] = 1;
    twin.block[0] = block, twin.block[1] = twin.block[2] = 1;
    twin.shared = std::max<int64_t>(shared, 0);
  }

  void run() {
    void *pointer = data.data();
    void *arguments[] = {&pointer};
    runTwin(twin, arguments);
  }

  std::string error() {
    try {
      run();
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
};

float *bufferOf(void *const *arguments) {
  float *pointer;
  std::memcpy(&pointer, arguments[0], sizeof(pointer));
  return pointer;
}

float &at(sw_thread *thread, float *base, int64_t index, bool writes) {
  thread->access(thread, base + index, sizeof(float), writes);
  return base[index];
}

int64_t numberOf(const sw_thread *thread) {
  return thread->block[0] * 64 + thread->thread[0];
}

/// Every thread doubles one element.
void twice(sw_thread *thread, void *const *arguments) {
  at(thread, bufferOf(arguments), numberOf(thread), true) *= 2;
}

/// The threads of a block exchange elements through shared memory.
template <bool waits> void reverse(sw_thread *thread, void *const *arguments) {
  auto *shared = static_cast<float *>(thread->shared);
  float *data = bufferOf(arguments);
  int64_t mine = thread->thread[0];
  at(thread, shared, mine, true) = at(thread, data, numberOf(thread), false);
  if (waits)
    thread->barrier(thread);
  at(thread, data, numberOf(thread), true) =
      at(thread, shared, 63 - mine, false);
}

/// Each thread adds the element of its neighbour in the warp.
void neighbours(sw_thread *thread, void *const *arguments) {
  float *data = bufferOf(arguments);
  uint32_t bits;
  std::memcpy(&bits, &data[numberOf(thread)], sizeof(bits));
  bits = thread->shuffle(thread, bits, 1);
  float other;
  std::memcpy(&other, &bits, sizeof(other));
  at(thread, data, numberOf(thread), true) += other;
}

/// Only some come to the barrier.
void alone(sw_thread *thread, void *const *) {
  if (thread->thread[0] == 5)
    thread->barrier(thread);
}

} // namespace

TEST(Twins, EveryThreadOfTheGridRunsOnce) {
  Kernel kernel(twice, 128, 2, 64, -1);
  kernel.run();
  for (size_t i = 0; i < kernel.data.size(); ++i)
    EXPECT_EQ(kernel.data[i], 2.0f * float(i));
}

TEST(Twins, ThreadsMeetAtBarriers) {
  Kernel kernel(reverse<true>, 128, 2, 64, 256);
  kernel.run();
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(kernel.data[i], float(63 - i));
    EXPECT_EQ(kernel.data[64 + i], float(64 + 63 - i));
  }
}

TEST(Twins, ThreadsOfAWarpExchangeValues) {
  Kernel kernel(neighbours, 64, 1, 64, 0);
  kernel.run();
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(kernel.data[i], float(i) + float(i ^ 1));
}

TEST(Twins, AnAccessOutsideItsBuffersIsAnErrorBeforeItHappens) {
  for (int64_t shared : {-1, 0}) {
    Kernel kernel(twice, 100, 2, 64, shared);
    EXPECT_EQ(kernel.error(),
              "thread [36, 0, 0] of block [1, 0, 0] of kernel 'kernel' writes "
              "4 bytes outside the buffers of the launch");
  }
}

TEST(Twins, AMissingBarrierIsAnError) {
  Kernel kernel(reverse<false>, 64, 1, 64, 256);
  EXPECT_NE(
      kernel.error().find("which another thread touches before they meet"),
      std::string::npos)
      << kernel.error();
}

TEST(Twins, ABarrierThatOthersDoNotReachIsAnError) {
  Kernel kernel(alone, 64, 1, 64, 0);
  EXPECT_EQ(kernel.error(),
            "thread [5, 0, 0] of block [0, 0, 0] of kernel 'kernel' waits at a "
            "barrier that others of its block do not come to");
}

TEST(Twins, NarrowContractionsRoundOnce) {
  // 1 + 2^-7 in bfloat16, times itself, summed 3 times: rounded at the end.
  std::vector<uint16_t> a(3, 0x3f81), b(3, 0x3f81), c(1, 0);
  sw_contraction_desc desc = {};
  desc.a_dtype = desc.b_dtype = desc.gemm.dtype = SW_BF16;
  desc.gemm.m = desc.gemm.n = 1, desc.gemm.k = 3;
  desc.gemm.batch[0] = desc.gemm.batch[1] = 1;
  desc.gemm.a_col = desc.gemm.b_row = 1;
  contractOnHost(desc, a.data(), b.data(), c.data(), nullptr, nullptr);
  // 3 (1 + 2^-6 + 2^-14) = 3.0470..., the nearest of steps of 2^-6 is 3.046875.
  EXPECT_EQ(c[0], 0x4043);
  desc.a_dtype = desc.b_dtype = desc.gemm.dtype = SW_F16;
  std::fill(a.begin(), a.end(), uint16_t(0x3c01)); // 1 + 2^-10
  std::fill(b.begin(), b.end(), uint16_t(0x4000)); // 2
  contractOnHost(desc, a.data(), b.data(), c.data(), nullptr, nullptr);
  // 6 (1 + 2^-10) = 6.0058..., in steps of 2^-8: 6.00390625 or 6.0078125.
  EXPECT_EQ(c[0], 0x4602);
}

TEST(Twins, EpiloguesFollowTheSum) {
  // 2 times 1, 1/2, -3: with the row 1, 1, 1 the arguments 3, 2, -5.
  std::vector<float> a = {2}, b = {1, 0.5F, -3}, row = {1, 1, 1}, c(3), aux(3);
  sw_contraction_desc desc = {};
  desc.a_dtype = desc.b_dtype = desc.gemm.dtype = SW_F32;
  desc.bias_dtype = desc.aux_dtype = SW_F32;
  desc.gemm.m = desc.gemm.k = 1, desc.gemm.n = desc.aux_row = 3;
  desc.gemm.batch[0] = desc.gemm.batch[1] = 1;
  desc.gemm.a_col = desc.gemm.b_col = desc.gemm.c_col = 1;
  desc.epilogue = SW_EPILOGUE_BIAS_GELU_AUX;
  contractOnHost(desc, a.data(), b.data(), c.data(), row.data(), aux.data());
  EXPECT_EQ(aux, (std::vector<float>{3, 2, -5}));
  // By jax.nn.gelu(x, approximate=True).
  EXPECT_NEAR(c[0], 2.9963627, 1e-6);
  EXPECT_NEAR(c[1], 1.9545977, 1e-6);
  EXPECT_NEAR(c[2], -2.2917962e-7, 1e-8);
  desc.epilogue = SW_EPILOGUE_DGELU;
  contractOnHost(desc, a.data(), b.data(), c.data(), nullptr, aux.data());
  // By jax.grad of the same at 3, 2, -5, times 2, 1, -6.
  EXPECT_NEAR(c[0], 2 * 1.0115842, 1e-5);
  EXPECT_NEAR(c[1], 1.0860993, 1e-5);
  EXPECT_NEAR(c[2], -6 * -1.5463620e-6, 1e-8);
}

TEST(Twins, FactorsOfTF32HaveTenBits) {
  // 1 + 2^-11 lies between 1 and 1 + 2^-10: to the even one.
  std::vector<float> a = {1 + 0x1p-11F}, b = {1 + 3 * 0x1p-11F}, c(1);
  sw_contraction_desc desc = {};
  desc.a_dtype = desc.b_dtype = desc.gemm.dtype = SW_F32;
  desc.gemm.m = desc.gemm.n = desc.gemm.k = 1;
  desc.gemm.batch[0] = desc.gemm.batch[1] = 1;
  desc.tf32 = 1;
  contractOnHost(desc, a.data(), b.data(), c.data(), nullptr, nullptr);
  EXPECT_EQ(c[0], 1 + 0x1p-9F);
}
