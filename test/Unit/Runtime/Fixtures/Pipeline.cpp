//===- Pipeline.cpp - two hand-written ranks with faults ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = w * x on rank 0; loss += (m + 1) * sum(y) on rank 1; 1F1B with two
// microbatches in flight. Argument 2 selects a fault (see `Fault`).
//
//===----------------------------------------------------------------------===//

#include "Section.h"

#include "Fault.h"

#include <algorithm>

// Bytes of rank 0 in the manifest; other values are wrong on purpose.
#ifndef PRINTED_ARENA
#define PRINTED_ARENA "832"
#endif
// The suffix of the code, and the manifest's processors: first, then others.
#ifdef SECOND_PROCESSOR
#define CODE_SUFFIX ".plain"
#define PROCESSOR                                                              \
  R"json(["warp-drive"], "others": [{"cpu": "", "features": [],)json"          \
  R"json( "suffix": ".plain"}])json"
#else
#define CODE_SUFFIX ""
#define PROCESSOR "[]"
#endif
#ifndef PRINTED_PEAK
#define PRINTED_PEAK "832"
#endif

// With READY, both ranks run what is ready. Rows of rank 0: four backwards,
// which follow their forwards, and four forwards, of which the third and the
// fourth follow the backward that releases their slot of the stash.
#ifdef READY
#define VERSION "4, \"only\": true"
#define ROW(name, lane, turn, receives, claims, after)                         \
  R"json({"name": ")json" name R"json(", "lane": )json" lane                   \
  R"json(, "turn": )json" turn R"json(, "receives": [)json" receives           \
  R"json(], "claims": [)json" claims R"json(], "after": [)json" after "]}"
#define BACK(m, forward) ROW("0B" m, "0", m, "1, " m, "", forward)
#define FORTH(m, turn, back) ROW("0F" m, "1", turn, "", "0, " m, back)
#define BOTH(m) ROW("1B" m, "0", m, "0, " m, "1, " m, "")
#define ROWS(list) "\"rows\": [" list "],"
#define BACKS                                                                  \
  BACK("0", "4") "," BACK("1", "5") "," BACK("2", "6") "," BACK("3", "7")
#define FORTHS1 FORTH("0", "4", "") "," FORTH("1", "5", "")
#define FORTHS2 FORTH("2", "6", "0") "," FORTH("3", "7", "1")
#define ROWS0 ROWS(BACKS "," FORTHS1 "," FORTHS2)
#define ROWS1 ROWS(BOTH("0") "," BOTH("1") "," BOTH("2") "," BOTH("3"))
#else
#define VERSION "1"
#define ROWS0
#define ROWS1
#endif

STAGEWRIGHT_MANIFEST(
    R"json({
"stagewright": )json" VERSION
    R"json(, "name": "step", "microbatches": 4, "schedule": "1f1b", "stages": 2,
"target": {"triple": ")json" FIXTURE_TRIPLE
    R"json(", "cpu": "", "features": )json" PROCESSOR
    R"json(}, "libraries": [],
"arguments": [
 {"position": 0, "name": "params/w", "role": "parameter", "dtype": "f32", "shape": [4], "slices": 0, "batch_dim": 0},
 {"position": 1, "name": "x", "role": "batch", "dtype": "f32", "shape": [4], "slices": 0, "batch_dim": 0},
 {"position": 2, "name": "fault", "role": "constant", "dtype": "i32", "shape": [], "slices": 0, "batch_dim": 0},
 {"position": 3, "name": "m", "role": "microbatch", "dtype": "i32", "shape": [], "slices": 0, "batch_dim": 0}],
"results": [
 {"position": 0, "name": "loss", "role": "loss", "combine": "mean", "of": -1, "dtype": "f32", "shape": [], "slices": 0, "batch_dim": 0},
 {"position": 1, "name": "params/w", "role": "gradient", "combine": "mean", "of": 0, "dtype": "f32", "shape": [4], "slices": 0, "batch_dim": 0},
 {"position": 2, "name": "y", "role": "output", "combine": "concat", "of": -1, "dtype": "f32", "shape": [4], "slices": 0, "batch_dim": 0}],
"channels": [
 {"id": 0, "name": "y", "from": 0, "to": 1, "bytes": 16, "depth": 2, "depth_all": false},
 {"id": 1, "name": "dy", "from": 1, "to": 0, "bytes": 16, "depth": 2, "depth_all": false}],
"ranks": [
 {"rank": 0, "device": "d0", "entry": "step.0", "stages": [0], "nodes": ["w.F", "w.B"],
  )json" ROWS0 R"json(
  "buffers": [
  {"id": 0, "name": "w", "kind": "parameter", "bytes": 16, "depth": 1, "depth_all": false, "argument": 0, "result": -1, "slice": -1, "dtype": "f32", "shape": [4]},
  {"id": 1, "name": "x", "kind": "batch", "bytes": 16, "depth": 1, "depth_all": true, "argument": 1, "result": -1, "slice": -1, "dtype": "f32", "shape": [4]},
  {"id": 2, "name": "fault", "kind": "constant", "bytes": 4, "depth": 1, "depth_all": false, "argument": 2, "result": -1, "slice": -1, "dtype": "i32", "shape": []},
  {"id": 3, "name": "dw", "kind": "gradient", "bytes": 16, "depth": 1, "depth_all": false, "argument": -1, "result": 1, "slice": -1, "dtype": "f32", "shape": [4]},
  {"id": 4, "name": "stash.x", "kind": "stash", "bytes": 16, "depth": 2, "depth_all": false, "argument": -1, "result": -1, "slice": -1, "dtype": "f32", "shape": [4]},
  {"id": 5, "name": "workspace", "kind": "workspace", "bytes": 128, "depth": 1, "depth_all": false, "argument": -1, "result": -1, "slice": -1, "dtype": "i8", "shape": [128]}],
  "memory": {"parameters": 128, "gradients": 64, "batch": 256, "outputs": 0, "stash": 128, "transfers": 128, "workspace": 128, "arena": )json" PRINTED_ARENA
    R"json(, "live_peak": )json" PRINTED_PEAK R"json(}},
 {"rank": 1, "device": "d1", "entry": "step.1", "stages": [1], "nodes": ["loss.F"],
  )json" ROWS1 R"json(
  "buffers": [
  {"id": 0, "name": "fault", "kind": "constant", "bytes": 4, "depth": 1, "depth_all": false, "argument": 2, "result": -1, "slice": -1, "dtype": "i32", "shape": []},
  {"id": 1, "name": "m", "kind": "microbatch", "bytes": 4, "depth": 1, "depth_all": true, "argument": 3, "result": -1, "slice": -1, "dtype": "i32", "shape": []},
  {"id": 2, "name": "loss", "kind": "accumulator", "bytes": 4, "depth": 1, "depth_all": false, "argument": -1, "result": 0, "slice": -1, "dtype": "f32", "shape": []},
  {"id": 3, "name": "y", "kind": "output", "bytes": 16, "depth": 1, "depth_all": true, "argument": -1, "result": 2, "slice": -1, "dtype": "f32", "shape": [4]},
  {"id": 4, "name": "workspace", "kind": "workspace", "bytes": 64, "depth": 1, "depth_all": false, "argument": -1, "result": -1, "slice": -1, "dtype": "i8", "shape": [64]}],
  "memory": {"parameters": 64, "gradients": 64, "batch": 256, "outputs": 256, "stash": 0, "transfers": 128, "workspace": 64, "arena": 832, "live_peak": 832}}],
"plan": {"stages": [{"stage": 0, "device": "d0", "layers": ["w"]}, {"stage": 1, "device": "d1", "layers": ["loss"]}]},
"grid": "rank 0  F0 F1 B0 F2 B1 F3 B2 B3\nrank 1     F0 B0 F1 B1 F2 B2 F3 B3\n"
})json");

namespace {

const int64_t dim = 4;

float *floats(void *address) { return static_cast<float *>(address); }

Fault faultOf(sw_rank *rank, int64_t buffer) {
  return Fault(*static_cast<int32_t *>(stagewright_api->slot(rank, buffer, 0)));
}

/// y = w * x from `lower` to `upper`, with a nested parallel loop per element.
void multiply(void **given, int64_t lower, int64_t upper) {
  const sw_api &sw = *stagewright_api;
  float *w = floats(given[0]), *x = floats(given[1]), *y = floats(given[2]);
  if (given[3] && lower <= dim / 2 && dim / 2 < upper)
    sw.fail(static_cast<sw_rank *>(given[3]), "asked to fail in a part");
  for (int64_t i = lower; i < upper; ++i) {
    void *one[] = {w + i, x + i, y + i};
    sw.parallel(
        [](void **at, int64_t, int64_t) {
          *floats(at[2]) = *floats(at[0]) * *floats(at[1]);
        },
        one, 2, 1);
  }
}

void forward0(sw_rank *rank, int64_t m, Fault fault) {
  const sw_api &sw = *stagewright_api;
  sw.action_begin(rank, SW_FORWARD, 0, m);
  float *w = floats(sw.slot(rank, 0, 0)), *x = floats(sw.slot(rank, 1, m));
  float *stash = floats(sw.acquire(rank, 4, m));
  if (fault == Fault::DoubleAcquire)
    sw.acquire(rank, 4, m);
  float *y = floats(sw.claim(rank, 0, m));
  if (fault == Fault::DoubleClaim)
    sw.claim(rank, 0, m);
  sw.node_begin(rank, 0);
  std::copy(x, x + dim, stash);
  void *given[] = {w, x, y, fault == Fault::FailInPart ? rank : nullptr};
  sw.parallel(multiply, given, dim, 1);
  sw.node_end(rank, 0, fault == Fault::Workspace ? 4096 : 128);
  if (fault != Fault::NoSend)
    sw.send(rank, 0, m);
  if (fault == Fault::DoubleSend)
    sw.send(rank, 0, m);
  sw.action_end(rank);
}

void backward0(sw_rank *rank, int64_t m, Fault fault) {
  const sw_api &sw = *stagewright_api;
  sw.action_begin(rank, SW_BACKWARD, 0, m);
  float *dy = floats(sw.recv(rank, 1, m));
  if (sw.recv(rank, 1, m) != dy)
    sw.fail(rank, "a message that is held has moved");
  if (fault == Fault::ReceiveTooFar)
    sw.recv(rank, 1, m + 2);
  if (fault == Fault::UseAfterRelease)
    sw.release(rank, 4, m);
  float *stash = floats(sw.slot(rank, 4, m));
  float *dw = floats(sw.slot(rank, 3, 0));
  sw.node_begin(rank, 1);
  for (int64_t i = 0; i < dim; ++i)
    dw[i] += dy[i] * stash[i];
  sw.node_end(rank, 1, 0);
  if (fault != Fault::LeakChannel || m != 3)
    sw.release_channel(rank, 1, m);
  if (fault != Fault::LeakStash || m != 3)
    sw.release(rank, 4, m);
  if (fault == Fault::DoubleRelease)
    sw.release(rank, 4, m);
  sw.action_end(rank);
}

void both1(sw_rank *rank, int64_t m, Fault fault) {
  const sw_api &sw = *stagewright_api;
  if (fault == Fault::Fail && m == 2)
    sw.fail(rank, "asked to fail at microbatch 2");
  sw.action_begin(rank, SW_FORWARD, 1, m);
  float *y = floats(sw.recv(rank, 0, m));
  auto index = *static_cast<int32_t *>(sw.slot(rank, 1, m));
  float *loss = floats(sw.slot(rank, 2, 0)), *out = floats(sw.slot(rank, 3, m));
  sw.node_begin(rank, 0);
  for (int64_t i = 0; i < dim; ++i) {
    *loss += y[i] * float(index + 1);
    out[i] = y[i];
  }
  sw.node_end(rank, 0, 64);
  sw.action_end(rank);
  sw.action_begin(rank, SW_BACKWARD, 1, m);
  float *dy = floats(sw.claim(rank, 1, m));
  std::fill(dy, dy + dim, float(index + 1));
  sw.send(rank, 1, m);
  sw.release_channel(rank, 0, m);
  sw.action_end(rank);
}

} // namespace

// The symbol has a dot, as pp-compile writes it.
ENTRY step0(sw_rank *rank, int64_t M) asm("step.0" CODE_SUFFIX);
ENTRY step1(sw_rank *rank, int64_t M) asm("step.1" CODE_SUFFIX);

void step0(sw_rank *rank, int64_t M) {
  const sw_api &sw = *stagewright_api;
  Fault fault = faultOf(rank, 2);
  if (fault == Fault::BadBuffer)
    sw.slot(rank, 99, 0);
  if (fault == Fault::BadMicrobatch)
    sw.slot(rank, 1, M);
  if (fault == Fault::Launch)
    sw.launch(rank, 0, nullptr);
  if (fault == Fault::Circle)
    sw.recv(rank, 1, 0);
  float *dw = floats(sw.slot(rank, 3, 0));
  std::fill(dw, dw + dim, 0.f);
#ifdef READY
  for (int64_t turn = 0; turn < 2 * M; ++turn) {
    int64_t row = sw.choose(rank);
    row < M ? backward0(rank, row, fault) : forward0(rank, row - M, fault);
  }
#else
  for (int64_t m = 0; m < std::min<int64_t>(M, 2); ++m)
    forward0(rank, m, fault);
  for (int64_t m = 0; m < M; ++m) {
    backward0(rank, m, fault);
    if (m + 2 < M)
      forward0(rank, m + 2, fault);
  }
#endif
  for (int64_t i = 0; i < dim; ++i)
    dw[i] /= float(M);
}

void step1(sw_rank *rank, int64_t M) {
  const sw_api &sw = *stagewright_api;
  Fault fault = faultOf(rank, 0);
  float *loss = floats(sw.slot(rank, 2, 0));
  *loss = 0;
  for (int64_t m = 0; m < M; ++m) {
    if (fault == Fault::EarlyEnd && m == 1)
      return;
#ifdef READY
    both1(rank, sw.choose(rank), fault);
#else
    both1(rank, m, fault);
#endif
  }
  *loss /= float(M);
}
