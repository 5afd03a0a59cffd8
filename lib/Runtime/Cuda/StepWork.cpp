//===- StepWork.cpp - the calls of a step, counted ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepWork.h"

#include "DType.h"
#include "FirstSums.h"
#include "Prepare.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stagewright::runtime::cuda {

using json = nlohmann::json;

namespace {

int64_t productOf(std::initializer_list<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

std::string sizesOf(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

/// An element type, as the rates of devices name it.
std::string rateOf(int32_t dtype, bool tf32) {
  std::string name(dtypeName(dtype));
  return dtype == SW_F32 && tf32                      ? "tf32"
         : dtype == SW_F8E4M3FN || dtype == SW_F8E5M2 ? "f8"
                                                      : name;
}

/// Adds the members of a product of matrices to `call`.
void addProduct(json &call, std::string type, int64_t batch, int64_t m,
                int64_t n, int64_t k) {
  call["name"] = type + " " +
                 (batch > 1 ? std::to_string(batch) + " of " : "") +
                 sizesOf({m, n, k});
  call["type"] = std::move(type);
  call["batch"] = batch;
  call["m"] = m;
  call["n"] = n;
  call["k"] = k;
  call["flops"] = 2 * productOf({batch, m, n, k});
}

json describe(const Contraction &it) {
  const sw_contraction_desc &d = it.desc;
  const sw_gemm_desc &g = d.gemm;
  int64_t batch = g.batch[0] * g.batch[1];
  // Batches of stride 0 share one matrix.
  auto matrices = [&](const int64_t (&strides)[2]) {
    return (strides[0] ? g.batch[0] : 1) * (strides[1] ? g.batch[1] : 1);
  };
  int64_t c = productOf({batch, g.m, g.n, dtypeSize(g.dtype)});
  int64_t read =
      productOf({matrices(g.a_batch), g.m, g.k, dtypeSize(d.a_dtype)}) +
      productOf({matrices(g.b_batch), g.k, g.n, dtypeSize(d.b_dtype)}) +
      (g.beta ? c : 0);
  int64_t written = c;
  if (it.aux) {
    bool reads = d.epilogue == SW_EPILOGUE_DGELU ||
                 d.epilogue == SW_EPILOGUE_DGELU_BIAS ||
                 d.epilogue == SW_EPILOGUE_ADD;
    (reads ? read : written) +=
        productOf({batch, g.m, g.n, dtypeSize(d.aux_dtype)});
  }
  json call = {{"class", "product"}, {"read", read}, {"written", written}};
  int32_t wide =
      dtypeSize(d.a_dtype) < dtypeSize(d.b_dtype) ? d.b_dtype : d.a_dtype;
  addProduct(call, rateOf(wide, d.tf32), batch, g.m, g.n, g.k);
  return call;
}

/// Whether cuDNN keeps an array of scores for a deterministic gradient on an
/// architecture of the artifact: on 8.x and 9.0 (README.md, "Reproducible
/// results").
bool keepsScores(const Manifest &manifest) {
  return std::any_of(manifest.architectures.begin(),
                     manifest.architectures.end(), [](const std::string &name) {
                       return name.starts_with("sm_8") ||
                              name.starts_with("sm_9");
                     });
}

/// The forward has two products, scores and results; the gradient repeats the
/// scores and has four more. A causal mask halves each.
json describe(const Attention &it, bool keepsScores) {
  const sw_attention_desc &d = it.desc;
  int64_t size = dtypeSize(d.dtype);
  int64_t rows = productOf({d.batch, d.heads, d.queries});
  int64_t others = productOf({d.batch, d.key_heads, d.keys});
  int64_t q = rows * d.width * size, k = others * d.width * size;
  int64_t v = others * d.value_width * size, o = rows * d.value_width * size;
  int64_t stats = it.stats ? rows * int64_t(sizeof(float)) : 0;
  int64_t scores = rows * d.keys;
  int64_t bias =
      d.has_bias ? productOf({d.bias[0] ? d.batch : 1, d.bias[1] ? d.heads : 1,
                              d.queries, d.keys, dtypeSize(d.bias_dtype)})
                 : 0;
  int64_t flops =
      2 * scores *
      (it.gradient ? 3 * d.width + 2 * d.value_width : d.width + d.value_width);
  json call = {
      {"class", "attention"},
      {"name", nameOf(it)},
      {"type", rateOf(d.dtype, false)},
      {"flops", d.causal ? flops / 2 : flops},
      {"read", (it.gradient ? q + k + v + 2 * o + stats : q + k + v) + bias},
      {"written", it.gradient ? q + k + v : o + stats}};
  if (it.gradient && keepsScores)
    call["scores"] = scores * 2; // elements of 16 bits
  return call;
}

json describe(const Convolution &it) {
  const sw_convolve_desc &d = it.desc;
  const int64_t *r = d.result, *w = d.window, *x = d.image;
  int64_t image =
      productOf({d.batch, d.channels, x[0], x[1], x[2], dtypeSize(d.x_dtype)});
  int64_t filter = productOf({d.filters, d.channels / d.groups, w[0], w[1],
                              w[2], dtypeSize(d.w_dtype)});
  int64_t result =
      productOf({d.batch, d.filters, r[0], r[1], r[2], dtypeSize(d.y_dtype)});
  int64_t written = d.writes == SW_CONVOLVE_IMAGE    ? image
                    : d.writes == SW_CONVOLVE_FILTER ? filter
                                                     : result;
  json call = {{"class", "convolution"},
               {"read", image + filter + result - written},
               {"written", written}};
  addProduct(call, rateOf(d.x_dtype, d.tf32), d.groups,
             productOf({d.batch, r[0], r[1], r[2]}), d.filters / d.groups,
             productOf({d.channels / d.groups, w[0], w[1], w[2]}));
  return call;
}

json describe(const Kernel &kernel, uint64_t zeros) {
  if (kernel.form.empty())
    raise("kernel '", kernel.name,
          "' has no counts of bytes in the manifest: the artifact is of an "
          "older compiler; compile it again");
  int64_t blocks = productOf({kernel.grid[0], kernel.grid[1], kernel.grid[2]});
  return {{"class", kernel.form},
          {"name", kernel.name},
          {"read", kernel.read - unreadBytes(kernel, zeros)},
          {"written", kernel.written},
          {"flops", kernel.flops},
          {"blocks", blocks},
          {"threads", blocks * productOf({kernel.block[0], kernel.block[1],
                                          kernel.block[2]})}};
}

json moved(const char *what, const std::string &name, int64_t read,
           int64_t written) {
  return {{"class", what},
          {"name", name},
          {"read", read},
          {"written", written},
          {"flops", 0}};
}

/// The call of one command; null if the device does nothing for it.
json describe(const Manifest &manifest, const RankProgram &program,
              const Command &it) {
  switch (it.kind) {
  case Command::Launch:
    return describe(manifest.kernels[size_t(it.id)],
                    it.bytes > 0
                        ? program.values[size_t(it.to) + size_t(it.bytes) - 1]
                        : 0);
  case Command::Contract:
    return describe(program.contractions[size_t(it.id)]);
  case Command::Attend:
    return describe(program.attentions[size_t(it.id)], keepsScores(manifest));
  case Command::Convolve:
    return describe(program.convolutions[size_t(it.id)]);
  case Command::Fill:
    return moved("fill", std::to_string(it.bytes) + " bytes", 0, it.bytes);
  case Command::Copy:
    return moved("copy", std::to_string(it.bytes) + " bytes", it.bytes,
                 it.bytes);
  case Command::Send: {
    const Channel &channel = manifest.channels[size_t(it.id)];
    return moved("message", "to rank " + std::to_string(channel.to),
                 channel.bytes, 0);
  }
  case Command::Reduce: {
    const Collective &of = manifest.collective(it.id);
    int64_t bytes = of.bytes();
    if (!of.gathers)
      return moved("sum", of.name, bytes, bytes);
    // As messages to all others.
    return moved("message", of.name, bytes * (int64_t(of.buckets.size()) - 1),
                 0);
  }
  case Command::Offload:
    return moved("stash", "to the host", it.bytes, 0);
  case Command::Fetch:
    return moved("stash", "from the host", 0, it.bytes);
  default:
    return nullptr;
  }
}

json callsOf(const Manifest &manifest, const RankManifest &rank,
             const RankProgram &program) {
  std::map<std::string, size_t> known; // Index of a call by its JSON.
  json calls = json::array();
  std::string node;
  for (const Command &it : program.commands) {
    if (it.kind == Command::BeginNode)
      node = rank.nodes[size_t(it.id)];
    if (it.kind == Command::EndNode)
      node.clear();
    json call = describe(manifest, program, it);
    if (call.is_null() || it.instead >= 0)
      continue;
    auto [entry, isNew] = known.emplace(call.dump(), calls.size());
    if (isNew) {
      call["node"] = node;
      call["nodes"] = json::object();
      calls.push_back(std::move(call));
    }
    json &nodes = calls[entry->second]["nodes"];
    nodes[node] = nodes.value(node, int64_t(0)) + 1;
  }
  return calls;
}

} // namespace

std::string nameOf(const Attention &it) {
  const sw_attention_desc &d = it.desc;
  return std::string(it.gradient ? "gradient, " : "forward, ") +
         std::string(dtypeName(d.dtype)) + " " +
         sizesOf({d.batch, d.heads, d.queries, d.keys, d.width}) +
         (d.causal ? ", causal" : "") + (d.has_bias ? ", biased" : "");
}

std::string nameOf(const Convolution &it) {
  const sw_convolve_desc &d = it.desc;
  const int64_t *w = d.window, *x = d.image;
  const char *what = d.writes == SW_CONVOLVE_IMAGE ? "gradient of the image, "
                     : d.writes == SW_CONVOLVE_FILTER
                         ? "gradient of the filters, "
                         : "";
  return what + std::string(dtypeName(d.x_dtype)) + " " +
         sizesOf({d.batch, d.channels, x[0], x[1], x[2]}) + " by " +
         sizesOf({d.filters, d.channels / d.groups, w[0], w[1], w[2]});
}

std::string countStep(const Artifact &artifact, int64_t microbatches) {
  const Manifest &manifest = artifact.manifest();
  std::vector<RankProgram> programs = recordStep(artifact, microbatches);
  json list = json::array();
  for (size_t r = 0; r < programs.size(); ++r)
    list.push_back(
        {{"device", manifest.ranks[r].device},
         {"calls", callsOf(manifest, manifest.ranks[r], programs[r])}});
  return json{{"ranks", std::move(list)}}.dump();
}

} // namespace stagewright::runtime::cuda
