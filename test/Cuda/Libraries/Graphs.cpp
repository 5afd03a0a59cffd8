//===- Graphs.cpp - the graph library, executed on CPUs -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces libstagewright-cudnn.so. stagewright-rt/device.h specifies what it
// computes, cuDNN's "Graph API" what it rejects.
//
//===----------------------------------------------------------------------===//

#include "Cuda/GraphLibrary.h"
#include "Emulator.h"
#include "Tensor.h"
#include "stagewright-rt/runtime.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>

using namespace emulator;

namespace {

/// "Scaled dot product attention": widths are multiples of 8 up to 256, or up
/// to 128 in the backward; strides and addresses multiples of 16 bytes.
constexpr int64_t widthMultiple = 8, strideMultiple = 8, mostWidth = 256,
                  mostGradientWidth = 128;
constexpr uint64_t addressMultiple = 16;

void requireTaken(const sw_attention_desc &it, bool gradient) {
  for (int64_t width : {it.width, it.value_width})
    REQUIRE(width % widthMultiple == 0 &&
                width <= (gradient ? mostGradientWidth : mostWidth),
            "no attention of width %ld", width);
  for (const int64_t *strides :
       {it.q, it.k, it.v, it.o, it.d_o, it.d_q, it.d_k, it.d_v, it.bias})
    for (int i = 0; i < 3; ++i)
      REQUIRE(strides[i] % strideMultiple == 0,
              "no attention with a stride of %ld", strides[i]);
}

/// Of an attention: q, k, v, o, stats (0: not computed), d_o, d_q, d_k, d_v,
/// bias. Of a convolution: x, w, y.
using Addresses = std::vector<uint64_t>;
using Array = Tensor<double>;

const Element *elementOfRuntime(int32_t dtype) {
  return elementIn({SW_F32, SW_F64, SW_F16, SW_BF16}, dtype);
}
constexpr char reads[] = "a graph reads", writes[] = "a graph writes";

/// Writes o and stats, or the gradients of q, k and v.
void compute(const sw_attention_desc &it, bool gradient, const Addresses &at) {
  const auto [batch, heads, keyHeads, queries, keys, width, valueWidth] =
      std::tie(it.batch, it.heads, it.key_heads, it.queries, it.keys, it.width,
               it.value_width);
  const Element *element = elementOfRuntime(it.dtype);
  const char *given = gradient ? reads : nullptr;
  Array q({batch, heads, queries, width}, at[0], element, it.q, reads),
      k({batch, keyHeads, keys, width}, at[1], element, it.k, reads),
      v({batch, keyHeads, keys, valueWidth}, at[2], element, it.v, reads),
      o({batch, heads, queries, valueWidth}, at[3], element, it.o, given);
  Array scores({batch, heads, queries, keys}, at[9],
               elementOfRuntime(it.bias_dtype), it.bias,
               it.has_bias ? reads : nullptr);
  // Heads that share a head of keys are neighbours.
  int64_t sharing = heads / keyHeads;
  forAll({batch, heads, queries, keys}, [&](auto b, auto h, auto i, auto j) {
    double sum = 0;
    for (int64_t d = 0; d < width; ++d)
      sum += q(b, h, i, d) * k(b, h / sharing, j, d);
    double &score = scores(b, h, i, j);
    // A float32, as on a device: a bias of -1e9 leaves nothing of a score.
    score = it.causal && j > i ? -INFINITY
                               : double(float(sum * double(it.scale) + score));
  });
  // The log-sum-exp of the scores of each query.
  std::array strides = {heads * queries, queries, int64_t(1)};
  Array stats({batch, heads, queries}, at[4], f32, strides.data(), given);
  if (!gradient) {
    forAll({batch, heads, queries}, [&](auto b, auto h, auto i) {
      const double *row = &scores(b, h, i, 0);
      double largest = *std::max_element(row, row + keys), sum = 0;
      for (int64_t j = 0; j < keys; ++j)
        sum += std::exp(row[j] - largest);
      stats(b, h, i) = largest + std::log(sum);
      for (int64_t j = 0; j < keys; ++j) {
        double weight = std::exp(row[j] - stats(b, h, i));
        for (int64_t e = 0; e < valueWidth; ++e)
          o(b, h, i, e) += weight * v(b, h / sharing, j, e);
      }
    });
    o.store(writes);
    if (at[4])
      stats.store(writes);
    return;
  }
  Array dO({batch, heads, queries, valueWidth}, at[5], element, it.d_o, reads),
      dQ({batch, heads, queries, width}, at[6], element, it.d_q),
      dK({batch, keyHeads, keys, width}, at[7], element, it.d_k),
      dV({batch, keyHeads, keys, valueWidth}, at[8], element, it.d_v);
  forAll({batch, heads, queries, keys}, [&](auto b, auto h, auto i, auto j) {
    double weight = std::exp(scores(b, h, i, j) - stats(b, h, i)), sum = 0;
    int64_t g = h / sharing;
    for (int64_t e = 0; e < valueWidth; ++e) {
      sum += dO(b, h, i, e) * (v(b, g, j, e) - o(b, h, i, e));
      dV(b, g, j, e) += weight * dO(b, h, i, e);
    }
    for (int64_t d = 0; d < width; ++d) {
      dQ(b, h, i, d) += weight * sum * double(it.scale) * k(b, g, j, d);
      dK(b, g, j, d) += weight * sum * double(it.scale) * q(b, h, i, d);
    }
  });
  for (Array *it : {&dQ, &dK, &dV})
    it->store(writes);
}

/// Writes the operand that the descriptor names.
void compute(const sw_convolve_desc &it, const Addresses &at) {
  int64_t channels = it.channels / it.groups, filters = it.filters / it.groups;
  auto array = [&](size_t operand, int32_t type, int64_t first, int64_t second,
                   const int64_t *three, const int64_t *strides) {
    // `writes` of sw_convolve_desc: the result, the image or the window.
    bool isWritten = operand == std::array{2u, 0u, 1u}[size_t(it.writes)];
    return Array({first, second, three[0], three[1], three[2]}, at[operand],
                 elementOfRuntime(type), strides, isWritten ? nullptr : reads);
  };
  Array x = array(0, it.x_dtype, it.batch, it.channels, it.image, it.x),
        w = array(1, it.w_dtype, it.filters, channels, it.window, it.w),
        y = array(2, it.y_dtype, it.batch, it.filters, it.result, it.y);
  forAll({it.batch, it.filters, it.result[0], it.result[1], it.result[2]},
         [&](auto n, auto f, auto... p) {
           forAll({channels, it.window[0], it.window[1], it.window[2]},
                  [&](auto c, auto... t) {
                    // The position in the image, by dimension.
                    size_t i = 0, j = 0;
                    std::array from = {p * it.stride[i++]...};
                    ((from[j] += t * it.dilation[j] - it.before[j], ++j), ...);
                    for (size_t d = 0; d < 3; ++d)
                      if (from[d] < 0 || from[d] >= it.image[d])
                        return;
                    double &atX = x(n, f / filters * channels + c, from[0],
                                    from[1], from[2]),
                           &atW = w(f, c, t...), &atY = y(n, f, p...);
                    if (it.writes == SW_CONVOLVE_RESULT)
                      atY += atX * atW;
                    else if (it.writes == SW_CONVOLVE_IMAGE)
                      atX += atY * atW;
                    else
                      atW += atY * atX;
                  });
         });
  std::array{&y, &x, &w}[size_t(it.writes)]->store(writes);
}

class Graphs final : public stagewright::runtime::cuda::GraphLibrary {
public:
  size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                          bool stats) override {
    REQUIRE(!failure("attention") && !(gradient && failure("gradient")),
            "asked to fail");
    LOG("plan attention gradient=%d stats=%d causal=%d", gradient, stats,
        desc.causal);
    if (executes())
      requireTaken(desc, gradient);
    return add({gradient ? "gradient" : "attention", 10, addressMultiple,
                [=](const Addresses &at) { compute(desc, gradient, at); }});
  }
  size_t prepareConvolution(const sw_convolve_desc &desc) override {
    LOG("plan convolution writes=%d", desc.writes);
    return add({"convolution", 3, sizeof(float),
                [=](const Addresses &at) { compute(desc, at); }});
  }
  // More than cuBLASLt's, so that tests see it; less if memory is really used.
  int64_t workspace(size_t plan) const override {
    return int64_t(plan + 1) << (executes() ? 20 : 26);
  }
  std::string name(size_t plan) const override { return plans[plan].name; }
  void call(size_t number, void *const *operands, void *workspace,
            void *stream) override {
    std::lock_guard guard(lock());
    auto *on = static_cast<Stream *>(stream);
    const Plan &plan = plans[number];
    auto space = reinterpret_cast<uint64_t>(workspace);
    Addresses addresses(plan.operands);
    std::memcpy(addresses.data(), operands, addresses.size() * sizeof(void *));
    if (isDropped("graph", on, space, addresses))
      return;
    LOG("graph stream=%d plan=%s first=%#lx workspace=%#lx", idOf(on),
        plan.name.c_str(), addresses[0], space);
    int status = enqueue(on, [=, bytes = this->workspace(number)] {
      if (!executes())
        return;
      memory().scratch(space, bytes);
      for (uint64_t it : addresses)
        REQUIRE(it % plan.alignment == 0, "a graph is given address %lu", it);
      plan.compute(addresses);
    });
    REQUIRE(!status, "status %d", status);
  }

private:
  struct Plan {
    std::string name;
    size_t operands;
    uint64_t alignment; ///< of their addresses
    std::function<void(const Addresses &)> compute;
  };
  size_t add(const Plan &plan) {
    return plans.push_back(plan), plans.size() - 1;
  }
  std::vector<Plan> plans;
};

} // namespace

EMULATED stagewright::runtime::cuda::GraphLibrary *
stagewright_open_graph_library(unsigned, int, bool, char *error, size_t room) {
  if (int status = failure("stagewright_open_graph_library")) {
    std::snprintf(error, room, "asked to fail (%d)", status);
    return nullptr;
  }
  return new Graphs;
}
