//===- Program.h - rank programs as data ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the entry of a rank does is recorded when a step is made: one command
// per call, in order, with the addresses on the device. From then on a step is
// data: Order.h finds one total order of the commands of all ranks, Plan.h the
// streams and events that keep it, Verify.h what holds of it, and a step
// replays it without generated code.
//
// Nothing in an entry may hang on what the device computes, so recording it
// once is as good as running it at every step.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H

#include "Artifact/Artifact.h"
#include "Memory/Layout.h"

namespace stagewright::runtime::cuda {

using Address = uint64_t;

/// How the messages of a channel travel.
enum class Route {
  HandOff, ///< one device: the sender writes into the receiver's slot
  Copy,    ///< two devices of this process: a copy into the receiver's slot
  Network  ///< two processes: NCCL
};

/// Where everything of a step lies; by rank or by channel.
struct Memory {
  std::vector<Layout> layouts;
  std::vector<Address> arenas;
  std::vector<Address> hosts;     ///< pinned, of stashes that wait there
  std::vector<Address> constants; ///< copies of the artifact's
  std::vector<Route> routes;
  /// The sender's ring of a channel that is no hand-off, as deep and as wide as
  /// the receiver's.
  std::vector<Address> senders;

  /// The slot of microbatch `m` of a buffer of `rank`, wherever it lies.
  Address slot(int64_t rank, int64_t buffer, int64_t m) const;
  /// Where the bucket of a collective lies on a rank of it.
  Address bucket(const Manifest &manifest, int64_t collective,
                 int64_t rank) const;
  /// The receiver's slot of microbatch `m`.
  Address received(const Manifest &manifest, int64_t channel, int64_t m) const;
  /// Where the sender writes it.
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
    Offload,     ///< id: buffer; m; host; from the device, to its host, bytes
    Fetch,       ///< id: buffer; m; host; to the device, from its host, bytes
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
  /// Of a launch: the call before it that it stands in for, where the library
  /// cannot do that; or -1.
  int64_t instead = -1;
  /// Of a copy to or from the host: the buffer there.
  int64_t host = -1;

  /// Whether the device does something.
  bool works() const { return kind <= Convolve; }
  /// Whether it may touch memory that it does not name: a bucket may have any.
  bool mayTouchAny() const { return kind == Reduce || kind == Await; }
};

struct Contraction {
  sw_contraction_desc desc;
  Address a = 0, b = 0, c = 0, bias = 0, aux = 0;
  double alpha = 1; ///< The products are multiplied by it.
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

/// Runs the entry of every rank and gives what it called. Throws an `Error` at
/// what no program may do: a kernel that does not exist, a place outside of the
/// rank's memory, a slot that is taken twice or not given back, work for a
/// processor.
std::vector<RankProgram> recordProgram(const Artifact &artifact,
                                       const Memory &memory,
                                       int64_t microbatches);

/// Drops the commands for which `removed` is set.
void removeCommands(RankProgram &program, const std::vector<bool> &removed);

/// The table that records; artifacts for a device get it instead of the
/// processor's.
const sw_api &deviceCodeApi();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PROGRAM_H
