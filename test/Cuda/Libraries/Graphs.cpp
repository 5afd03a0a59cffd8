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

#include "Graphs.h"

#include "Cuda/GraphLibrary.h"
#include "Emulator.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>

using namespace emulator;

namespace {

/// "Scaled dot product attention": widths are multiples of 8 up to 256, or up
/// to 128 in the backward; strides and addresses multiples of 16 bytes.
constexpr int64_t widthMultiple = 8, strideMultiple = 8, mostWidth = 256,
                  mostGradientWidth = 128;
constexpr uint64_t addressMultiple = 16;

void requireTaken(const sw_attention_desc &it, bool gradient) {
  for (int64_t width : {it.width, it.value_width})
    if (width % widthMultiple ||
        width > (gradient ? mostGradientWidth : mostWidth))
      throw std::runtime_error("no attention of width " +
                               std::to_string(width));
  for (const int64_t *strides :
       {it.q, it.k, it.v, it.o, it.d_o, it.d_q, it.d_k, it.d_v, it.bias})
    for (int i = 0; i < 3; ++i)
      if (strides[i] % strideMultiple)
        throw std::runtime_error("no attention with a stride of " +
                                 std::to_string(strides[i]));
}

class Graphs final : public stagewright::runtime::cuda::GraphLibrary {
public:
  size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                          bool stats) override {
    if (failure("attention") || (gradient && failure("gradient")))
      throw std::runtime_error("asked to fail");
    log("plan attention gradient=%d stats=%d causal=%d", gradient, stats,
        desc.causal);
    if (executes())
      requireTaken(desc, gradient);
    plans.push_back({gradient ? "gradient" : "attention", desc, {}});
    return plans.size() - 1;
  }
  size_t prepareConvolution(const sw_convolve_desc &desc) override {
    log("plan convolution writes=%d", desc.writes);
    plans.push_back({"convolution", {}, desc});
    return plans.size() - 1;
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
    bool convolves = plan.name == "convolution";
    auto space = reinterpret_cast<uint64_t>(workspace);
    std::vector<uint64_t> addresses(convolves ? 3 : 10);
    std::memcpy(addresses.data(), operands, addresses.size() * sizeof(void *));
    if (isDropped("graph", on, space, addresses))
      return;
    log("graph stream=%d plan=%s first=%#lx workspace=%#lx", streamOf(on).id,
        plan.name.c_str(), addresses[0], space);
    int status = enqueue(on, [=, bytes = this->workspace(number)] {
      if (!executes())
        return true;
      memory().scratch(space, bytes);
      for (uint64_t it : addresses)
        if (it % (convolves ? 4 : addressMultiple))
          throw Violation("a graph is given address " + std::to_string(it));
      if (convolves)
        compute(plan.convolution, addresses);
      else if (plan.name == "gradient")
        computeGradient(plan.attention, addresses);
      else
        compute(plan.attention, addresses);
      return true;
    });
    if (status)
      throw std::runtime_error("status " + std::to_string(status));
  }

private:
  struct Plan {
    std::string name;
    sw_attention_desc attention;
    sw_convolve_desc convolution;
  };
  std::vector<Plan> plans;
};

} // namespace

EMULATED(stagewright::runtime::cuda::GraphLibrary *)
stagewright_open_graph_library(unsigned, int, bool, char *error, size_t room) {
  if (int status = failure("stagewright_open_graph_library")) {
    std::snprintf(error, room, "asked to fail (%d)", status);
    return nullptr;
  }
  return new Graphs;
}
