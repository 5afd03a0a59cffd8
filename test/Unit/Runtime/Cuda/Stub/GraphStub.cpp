//===- GraphStub.cpp - a library of graphs that only records --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/GraphLibrary.h"
#include "Stub.h"

#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace stub;

namespace {

class GraphStub final : public stagewright::runtime::cuda::GraphLibrary {
public:
  size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                          bool stats) override {
    if (failure("attention"))
      throw std::runtime_error("asked to fail");
    log("plan attention gradient=%d stats=%d causal=%d", gradient, stats,
        desc.causal);
    plans.push_back(gradient ? "gradient" : "attention");
    return plans.size() - 1;
  }
  size_t prepareConvolution(const sw_convolve_desc &desc) override {
    log("plan convolution writes=%d", desc.writes);
    plans.emplace_back("convolution");
    return plans.size() - 1;
  }
  // More than cuBLASLt's, so that it shows.
  int64_t workspace(size_t plan) const override {
    return int64_t(plan + 1) << 26;
  }
  std::string name(size_t plan) const override { return plans[plan]; }
  void call(size_t plan, void *const *operands, void *workspace,
            void *stream) override {
    auto *it = static_cast<Stream *>(stream);
    log("graph stream=%d plan=%s first=%p workspace=%p", it->id,
        plans[plan].c_str(), operands[0], workspace);
    enqueue(it);
  }

private:
  std::vector<std::string> plans;
};

} // namespace

extern "C" __attribute__((visibility("default")))
stagewright::runtime::cuda::GraphLibrary *
stagewright_open_graph_library(unsigned, int, bool, char *error, size_t room) {
  if (int status = failure("stagewright_open_graph_library")) {
    std::snprintf(error, room, "asked to fail (%d)", status);
    return nullptr;
  }
  return new GraphStub;
}
