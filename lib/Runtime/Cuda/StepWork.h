//===- StepWork.h - the calls of a step, counted ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each rank's device does in one step, without times: every kernel and
// call of a library, how often, and what one call reads, writes and computes.
// No device is needed. The cost model makes times of it (Cost/StepTime.h).
//
//   {"ranks": [{"device": "d0", "calls": [
//      {"class": "product", "name": "bf16 4096 x 3072 x 768", "node": "h0.F",
//       "nodes": {"h0.F": 1, "h1.F": 1, ...}, "read": 11010048, "written":
//       25165824, "flops": 19327352832, "type": "bf16", "batch": 1, "m": 4096,
//       "n": 3072, "k": 768},
//      {"class": "elements", "name": "kernel_3", ..., "blocks": 3072,
//       "threads": 393216}, ...]}]}
//
// `class` is product, attention, convolution, fill, copy, message, sum, stash,
// or the form of a kernel of ours. `nodes` says how often each node of the
// graph has the call, "" what is outside of all of them; `node` is the first
// one. "scores" are the bytes of the array of scores that a deterministic
// gradient of attention keeps in the workspace, where the library does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H

#include "Program.h"

namespace stagewright::runtime::cuda {

/// What a call is, for people: "forward, bf16 4 x 12 x 1024 x 1024 x 64".
std::string nameOf(const Attention &attention);
std::string nameOf(const Convolution &convolution);

/// The JSON form above of a step with so many microbatches, 0: as compiled.
/// Throws an `Error` if the target is no device, or if the compiler was older
/// than the counts of kernels.
std::string countStep(const Artifact &artifact, int64_t microbatches);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H
