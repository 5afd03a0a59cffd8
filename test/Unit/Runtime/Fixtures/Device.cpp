//===- Device.cpp - two ranks for a device, hand-written ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x w on rank 0; rank 1 sums a loss and returns dy; dw += x^T dy. 1F1B with
// two microbatches in flight. The environment variable DEVICE_FAULT selects a
// fault. An argument cannot, because entry functions must not read the memory
// of their addresses.
//
//===----------------------------------------------------------------------===//

#include "Section.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#ifndef SECOND_ROUND
#define SECOND_ROUND "1"
#endif

STAGEWRIGHT_MANIFEST(
    R"json({
"stagewright": 1, "name": "step", "microbatches": 4, "schedule": "1f1b", "stages": 2,
"target": {"triple": ")json" FIXTURE_TRIPLE
    R"json(", "cpu": "", "features": [], "kind": "cuda", "architectures": ["sm_90a"], "ptx": ["sm_80", "sm_90"]}, "libraries": [],
"kernels": [
 {"name": "step.loss", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "arguments": 4},
 {"name": "step.scale", "grid": [2, 1, 1], "block": [128, 1, 1], "shared": 65536, "arguments": 2}],
"constants": [{"symbol": "stagewright_constant_0", "bytes": 16}],
"arguments": [
 {"position": 0, "name": "params/w", "role": "parameter", "dtype": "f32", "shape": [4, 4], "slices": 0, "batch_dim": 0},
 {"position": 1, "name": "x", "role": "batch", "dtype": "f32", "shape": [4, 4], "slices": 0, "batch_dim": 0},
 {"position": 2, "name": "m", "role": "microbatch", "dtype": "i32", "shape": [], "slices": 0, "batch_dim": 0}],
"results": [
 {"position": 0, "name": "loss", "role": "loss", "combine": "mean", "of": -1, "dtype": "f32", "shape": [], "slices": 0, "batch_dim": 0},
 {"position": 1, "name": "params/w", "role": "gradient", "combine": "mean", "of": 0, "dtype": "f32", "shape": [4, 4], "slices": 0, "batch_dim": 0},
 {"position": 2, "name": "y", "role": "output", "combine": "concat", "of": -1, "dtype": "f32", "shape": [4, 4], "slices": 0, "batch_dim": 0}],
"channels": [
 {"id": 0, "name": "y", "from": 0, "to": 1, "bytes": 64, "depth": 2, "depth_all": false, "round": 0},
 {"id": 1, "name": "dy", "from": 1, "to": 0, "bytes": 64, "depth": 2, "depth_all": false, "round": )json" SECOND_ROUND
    R"json(}],
"ranks": [
 {"rank": 0, "device": "d0", "entry": "step.0", "stages": [0], "nodes": ["w.F", "w.B"],
  "buffers": [
  {"id": 0, "name": "w", "kind": "parameter", "bytes": 64, "depth": 1, "depth_all": false, "argument": 0, "result": -1, "slice": -1},
  {"id": 1, "name": "x", "kind": "batch", "bytes": 64, "depth": 1, "depth_all": true, "argument": 1, "result": -1, "slice": -1},
  {"id": 2, "name": "dw", "kind": "gradient", "bytes": 64, "depth": 1, "depth_all": false, "argument": -1, "result": 1, "slice": -1},
  {"id": 3, "name": "stash.x", "kind": "stash", "bytes": 64, "depth": 2, "depth_all": false, "argument": -1, "result": -1, "slice": -1},
  {"id": 4, "name": "workspace", "kind": "workspace", "bytes": 128, "depth": 1, "depth_all": false, "argument": -1, "result": -1, "slice": -1}],
  "memory": {"arena": 768, "live_peak": 768}},
 {"rank": 1, "device": "d0", "entry": "step.1", "stages": [1], "nodes": ["loss.F"],
  "buffers": [
  {"id": 0, "name": "m", "kind": "microbatch", "bytes": 4, "depth": 1, "depth_all": true, "argument": 2, "result": -1, "slice": -1},
  {"id": 1, "name": "loss", "kind": "accumulator", "bytes": 4, "depth": 1, "depth_all": false, "argument": -1, "result": 0, "slice": -1},
  {"id": 2, "name": "y", "kind": "output", "bytes": 64, "depth": 1, "depth_all": true, "argument": -1, "result": 2, "slice": -1},
  {"id": 3, "name": "workspace", "kind": "workspace", "bytes": 64, "depth": 1, "depth_all": false, "argument": -1, "result": -1, "slice": -1}],
  "memory": {"arena": 768, "live_peak": 768}}],
"plan": {}, "grid": "rank 0  F0 F1 B0 F2 B1 F3 B2 B3\nrank 1     F0 B0 F1 B1 F2 B2 F3 B3\n"
})json");

extern "C" __attribute__((visibility("default")))
const char stagewright_fatbin[] = ".version 8.0\n.target sm_90a\n";
extern "C" __attribute__((visibility("default")))
const float stagewright_constant_0[] = {1, 2, 3, 4};

namespace {

bool asked(std::string_view fault) {
  const char *name = std::getenv("DEVICE_FAULT");
  return name && fault == name;
}

/// C (+)= A B of 4 x 4 elements; with A transposed if asked.
sw_contraction_desc product(bool transposed, bool adds) {
  sw_contraction_desc desc = {};
  desc.gemm = {SW_F32, adds, 4, 4, 4, {1, 1}, 4, 1, 4, 1, 4, 1, {}, {}, {}};
  if (transposed)
    std::swap(desc.gemm.a_row, desc.gemm.a_col);
  return desc;
}

void launch(sw_rank *rank, int64_t kernel, void *a, void *b, void *c = nullptr,
            int64_t d = 0) {
  void *arguments[] = {&a, &b, &c, &d};
  stagewright_api->launch(rank, kernel, arguments);
}

/// Attention of 4 queries and keys, 8 wide: 64 bytes each.
sw_attention_desc attention() {
  return {SW_BF16,
          1,
          0.5f,
          0,
          1,
          1,
          1,
          4,
          4,
          8,
          8,
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {32, 32, 8, 1},
          {},
          0,
          0};
}

/// Calls with kernels as fallbacks: a product with GELU that stores its
/// auxiliary output in the workspace, a plain product, an attention.
void callWithAlternatives(sw_rank *rank) {
  const sw_api &sw = *stagewright_api;
  void *w = sw.slot(rank, 0, 0), *x = sw.slot(rank, 1, 0);
  void *dw = sw.slot(rank, 2, 0), *room = sw.slot(rank, 4, 0);
  void *arguments[] = {&dw, &room};
  sw_contraction_desc desc = product(false, false);
  desc.epilogue = SW_EPILOGUE_GELU_AUX, desc.aux_row = asked("aux-row") ? 4 : 8,
  desc.otherwise = 1;
  sw.contract(rank, &desc, x, w, dw, nullptr, room);
  sw.otherwise(rank, 1, arguments);
  desc = product(false, false);
  desc.otherwise = !asked("unannounced");
  sw.contract(rank, &desc, x, w, dw, nullptr, nullptr);
  sw.otherwise(rank, 1, arguments);
  sw_attention_desc attended = attention();
  attended.otherwise = 1;
  sw.attend(rank, &attended, x, w, x, dw, room, nullptr);
  sw.otherwise(rank, 1, arguments);
  sw.otherwise(rank, 1, arguments);
}

/// Products with biases that are 64, 4, 8 and 4 bytes aligned.
void callWithBias(sw_rank *rank) {
  const sw_api &sw = *stagewright_api;
  void *w = sw.slot(rank, 0, 0), *x = sw.slot(rank, 1, 0);
  void *dw = sw.slot(rank, 2, 0);
  sw_contraction_desc desc = product(false, false);
  desc.epilogue = SW_EPILOGUE_BIAS;
  for (int64_t first : {0, 1, 2, 3})
    sw.contract(rank, &desc, x, w, dw, static_cast<float *>(w) + first,
                nullptr);
}

/// Calls of a graph library; images of 4 x 4 with a window of 2 x 2.
void callGraphs(sw_rank *rank) {
  const sw_api &sw = *stagewright_api;
  void *w = sw.slot(rank, 0, 0), *x = sw.slot(rank, 1, 0);
  void *dw = sw.slot(rank, 2, 0), *stats = sw.slot(rank, 4, 0);
  sw_attention_desc desc = attention();
  if (asked("attend-far"))
    desc.o[2] = 16;
  if (asked("heads"))
    desc.key_heads = 3;
  sw.attend(rank, &desc, x, w, x, dw, stats, nullptr);
  sw.attend(rank, &desc, w, w, x, dw, stats, nullptr);
  sw.attend_gradient(rank, &desc, x, w, x, dw, stats, x, dw, dw, dw, nullptr);
  sw_convolve_desc product = {SW_CONVOLVE_RESULT,
                              SW_F32,
                              SW_F32,
                              SW_F32,
                              0,
                              0,
                              1,
                              1,
                              1,
                              1,
                              {1, 4, 4},
                              {1, 2, 2},
                              {1, 3, 3},
                              {1, 1, 1},
                              {1, 1, 1},
                              {0, 0, 0},
                              {0, 0, 0},
                              {16, 16, 16, 4, 1},
                              {4, 4, 4, 2, 1},
                              {9, 9, 9, 3, 1}};
  if (asked("convolve-far"))
    product.y[3] = 8;
  if (asked("result"))
    product.result[1] = 4;
  sw.convolve(rank, &product, x, w, dw);
}

void forward0(sw_rank *rank, int64_t m) {
  const sw_api &sw = *stagewright_api;
  sw.action_begin(rank, SW_FORWARD, 0, m);
  void *w = sw.slot(rank, 0, 0), *x = sw.slot(rank, 1, m);
  void *stash = sw.acquire(rank, 3, m);
  void *y = sw.claim(rank, 0, m);
  sw.node_begin(rank, 0);
  sw.copy(rank, stash, x, asked("too-far") ? 128 : 64);
  sw_contraction_desc desc = product(false, false);
  sw.contract(rank, &desc, x, w, y, nullptr, nullptr);
  sw.node_end(rank, 0, asked("workspace") ? 4096 : 128);
  sw.send(rank, 0, m);
  if (asked("after-send"))
    launch(rank, 1, y, x);
  sw.action_end(rank);
}

void backward0(sw_rank *rank, int64_t m) {
  const sw_api &sw = *stagewright_api;
  sw.action_begin(rank, SW_BACKWARD, 0, m);
  void *dy = sw.recv(rank, 1, m);
  if (sw.recv(rank, 1, m) != dy)
    sw.fail(rank, "a message that is held has moved");
  void *stash = sw.slot(rank, 3, m), *dw = sw.slot(rank, 2, 0);
  if (asked("early-release"))
    sw.release(rank, 3, m);
  sw.node_begin(rank, 1);
  sw_contraction_desc desc = product(true, true);
  sw.contract(rank, &desc, stash, dy, dw, nullptr, nullptr);
  sw.node_end(rank, 1, 0);
  sw.release_channel(rank, 1, m);
  if (!asked("early-release") && !asked("leak"))
    sw.release(rank, 3, m);
  sw.action_end(rank);
}

void both1(sw_rank *rank, int64_t m) {
  const sw_api &sw = *stagewright_api;
  sw.action_begin(rank, SW_FORWARD, 1, m);
  void *y = sw.recv(rank, 0, m);
  void *loss = sw.slot(rank, 1, 0), *out = sw.slot(rank, 2, m);
  sw.node_begin(rank, 0);
  launch(rank, 0, y, sw.slot(rank, 0, m), loss, 16);
  sw.copy(rank, out, y, 64);
  sw.node_end(rank, 0, 64);
  sw.action_end(rank);
  sw.action_begin(rank, SW_BACKWARD, 1, m);
  void *dy = sw.claim(rank, 1, m);
  launch(rank, 1, dy, y);
  sw.send(rank, 1, m);
  sw.release_channel(rank, 0, m);
  sw.action_end(rank);
}

} // namespace

// The symbol has a dot, as pp-compile writes it.
ENTRY step0(sw_rank *rank, int64_t M) asm("step.0");
ENTRY step1(sw_rank *rank, int64_t M) asm("step.1");

void step0(sw_rank *rank, int64_t M) {
  const sw_api &sw = *stagewright_api;
  if (asked("gemm"))
    sw.gemm(nullptr, nullptr, nullptr, nullptr);
  if (asked("kernel"))
    sw.launch(rank, 7, nullptr);
  if (asked("circle"))
    sw.recv(rank, 1, 0);
  sw.fill(rank, sw.slot(rank, 2, 0), 0, 64);
  if (asked("graphs") || asked("attend-far") || asked("heads") ||
      asked("convolve-far") || asked("result"))
    callGraphs(rank);
  if (asked("bias"))
    callWithBias(rank);
  if (asked("alternatives") || asked("unannounced") || asked("aux-row"))
    callWithAlternatives(rank);
  for (int64_t m = 0; m < std::min<int64_t>(M, 2); ++m)
    forward0(rank, m);
  for (int64_t m = 0; m < M; ++m) {
    backward0(rank, m);
    if (m + 2 < M)
      forward0(rank, m + 2);
  }
  // Starts at the second element.
  const float *factors = stagewright_constant_0 + 1;
  if (asked("host-address"))
    factors = reinterpret_cast<const float *>(stagewright_fatbin);
  launch(rank, 1, sw.slot(rank, 2, 0), const_cast<float *>(factors));
}

void step1(sw_rank *rank, int64_t M) {
  const sw_api &sw = *stagewright_api;
  sw.fill(rank, sw.slot(rank, 1, 0), 0, 4);
  for (int64_t m = 0; m < M && !(asked("early-end") && m == 1); ++m)
    both1(rank, m);
}
