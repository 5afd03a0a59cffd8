//===- PlansTest.cpp - our graphs in the real cuDNN -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The real library builds plans for devices from their descriptions, without a
// GPU: for three architectures it accepts our graphs or returns an error.
// Results of the plans can only be tested on a GPU.
//
//===----------------------------------------------------------------------===//

#include "Cudnn/Plans.h"
#include "Cudnn/DeviceDescription.h"
#include "stagewright-rt/runtime.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace stagewright::runtime::cudnn;

namespace {

Target targetOf(int architecture) {
  return {nullptr, describeDevice(architecture), architecture};
}

/// Opens the libraries once; without cuDNN the tests fail.
class Plans : public testing::TestWithParam<int> {
protected:
  static void SetUpTestSuite() {
    // Loaded first, so that cuDNN finds it under the driver's name.
    void *driver = dlopen(DRIVER_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    taken = reinterpret_cast<int (*)()>(dlsym(driver, "driverTaken"));
    void *cudnn = dlopen(CUDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(cudnn, nullptr) << dlerror();
    useLibrary(cudnn);
  }
  static inline int (*taken)() = nullptr;
};

/// Queries, keys and values as slices of one array [batch, position, (head,
/// width)], as in models.
sw_attention_desc attention(int32_t dtype, bool causal, int64_t batch,
                            int64_t heads, int64_t keyHeads, int64_t length,
                            int64_t width) {
  sw_attention_desc d = {};
  d.dtype = dtype, d.causal = causal, d.scale = 0.125f;
  d.batch = batch, d.heads = heads, d.key_heads = keyHeads;
  d.queries = d.keys = length, d.width = d.value_width = width;
  auto lie = [&](int64_t (&strides)[4], int64_t row) {
    int64_t list[] = {length * row, width, row, 1};
    std::copy(list, list + 4, strides);
  };
  int64_t row = (heads + 2 * keyHeads) * width;
  for (auto *strides : {&d.q, &d.k, &d.v, &d.d_q, &d.d_k, &d.d_v})
    lie(*strides, row);
  lie(d.o, heads * width);
  lie(d.d_o, heads * width);
  return d;
}

TEST_P(Plans, TakeAttentionAndItsGradient) {
  Target target = targetOf(GetParam());
  // In the first, queries have more heads than keys, so slices differ in width.
  for (auto desc : {attention(SW_BF16, true, 4, 12, 4, 1024, 64),
                    attention(SW_F16, false, 2, 8, 8, 512, 128)}) {
    Plan forward = Plan::attention(target, desc, false, true);
    int before = taken();
    Plan gradient = Plan::attention(target, desc, true, true);
    EXPECT_FALSE(forward.name().empty());
    EXPECT_GT(taken(), before);
    // If sums may be in any order, the workspace is at least dq in float32; if
    // not, on some devices, an array of queries by keys.
    Target any = target;
    any.anyOrder = true;
    int64_t least = desc.batch * desc.heads * desc.queries * desc.width *
                    int64_t(sizeof(float)),
            free = Plan::attention(any, desc, true, true).workspace(),
            scores = desc.batch * desc.heads * desc.queries * desc.keys * 2;
    EXPECT_GE(free, least);
    if (target.architecture == 90) {
      EXPECT_LT(free, gradient.workspace());
      EXPECT_GE(gradient.workspace(), scores);
    }
  }
  Plan::attention(target, attention(SW_BF16, true, 1, 2, 2, 100, 32), false,
                  false);
}

/// A bias per sample for all heads, or per head for all samples.
sw_attention_desc biased(int32_t dtype, bool ofHeads) {
  sw_attention_desc desc = attention(SW_BF16, false, 2, 4, 4, 256, 64);
  desc.has_bias = 1, desc.bias_dtype = dtype;
  desc.bias[ofHeads ? 1 : 0] = 256 * 256;
  desc.bias[2] = 256, desc.bias[3] = 1;
  return desc;
}

TEST_P(Plans, TakeBiases) {
  Target target = targetOf(GetParam());
  Target any = target;
  any.anyOrder = true;
  for (auto desc : {biased(SW_F32, false), biased(SW_BF16, true)}) {
    EXPECT_FALSE(Plan::attention(target, desc, false, true).name().empty());
    // Its deterministic gradient has no plan on the newest architectures.
    if (target.architecture < 100)
      Plan::attention(target, desc, true, true);
    else
      EXPECT_THROW(Plan::attention(target, desc, true, true), std::exception);
    EXPECT_FALSE(Plan::attention(any, desc, true, true).name().empty());
  }
}

/// NHWC images, and filters in the layout that the library prefers for these.
sw_convolve_desc convolution(int32_t dtype, int32_t writes, int64_t batch,
                             int64_t channels, int64_t side, int64_t filters,
                             int64_t window, int64_t stride) {
  int64_t result = (side + stride - 1) / stride;
  int64_t padding = std::max<int64_t>((result - 1) * stride + window - side, 0);
  sw_convolve_desc d = {};
  d.writes = writes;
  d.x_dtype = d.w_dtype = d.y_dtype = dtype;
  d.batch = batch, d.channels = channels, d.filters = filters, d.groups = 1;
  for (int i = 0; i < 3; ++i) {
    d.image[i] = i ? side : 1, d.window[i] = i ? window : 1;
    d.result[i] = i ? result : 1, d.stride[i] = i ? stride : 1;
    d.dilation[i] = 1;
    d.before[i] = i ? padding / 2 : 0,
    d.after[i] = i ? padding - padding / 2 : 0;
  }
  auto lie = [](int64_t (&strides)[5], const int64_t (&extents)[3], int64_t c) {
    int64_t row = c * extents[2], image = row * extents[1];
    int64_t list[] = {image, 1, image, row, c};
    std::copy(list, list + 5, strides);
  };
  lie(d.x, d.image, channels);
  lie(d.w, d.window, channels);
  lie(d.y, d.result, filters);
  return d;
}

TEST_P(Plans, TakeConvolutionsAndTheirGradients) {
  Target target = targetOf(GetParam());
  for (int32_t dtype : {SW_F32, SW_BF16, SW_F16})
    for (int32_t writes :
         {SW_CONVOLVE_RESULT, SW_CONVOLVE_IMAGE, SW_CONVOLVE_FILTER})
      for (auto [channels, filters, window, stride] :
           {std::array<int64_t, 4>{3, 8, 3, 1},
            {8, 16, 3, 2},
            {8, 16, 1, 2},
            {64, 64, 3, 1},
            {3, 64, 7, 2}})
        for (bool tf32 : {false, true}) {
          auto desc = convolution(dtype, writes, 4, channels, 16, filters,
                                  window, stride);
          desc.tf32 = tf32;
          EXPECT_NO_THROW({
            EXPECT_FALSE(Plan::convolution(target, desc).name().empty());
          }) << "dtype "
             << dtype << " writes " << writes << " channels " << channels
             << " filters " << filters << " window " << window << " tf32 "
             << tf32;
        }
}

TEST_P(Plans, SayWhatTheyDoNotTake) {
  Target target = targetOf(GetParam());
  auto desc = attention(SW_BF16, true, 1, 2, 2, 128, 64);
  desc.width = 60;
  auto errorOf = [](auto make) {
    try {
      make();
    } catch (const std::exception &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  std::string error =
      errorOf([&] { Plan::attention(target, desc, false, true); });
  EXPECT_EQ(error.find("cuDNN 9"), 0u) << error;
  EXPECT_NE(
      error.find("has no plan for an attention of 1 x 2 heads (2 of "
                 "keys), 128 queries, 128 keys, width 60 and 64, in bf16"),
      std::string::npos)
      << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  desc.dtype = SW_I32;
  EXPECT_EQ(errorOf([&] { Plan::attention(target, desc, false, true); }),
            "cuDNN is not asked for elements of type i32");
  auto product = convolution(SW_F32, 3, 1, 8, 4, 8, 3, 1);
  EXPECT_EQ(errorOf([&] { Plan::convolution(target, product); }),
            "a convolution writes its operand 3, expected 0, 1 or 2");
}

INSTANTIATE_TEST_SUITE_P(Devices, Plans, testing::Values(80, 90, 100),
                         [](const auto &it) {
                           return "sm_" + std::to_string(it.param);
                         });

} // namespace
