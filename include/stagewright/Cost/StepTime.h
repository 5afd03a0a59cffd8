//===- StepTime.h - estimated times of a step's calls -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--explain-time` prints: a roofline of every call of a compiled step on
// the devices of a cluster. Calls come from the runtime (StepWork.h there
// describes their JSON form), rates from the cluster.
//
//  - Products: arithmetic at what their size reaches (Contraction.h), or bytes
//    at the memory's bandwidth, whichever takes longer.
//  - Attention of the library: arithmetic at kAttentionShare of its type's
//    rate.
//  - Our attention on tensor cores: the same at kOwnAttentionShare.
//  - Our kernels, fills and copies: bytes or arithmetic, whichever takes
//  longer.
//    A kernel of few threads reaches less of both: each thread has kThreadBytes
//    under way for kLatency (Little's law), and a lane of arithmetic.
//  - Every node of the graph: kNodeSeconds beside that, since nearly all of
//    them depend on the one before.
//
// Messages, sums over ranks and copies of stashes run beside the rest and are
// not in its sum. Nothing is said of caches: what the second cache holds costs
// less than estimated here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_STEPTIME_H
#define STAGEWRIGHT_COST_STEPTIME_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// Seconds from the end of a node of a CUDA graph to the begin of the next one
/// that depends on it: a round number, not measured here.
inline constexpr Seconds kNodeSeconds{1e-6};

/// What steps are compared with, and the rate of attention: 600 TFLOP/s in
/// products and 400 in attention, of the 989.5 that an H100 has in 16 bits.
inline constexpr double kProductShare = 600 / 989.5;
inline constexpr double kAttentionShare = 400 / 989.5;
/// Of our own attention on tensor cores, which has not been measured: half of
/// the library's, for it keeps to instructions that sm_80 has.
inline constexpr double kOwnAttentionShare = kAttentionShare / 2;

/// From a load to its value, under load, and what a thread of our kernels asks
/// for at once. Chosen so that all 2,048 threads of all processors of an H100
/// together could ask for twice its bandwidth.
inline constexpr Seconds kLatency{0.6e-6};
inline constexpr int64_t kThreadBytes = 16;

/// Operations in float32 that a multiprocessor begins in a cycle, each for one
/// thread: 128 from compute capability 8.6 on, but for 8.0 with 64 ("CUDA C++
/// Programming Guide", "Arithmetic Instructions").
inline constexpr int64_t kLanes = 128;

/// One call of a step, as often as it is done.
struct StepCall {
  std::string kind;                     ///< "class" of the JSON form
  std::string name, node;               ///< the first node that has it
  std::map<std::string, int64_t> nodes; ///< how often each of them has it
  int64_t count = 0;
  Bytes read, written; ///< of one call
  Flops flops;         ///< of one call
  int64_t blocks = 0, threads = 0;
  Contraction product;  ///< only its type is known of attention
  Bytes scores;         ///< of an array that is written and read
  Seconds seconds = {}; ///< of one call; estimateStep sets it

  Bytes bytes() const { return (read + written) * count; }
  Seconds total() const { return seconds * double(count); }
  /// Whether it is a kernel of ours.
  bool isOurs() const { return blocks > 0; }
  /// Whether it runs beside the rest.
  bool isBeside() const {
    return kind == "message" || kind == "sum" || kind == "stash";
  }
};

/// The calls of a rank, the most expensive first, and what they add up to.
struct RankTime {
  std::string device, deviceClass;
  std::vector<StepCall> calls;
  int64_t nodes = 0; ///< of the graph
  Bytes ours;        ///< that our kernels read and write
  Bytes scores;      ///< written and read by deterministic gradients
  Seconds scoreTime; ///< of these, in `sum`
  Seconds products;  ///< at kProductShare of the rate, with convolutions
  Seconds expected;  ///< of these, in `sum`: most sizes reach more
  Seconds attention; ///< at kAttentionShare of the rate
  Seconds sum;       ///< of the calls and nodes
};

/// Reads the runtime's JSON form and sets the times. A rank's device is the
/// cluster's of that name, else that of the rank's number. Fails where the
/// cluster's devices are processors. `anyOrder`: of a run that lets libraries
/// add up in any order, whose gradients of attention keep no scores.
Result<std::vector<RankTime>> estimateStep(const std::string &json,
                                           const Cluster &cluster,
                                           bool anyOrder = false);

/// The whole of it for a tool: the times of `counts` on the devices of a preset
/// or file, as a table or as JSON.
Result<std::string> explainStep(const std::string &counts,
                                const std::string &cluster, bool json,
                                bool anyOrder = false);

/// The rank that takes longest as a table, and a line for each of the others.
std::string toText(const std::vector<RankTime> &ranks);
/// All ranks, in bytes, seconds and operations.
std::string toJson(const std::vector<RankTime> &ranks);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_STEPTIME_H
