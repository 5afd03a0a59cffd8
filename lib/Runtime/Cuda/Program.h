//===- Program.h - rank programs as data ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When a step is made, the calls of each rank's entry are recorded as commands,
// in order, with the addresses on the device. From then on a step is data:
// Order.h finds one total order of the commands of all ranks, StreamPlan.h
// assigns them to streams with events, Verify.h verifies the result, and a step
// replays it without generated code.
//
// The calls of an entry may not depend on values that the device computes, so
// recording it once is equivalent to running it in every step.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H

#include "Artifact/Artifact.h"
#include "Memory/Layout.h"

namespace stagewright::runtime::cuda {

using Address = uint64_t;

/// How the messages of a channel are sent.
enum class Route {
  HandOff, ///< one device: the sender writes into the receiver's slot
  Copy,    ///< two devices of this process: a copy into the receiver's slot
  Network  ///< two processes: NCCL
};

/// The addresses of a step, by rank or by channel.
struct Memory {
  std::vector<Layout> layouts;
  std::vector<Address> arenas;
  std::vector<Address> hosts;     ///< pinned memory for offloaded stashes
  std::vector<Address> constants; ///< copies of the artifact's arrays
  std::vector<Route> routes;
  /// The sender's ring of a channel that is not a hand-off, with as many slots
  /// of the same size as the receiver's.
  std::vector<Address> senders;

  /// The slot of microbatch `m` of a buffer of `rank`, on the device or host.
  Address slot(int64_t rank, int64_t buffer, int64_t m) const;
  /// The address of a rank's bucket of a collective.
  Address bucket(const Manifest &manifest, int64_t collective,
                 int64_t rank) const;
  /// The receiver's slot of message `m`.
  Address received(const Manifest &manifest, int64_t channel, int64_t m) const;
  /// The slot into which the sender writes message `m`.
  Address sent(const Manifest &manifest, int64_t channel, int64_t m) const;
};

struct Command {
  enum Kind : uint8_t {
    Launch,   ///< id: kernel; to: first of its values; bytes: their number
    Fill,     ///< to, bytes; from: the byte
    Copy,     ///< to, from, bytes
    Contract, ///< id: number of the contraction
    Attend,   ///< id: number of the attention or its gradient
    Convolve, ///< id: number of the convolution
    Claim,    ///< id: channel; m; to: the slot
    Send,
    Receive,
    GiveBack, ///< release_channel
    Acquire,  ///< id: buffer; m; to: the slot
    Release,
    Reduce, ///< id: collective
    Await,
    Offload,     ///< id: buffer; m; host; from on the device, to on the host
    Fetch,       ///< id: buffer; m; host; to on the device, from on the host
    Fetched,     ///< id: buffer; m
    BeginAction, ///< id: stage; m; bytes: its letter
    EndAction,
    BeginNode, ///< id: node
    EndNode    ///< bytes: of workspace
  };
  Kind kind;
  int64_t id = 0, m = 0;
  Address to = 0, from = 0;
  int64_t bytes = 0;
  /// Of a launch: index of the earlier library call that it replaces if the
  /// library cannot do it; or -1.
  int64_t instead = -1;
  /// Of a copy to or from the host: the buffer on the host.
  int64_t host = -1;

  /// Whether it is work of the stream on which the rank computes.
  bool works() const { return kind <= Convolve; }
  /// Whether it may use memory whose address it does not contain: a bucket.
  bool mayTouchAny() const { return kind == Reduce || kind == Await; }
};

struct Contraction {
  sw_contraction_desc desc;
  Address a = 0, b = 0, c = 0, bias = 0, aux = 0;
  double alpha = 1; ///< The product is multiplied by it.
};

struct Attention {
  sw_attention_desc desc;
  bool gradient = false;
  Address q = 0, k = 0, v = 0, o = 0, stats = 0;
  Address dO = 0, dQ = 0, dK = 0, dV = 0; ///< of a gradient
  Address bias = 0;                       ///< 0: none
};

struct Convolution {
  sw_convolve_desc desc;
  Address x = 0, w = 0, y = 0;
};

struct RankProgram {
  std::vector<Command> commands;
  std::vector<uint64_t> values; ///< of the arguments of launches
  std::vector<Contraction> contractions;
  std::vector<Attention> attentions;
  std::vector<Convolution> convolutions;
  int64_t livePeak = 0; ///< bytes
};

/// Runs the entry of every rank and returns its calls, as changed by
/// overwriteFirstSums() and foldMeans(). Throws an `Error` for invalid calls: a
/// kernel or buffer that does not exist, a slot that is taken twice or not
/// given back, work for the CPU.
std::vector<RankProgram> recordProgram(const Artifact &artifact,
                                       const Memory &memory,
                                       int64_t microbatches);

/// The table of functions that record calls. Artifacts for a device get it
/// instead of the CPU's.
const sw_api &deviceCodeApi();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H
