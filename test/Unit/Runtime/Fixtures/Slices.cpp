//===- Slices.cpp - sliced parameters, joined outputs, a contraction ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks, each with one slice of a stacked parameter p[2, 2, 2]. Rank r
// computes out_r = x * p[r], joined along dimension 1, and returns 2 * p[r] as
// its slice of the gradient.
//
//===----------------------------------------------------------------------===//

#include "Section.h"

STAGEWRIGHT_MANIFEST(
    R"json({
"stagewright": 1, "name": "step", "microbatches": 2, "schedule": "gpipe", "stages": 2,
"target": {"triple": ")json" FIXTURE_TRIPLE
    R"json(", "cpu": "", "features": []}, "libraries": ["blas"],
"arguments": [
 {"position": 0, "name": "p", "role": "parameter", "dtype": "f32", "shape": [2, 2, 2], "slices": 2, "batch_dim": 0},
 {"position": 1, "name": "x", "role": "batch", "dtype": "f32", "shape": [3, 2], "slices": 0, "batch_dim": 0}],
"results": [
 {"position": 0, "name": "p", "role": "gradient", "combine": "sum", "of": 0, "dtype": "f32", "shape": [2, 2, 2], "slices": 2, "batch_dim": 0},
 {"position": 1, "name": "out0", "role": "output", "combine": "concat", "of": -1, "dtype": "f32", "shape": [3, 2], "slices": 0, "batch_dim": 1},
 {"position": 2, "name": "out1", "role": "output", "combine": "last", "of": -1, "dtype": "f32", "shape": [3, 2], "slices": 0, "batch_dim": 0}],
"channels": [],
"ranks": [
 {"rank": 0, "device": "d0", "entry": "rank0", "stages": [0], "nodes": [],
  "buffers": [
  {"id": 0, "name": "p0", "kind": "parameter", "bytes": 16, "depth": 1, "depth_all": false, "argument": 0, "result": -1, "slice": 0},
  {"id": 1, "name": "x", "kind": "batch", "bytes": 24, "depth": 1, "depth_all": true, "argument": 1, "result": -1, "slice": -1},
  {"id": 2, "name": "dp0", "kind": "gradient", "bytes": 16, "depth": 1, "depth_all": false, "argument": -1, "result": 0, "slice": 0},
  {"id": 3, "name": "out0", "kind": "output", "bytes": 24, "depth": 1, "depth_all": true, "argument": -1, "result": 1, "slice": -1}],
  "memory": {"arena": 384, "live_peak": 384}},
 {"rank": 1, "device": "d1", "entry": "rank1", "stages": [1], "nodes": [],
  "buffers": [
  {"id": 0, "name": "p1", "kind": "parameter", "bytes": 16, "depth": 1, "depth_all": false, "argument": 0, "result": -1, "slice": 1},
  {"id": 1, "name": "x", "kind": "batch", "bytes": 24, "depth": 1, "depth_all": true, "argument": 1, "result": -1, "slice": -1},
  {"id": 2, "name": "dp1", "kind": "gradient", "bytes": 16, "depth": 1, "depth_all": false, "argument": -1, "result": 0, "slice": 1},
  {"id": 3, "name": "out1", "kind": "output", "bytes": 24, "depth": 1, "depth_all": false, "argument": -1, "result": 2, "slice": -1}],
  "memory": {"arena": 320, "live_peak": 320}}],
"plan": {}, "grid": ""
})json");

namespace {

void run(sw_rank *rank, int64_t M) {
  const sw_api &sw = *stagewright_api;
  auto *p = static_cast<float *>(sw.slot(rank, 0, 0));
  auto *dp = static_cast<float *>(sw.slot(rank, 2, 0));
  for (int i = 0; i < 4; ++i)
    dp[i] = 2 * p[i];
  sw_gemm_desc desc = {SW_F32, 0, 3, 2, 2,      {1, 1}, 2,     1,
                       2,      1, 2, 1, {0, 0}, {0, 0}, {0, 0}};
  for (int64_t m = 0; m < M; ++m)
    sw.gemm(&desc, sw.slot(rank, 1, m), p, sw.slot(rank, 3, m));
}

} // namespace

ENTRY rank0(sw_rank *rank, int64_t M) { run(rank, M); }
ENTRY rank1(sw_rank *rank, int64_t M) { run(rank, M); }
