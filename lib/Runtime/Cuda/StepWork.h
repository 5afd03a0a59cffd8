//===- StepWork.h - the calls of a step, counted ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of each rank's device in one step, without times: every kernel and
// library call, how often it runs, what one call reads, writes and computes. No
// device is needed. The cost model predicts times from it (Cost/StepTime.h).
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
// or the form of a generated kernel. `nodes` counts the call by node of the
// graph, "" outside of all nodes; `node` is the first of them. "scores" is the
// size in bytes of the array of scores that the library keeps in the workspace
// for a deterministic gradient of attention, on architectures where it does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H

#include "Program.h"

namespace stagewright::runtime::cuda {

/// A call as text: "forward, bf16 4 x 12 x 1024 x 1024 x 64".
std::string nameOf(const Attention &attention);
std::string nameOf(const Convolution &convolution);

/// The JSON form above of a step with `microbatches` (0: as compiled). Throws
/// an `Error` if the target is not a device, or if the artifact's compiler was
/// too old to count the work of kernels.
std::string countStep(const Artifact &artifact, int64_t microbatches);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STEPWORK_H
