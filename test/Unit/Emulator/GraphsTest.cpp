//===- GraphsTest.cpp - errors of the emulator's graph library ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans are rejected as cuDNN's "Graph API" documents for "Scaled dot product
// attention".
//
//===----------------------------------------------------------------------===//

#include "Cuda/GraphLibrary.h"
#include "Devices.h"
#include "stagewright-rt/runtime.h"

#include <dlfcn.h>
#include <functional>

using namespace stagewright::runtime::cuda;

namespace {

GraphLibrary *library(char *error = nullptr, size_t room = 0) {
  void *handle = dlopen(EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  auto open =
      reinterpret_cast<OpenGraphLibrary>(dlsym(handle, openGraphLibraryName));
  return open(1, 90, false, error, room);
}

/// Attention of 8 queries to 8 keys, 8 wide, in float16.
sw_attention_desc attention() {
  sw_attention_desc it = {};
  it.dtype = SW_F16;
  it.scale = 1;
  it.batch = it.heads = it.key_heads = 1;
  it.queries = it.keys = it.width = it.value_width = 8;
  for (int64_t *strides :
       {it.q, it.k, it.v, it.o, it.d_o, it.d_q, it.d_k, it.d_v}) {
    strides[0] = strides[1] = 64;
    strides[2] = 8;
    strides[3] = 1;
  }
  return it;
}

/// A convolution of 4 positions with a window of 1, in float32.
sw_convolve_desc convolution() {
  sw_convolve_desc it = {};
  it.batch = it.channels = it.filters = it.groups = 1;
  for (int i = 0; i < 3; ++i)
    it.image[i] = it.window[i] = it.result[i] = it.stride[i] = it.dilation[i] =
        1;
  it.image[2] = it.result[2] = 4;
  it.x[4] = it.w[4] = it.y[4] = 1;
  return it;
}

/// The error of preparing a plan of attention(); empty if there is none.
std::string refusal(std::function<void(sw_attention_desc &)> change,
                    bool gradient = false) {
  Bench bench;
  bench.kernel(""); // Without kernels calls are only recorded.
  sw_attention_desc desc = attention();
  change(desc);
  try {
    library()->prepareAttention(desc, gradient, false);
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

TEST(EmulatedGraphs, RefuseWidthsAndStrides) {
  EXPECT_EQ(refusal([](auto &) {}), "");
  EXPECT_EQ(refusal([](auto &it) { it.width = 256; }), "");
  EXPECT_EQ(refusal([](auto &it) { it.width = 264; }),
            "no attention of width 264");
  EXPECT_EQ(refusal([](auto &it) { it.width = 12; }),
            "no attention of width 12");
  EXPECT_EQ(refusal([](auto &it) { it.value_width = 12; }),
            "no attention of width 12");
  EXPECT_EQ(refusal([](auto &it) { it.width = 128; }, true), "");
  EXPECT_EQ(refusal([](auto &it) { it.value_width = 136; }, true),
            "no attention of width 136");
  for (auto strides :
       {&sw_attention_desc::q, &sw_attention_desc::k, &sw_attention_desc::v,
        &sw_attention_desc::o, &sw_attention_desc::d_o, &sw_attention_desc::d_q,
        &sw_attention_desc::d_k, &sw_attention_desc::d_v,
        &sw_attention_desc::bias})
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(refusal([&](auto &it) { (it.*strides)[i] = 12; }),
                "no attention with a stride of 12");
}

TEST(EmulatedGraphs, FailIfATestWantsIt) {
  for (const char *symbol : {"attention", "gradient"}) {
    Setting fail("FAIL", std::string(symbol) + "=1");
    EXPECT_EQ(refusal([](auto &) {}, true), "asked to fail");
  }
  Setting fail("FAIL", "stagewright_open_graph_library=7");
  char error[64];
  EXPECT_EQ(library(error, sizeof(error)), nullptr);
  EXPECT_EQ(error, std::string("asked to fail (7)"));
}

/// A call of a plan, with what a test changes in it.
struct Call {
  enum { Attention, Gradient, Convolution } kind = Attention;
  int operand = 0; ///< that is changed
  uint64_t offset = 0;
  size_t room = 1024, workspace = 1 << 20;
  bool isWritten = true;
  int32_t writes = SW_CONVOLVE_RESULT;
};

void run(const Call &it, Bench &bench, Stream stream) {
  bench.kernel("");
  GraphLibrary &graphs = *library();
  sw_convolve_desc convolves = convolution();
  convolves.writes = it.writes;
  size_t plan = it.kind == Call::Convolution
                    ? graphs.prepareConvolution(convolves)
                    : graphs.prepareAttention(attention(),
                                              it.kind == Call::Gradient, true);
  void *operands[10] = {};
  for (int i = 0; i < 9; ++i) {
    bool chosen = i == it.operand;
    size_t room = chosen ? it.room : 1024;
    DevicePointer array =
        chosen && !it.isWritten ? bench.array(room) : bench.written(room);
    operands[i] = reinterpret_cast<void *>(array + (chosen ? it.offset : 0));
  }
  graphs.call(plan, operands,
              reinterpret_cast<void *>(bench.array(it.workspace)), stream);
}

TEST(EmulatedGraphs, RunPlans) {
  for (auto kind : {Call::Attention, Call::Gradient, Call::Convolution}) {
    Bench bench;
    Stream stream = bench.stream();
    run({.kind = kind}, bench, stream);
    EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
  }
}

TEST(EmulatedGraphs, RefuseAStreamOfAnotherDevice) {
  Bench bench;
  bench.use(1);
  Stream stream = bench.stream();
  bench.use(0);
  EXPECT_THROW(run({}, bench, stream), std::exception);
}

using EmulatedGraphsDeathTest = testing::Test;

TEST(EmulatedGraphsDeathTest, FailIfAnArrayIsWrong) {
  auto expect = [](const Call &call, const char *why) {
    expectFailure(
        [&](Bench &bench, Stream stream) { run(call, bench, stream); }, why);
  };
  const char *misaligned = "719: a graph is given address ";
  for (int operand = 0; operand < 9; ++operand)
    expect({.kind = Call::Gradient, .operand = operand, .offset = 8},
           misaligned);
  for (int operand = 0; operand < 3; ++operand)
    expect({.kind = Call::Convolution, .operand = operand, .offset = 2},
           misaligned);
  expect({.workspace = 512}, "719: uses a workspace of .*not allocated");
  expect({.kind = Call::Convolution, .workspace = 512},
         "719: uses a workspace of .*not allocated");
  const char *unwritten = "719: a graph reads . bytes .*never written";
  const char *outside = "719: a graph .* bytes .*not allocated";
  for (int operand : {0, 1, 2}) // q, k, v
    expect({.operand = operand, .isWritten = false}, unwritten);
  for (int operand : {0, 1, 2, 3, 4}) // also o and stats
    expect({.operand = operand, .room = 16}, outside);
  for (int operand : {0, 1, 2, 3, 4, 5}) // also the gradient of o
    expect({.kind = Call::Gradient, .operand = operand, .isWritten = false},
           unwritten);
  for (int operand : {6, 7, 8})
    expect({.kind = Call::Gradient, .operand = operand, .room = 16}, outside);
  for (int32_t writes :
       {SW_CONVOLVE_RESULT, SW_CONVOLVE_IMAGE, SW_CONVOLVE_FILTER})
    for (int operand : {0, 1, 2}) {
      Call call = {.kind = Call::Convolution,
                   .operand = operand,
                   .room = 2,
                   .writes = writes};
      expect(call, outside);
      call.room = 1024;
      call.isWritten = false;
      bool isResult = operand == (writes == SW_CONVOLVE_RESULT  ? 2
                                  : writes == SW_CONVOLVE_IMAGE ? 0
                                                                : 1);
      if (!isResult)
        expect(call, unwritten);
    }
}

} // namespace
