//===- StepTime.h - estimated times of a step's calls -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The estimate that `--explain-time` prints: a roofline time for every call of
// a compiled step on the devices of a cluster. Calls come from the runtime (its
// StepWork.h describes their JSON form), rates from the cluster.
//
//  - Products: the max of arithmetic at the rate that their size reaches
//    (Contraction.h) and of bytes at the memory's bandwidth.
//  - Attention by the library: the max of arithmetic at kAttentionShare of the
//    rate of its element type and of bytes at the memory's bandwidth.
//  - Our attention on tensor cores: the same, with kOwnAttentionShare of the
//    rate of bf16.
//  - Our kernels, fills and copies: the max of bytes and arithmetic. A kernel
//    with few threads reaches less of both rates: each thread has kThreadBytes
//    in flight for kLatency (Little's law), and one lane of arithmetic.
//  - Every node of the CUDA graph: kNodeSeconds in addition, since nearly every
//    node depends on the one before.
//
// Messages, sums over ranks and copies of stashes overlap with the other calls
// and are not included in the sum. Caches are not modelled: data in the L2
// cache costs less than estimated here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_STEPTIME_H
#define STAGEWRIGHT_COST_STEPTIME_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// Seconds from the end of a node of a CUDA graph to the start of a dependent
/// node: a round number, not measured.
inline constexpr Seconds kNodeSeconds{1e-6};

/// Reference rates for products, and the rate assumed for attention: 600 and
/// 400 TFLOP/s of the 989.5 that an H100 has in 16 bits.
inline constexpr double kProductShare = 600 / 989.5;
inline constexpr double kAttentionShare = 400 / 989.5;
/// The share for our own attention on tensor cores, not measured: half of the
/// library's, because it uses only instructions that sm_80 has.
inline constexpr double kOwnAttentionShare = kAttentionShare / 2;

/// Latency of a load on a busy device, and the bytes that a thread of our
/// kernels has in flight. Chosen so that the 2,048 threads of every
/// multiprocessor of an H100 together could use twice its bandwidth.
inline constexpr Seconds kLatency{0.6e-6};
inline constexpr int64_t kThreadBytes = 16;

/// float32 operations that a multiprocessor starts per cycle, each for one
/// thread: 128 from compute capability 8.6 on, 64 for 8.0 ("CUDA C++
/// Programming Guide", "Arithmetic Instructions").
inline constexpr int64_t kLanes = 128;

/// Equal calls of a step, with their count.
struct StepCall {
  std::string kind;                     ///< "class" of the JSON form
  std::string name, node;               ///< `node`: the first with this call
  std::map<std::string, int64_t> nodes; ///< number of calls by each node
  int64_t count = 0;
  Bytes read, written; ///< of one call
  Flops flops;         ///< of one call
  int64_t blocks = 0, threads = 0;
  Contraction product;  ///< for attention only its type is known
  Bytes scores;         ///< of an array of scores that is written and read
  Seconds seconds = {}; ///< of one call; estimateStep sets it

  Bytes bytes() const { return (read + written) * count; }
  Seconds total() const { return seconds * double(count); }
  /// Whether it is a kernel of ours, not a call of a library.
  bool isOurs() const { return blocks > 0; }
  /// Whether it overlaps with the other calls.
  bool isBeside() const {
    return kind == "message" || kind == "sum" || kind == "stash";
  }
};

/// The calls of a rank, the most expensive first, and their totals.
struct RankTime {
  std::string device, deviceClass;
  std::vector<StepCall> calls;
  int64_t nodes = 0; ///< of the CUDA graph
  Bytes ours;        ///< that our kernels read and write
  Bytes scores;      ///< written and read by deterministic gradients
  Seconds scoreTime; ///< of `scores`; part of `sum`
  /// Of products and convolutions if all ran at kProductShare of the rate.
  Seconds products;
  /// Of products and convolutions as part of `sum`: less than `products` if
  /// their sizes reach a larger share.
  Seconds expected;
  Seconds attention; ///< by the library, at kAttentionShare of the rate
  Seconds sum;       ///< of the calls and nodes
};

/// Reads the runtime's JSON form and sets the times. A rank's device is the
/// cluster's device of that name, or else the one of the rank's number, modulo
/// their count. Fails if its class is "cpu-core". `anyOrder`: for a run in
/// which libraries may sum in any order, so that gradients of attention store
/// no scores.
Result<std::vector<RankTime>> estimateStep(const std::string &json,
                                           const Cluster &cluster,
                                           bool anyOrder = false);

/// Estimates and prints in one call: the times of `counts` on the devices of a
/// preset or file, as a table or as JSON.
Result<std::string> explainStep(const std::string &counts,
                                const std::string &cluster, bool json,
                                bool anyOrder = false);

/// A table of the slowest rank, and a line for each of the others.
std::string toText(const std::vector<RankTime> &ranks);
/// All ranks, in bytes, seconds and operations.
std::string toJson(const std::vector<RankTime> &ranks);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_STEPTIME_H
