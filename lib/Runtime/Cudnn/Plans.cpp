//===- Plans.cpp - cuDNN graphs and their plans ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <cudnn_frontend.h>

// The headers of cudnn-frontend look up functions in this library.
namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr;
} // namespace cudnn_frontend

namespace stagewright::runtime::cudnn {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;
using Numbers = std::vector<int64_t>;

struct Plan::State {
  fe::graph::Graph graph;
  std::vector<Tensor> operands; ///< null if absent
  int64_t workspace = 0;
  std::string name;

  void finish(const Target &target, std::vector<fe::NumericalNote_t> notes,
              const std::string &what);
};

namespace {

/// Throws with the first line of the message; the rest lists every engine.
void check(fe::error_t error, const std::string &what) {
  if (error.is_good())
    return;
  std::string reason = error.get_message();
  raise("cuDNN ", libraryVersion(), " has no plan for ", what, ": ",
        reason.substr(0, reason.find('\n')));
}

fe::DataType_t typeOf(int32_t dtype) {
  switch (dtype) {
  case SW_F32:
    return fe::DataType_t::FLOAT;
  case SW_F16:
    return fe::DataType_t::HALF;
  case SW_BF16:
    return fe::DataType_t::BFLOAT16;
  default:
    raise("cuDNN is not asked for elements of type ", dtypeName(dtype));
  }
}

void begin(fe::graph::Graph &graph, const Target &target, int32_t dtype) {
  graph.set_io_data_type(typeOf(dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(target.architecture);
  if (target.handle)
    return;
  auto device = std::make_shared<fe::DeviceProperties>();
  const std::string &text = target.description;
  check(device->deserialize(std::vector<uint8_t>(text.begin(), text.end())),
        "a device described as '" + text + "'");
  graph.set_device_properties(device);
}

/// Adds an operand to a graph.
Tensor add(fe::graph::Graph &graph, const char *name, Numbers extents,
           Numbers strides, int32_t dtype) {
  return graph.tensor(Tensor_attributes()
                          .set_name(name)
                          .set_dim(std::move(extents))
                          .set_stride(std::move(strides))
                          .set_data_type(typeOf(dtype)));
}

/// Makes a tensor a result of the graph, with this layout.
void write(const Tensor &tensor, Numbers extents, Numbers strides,
           int32_t dtype) {
  tensor->set_output(true)
      .set_dim(std::move(extents))
      .set_stride(std::move(strides))
      .set_data_type(typeOf(dtype));
}

Numbers stridesOf(const int64_t (&strides)[4]) {
  return Numbers(strides, strides + 4);
}

/// The three spatial dimensions of a convolution, or the last two.
Numbers places(const int64_t (&list)[3], bool three) {
  return Numbers(list + (three ? 0 : 1), list + 3);
}

/// All extents or strides of an operand of a convolution.
Numbers places(int64_t outer, int64_t channel, const int64_t *list,
               bool three) {
  Numbers all = {outer, channel};
  all.insert(all.end(), list + (three ? 0 : 1), list + 3);
  return all;
}

} // namespace

void useLibrary(void *library) { fe::cudnn_dlhandle = library; }

int64_t libraryVersion() { return int64_t(fe::detail::get_backend_version()); }

/// Builds the first plan that can be built, in the order of the library's
/// heuristic, without engines that have one of `notes`.
void Plan::State::finish(const Target &target,
                         std::vector<fe::NumericalNote_t> notes,
                         const std::string &what) {
  check(graph.validate(), what);
  check(target.handle ? graph.build_operation_graph(target.handle)
                      : graph.build_operation_graph(),
        what);
  check(graph.create_execution_plans(
            {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}),
        what);
  if (!target.anyOrder)
    notes.push_back(fe::NumericalNote_t::NONDETERMINISTIC);
  graph.deselect_numeric_notes(notes);
  check(graph.check_support(), what);
  check(graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE), what);
  check(graph.get_workspace_size(workspace), what);
  check(graph.get_plan_name(name), what);
}

Plan Plan::attention(const Target &target, const sw_attention_desc &d,
                     bool gradient, bool stats) {
  std::ostringstream what;
  what << (gradient ? "the gradient of an attention of " : "an attention of ")
       << d.batch << " x " << d.heads << " heads (" << d.key_heads
       << " of keys), " << d.queries << " queries, " << d.keys
       << " keys, width " << d.width << " and " << d.value_width << ", in "
       << dtypeName(d.dtype);
  Numbers ofQueries = {d.batch, d.heads, d.queries, d.width},
          ofKeys = {d.batch, d.key_heads, d.keys, d.width},
          ofValues = {d.batch, d.key_heads, d.keys, d.value_width},
          ofResults = {d.batch, d.heads, d.queries, d.value_width},
          ofStats = {d.batch, d.heads, d.queries, 1},
          statStrides = {d.heads * d.queries, d.queries, 1, 1};
  Plan plan;
  plan.state = std::make_shared<State>();
  fe::graph::Graph &graph = plan.state->graph;
  begin(graph, target, d.dtype);
  Tensor q = add(graph, "q", ofQueries, stridesOf(d.q), d.dtype),
         k = add(graph, "k", ofKeys, stridesOf(d.k), d.dtype),
         v = add(graph, "v", ofValues, stridesOf(d.v), d.dtype);
  Tensor bias;
  if (d.has_bias) {
    // A dimension along which the bias is shared has extent 1.
    auto extent = [&](int i, int64_t of) { return d.bias[i] ? of : 1; };
    bias = add(
        graph, "bias",
        {extent(0, d.batch), extent(1, d.heads), extent(2, d.queries), d.keys},
        stridesOf(d.bias), d.bias_dtype);
  }
  if (gradient) {
    Tensor o = add(graph, "o", ofResults, stridesOf(d.o), d.dtype),
           sums = add(graph, "stats", ofStats, statStrides, SW_F32),
           dO = add(graph, "d_o", ofResults, stridesOf(d.d_o), d.dtype);
    auto how = fe::graph::SDPA_backward_attributes()
                   .set_name("attend_gradient")
                   .set_deterministic_algorithm(!target.anyOrder)
                   .set_causal_mask(d.causal != 0)
                   .set_attn_scale(d.scale);
    if (bias)
      how.set_bias(bias);
    auto [dQ, dK, dV] = graph.sdpa_backward(q, k, v, o, dO, sums, how);
    write(dQ, ofQueries, stridesOf(d.d_q), d.dtype);
    write(dK, ofKeys, stridesOf(d.d_k), d.dtype);
    write(dV, ofValues, stridesOf(d.d_v), d.dtype);
    plan.state->operands = {q, k, v, o, sums, dO, dQ, dK, dV, bias};
  } else {
    auto how = fe::graph::SDPA_attributes()
                   .set_name("attend")
                   .set_generate_stats(stats)
                   .set_causal_mask(d.causal != 0)
                   .set_attn_scale(d.scale);
    if (bias)
      how.set_bias(bias);
    auto [o, sums] = graph.sdpa(q, k, v, how);
    write(o, ofResults, stridesOf(d.o), d.dtype);
    if (stats)
      write(sums, ofStats, statStrides, SW_F32);
    plan.state->operands = {
        q,       k,       v,       o,       stats ? sums : nullptr,
        nullptr, nullptr, nullptr, nullptr, bias};
  }
  plan.state->finish(target, {}, what.str());
  return plan;
}

Plan Plan::convolution(const Target &target, const sw_convolve_desc &d) {
  constexpr const char *written[] = {
      "a convolution of ", "the image's gradient of a convolution of ",
      "the filters' gradient of a convolution of "};
  if (d.writes < SW_CONVOLVE_RESULT || d.writes > SW_CONVOLVE_FILTER)
    raise("a convolution writes its operand ", d.writes,
          ", expected 0, 1 or 2");
  bool three = d.image[0] > 1 || d.window[0] > 1 || d.result[0] > 1;
  std::ostringstream what;
  what << written[d.writes] << d.batch << " images of " << d.channels << " x "
       << printShape(d.image) << " in " << dtypeName(d.x_dtype) << " with "
       << d.filters << " filters of " << printShape(d.window) << " in "
       << dtypeName(d.w_dtype) << ", " << d.groups << " groups, stride "
       << printShape(d.stride) << ", dilation " << printShape(d.dilation);
  Plan plan;
  plan.state = std::make_shared<State>();
  fe::graph::Graph &graph = plan.state->graph;
  begin(graph, target, d.x_dtype);
  Numbers ofX = places(d.batch, d.channels, d.image, three),
          ofW = places(d.filters, d.channels / d.groups, d.window, three),
          ofY = places(d.batch, d.filters, d.result, three),
          xStrides = places(d.x[0], d.x[1], d.x + 2, three),
          wStrides = places(d.w[0], d.w[1], d.w + 2, three),
          yStrides = places(d.y[0], d.y[1], d.y + 2, three);
  auto described = [&](auto attributes) {
    return attributes.set_pre_padding(places(d.before, three))
        .set_post_padding(places(d.after, three))
        .set_stride(places(d.stride, three))
        .set_dilation(places(d.dilation, three));
  };
  Tensor x, w, y;
  if (d.writes != SW_CONVOLVE_IMAGE)
    x = add(graph, "x", ofX, xStrides, d.x_dtype);
  if (d.writes != SW_CONVOLVE_FILTER)
    w = add(graph, "w", ofW, wStrides, d.w_dtype);
  if (d.writes != SW_CONVOLVE_RESULT)
    y = add(graph, "y", ofY, yStrides, d.y_dtype);
  if (!y) {
    y = graph.conv_fprop(x, w, described(fe::graph::Conv_fprop_attributes()));
    write(y, ofY, yStrides, d.y_dtype);
  } else if (!x) {
    x = graph.conv_dgrad(y, w, described(fe::graph::Conv_dgrad_attributes()));
    write(x, ofX, xStrides, d.x_dtype);
  } else {
    w = graph.conv_wgrad(y, x, described(fe::graph::Conv_wgrad_attributes()));
    write(w, ofW, wStrides, d.w_dtype);
  }
  plan.state->operands = {x, w, y};
  // For float32, tensor cores would round to TF32.
  std::vector<fe::NumericalNote_t> notes;
  if (!d.tf32 && d.x_dtype == SW_F32)
    notes = {fe::NumericalNote_t::TENSOR_CORE,
             fe::NumericalNote_t::DOWN_CONVERT_INPUTS};
  plan.state->finish(target, notes, what.str());
  return plan;
}

void Plan::run(cudnnContext *handle, void *const *operands,
               void *workspace) const {
  std::unordered_map<int64_t, void *> addresses;
  for (size_t i = 0; i < state->operands.size(); ++i)
    if (const Tensor &tensor = state->operands[i])
      addresses.emplace(tensor->get_uid(), operands[i]);
  fe::error_t error = state->graph.execute(handle, addresses, workspace);
  if (error.is_bad())
    raise("cuDNN did not run '", state->name, "': ", error.get_message());
}

int64_t Plan::workspace() const { return state->workspace; }
const std::string &Plan::name() const { return state->name; }

} // namespace stagewright::runtime::cudnn
