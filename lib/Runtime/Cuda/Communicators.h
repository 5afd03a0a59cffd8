//===- Communicators.h - NCCL communicators of a rank -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is one communicator for all messages from one rank to another, so that
// no direction and no neighbour waits for another one. These communicators are
// made in rounds in which each rank has at most one partner: the manifest has
// an edge colouring. The partners of the earliest unfinished round can always
// proceed, so making communicators cannot deadlock. After them one communicator
// is made for each group of ranks that sum or gather (SumGroups.h). A new
// communicator is tried with every message size of a step: NCCL connects ranks
// at their first message of a kind, which must not happen within a graph
// capture.
//
// All calls are nonblocking (NCCL's "blocking = 0"). NCCL's background work is
// polled, so that a rank does not wait for a partner that is dead or stopped.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMUNICATORS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMUNICATORS_H

#include "Device.h"
#include "Nccl.h"
#include "Processes/ProcessGroup.h"
#include "Program.h"
#include "SumGroups.h"

namespace stagewright::runtime::cuda {

class Communicators {
public:
  /// For the rank processes.self(). Makes no communicators yet.
  Communicators(const Manifest &manifest, ProcessGroup &processes);
  /// Finalizes the communicators if all were made, else aborts them.
  ~Communicators();
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;

  /// Makes all communicators of this rank and tries each size of message and
  /// sum of a step, on `stream`, in slots that are unused so far and zero. A
  /// collective call.
  void connect(const Memory &memory, const Device &device, Stream stream);

  /// Enqueues this rank's half of a message of a channel.
  void send(int64_t channel, Address from, Stream stream) const;
  void receive(int64_t channel, Address to, Stream stream) const;
  /// Enqueues this rank's part in a sum over ranks, in place.
  void sum(int64_t collective, Address bucket, Stream stream) const;

  /// Throws if NCCL has reported an asynchronous error.
  void look() const;
  /// Aborts pending work, also on the device. The last call before the process
  /// ends.
  void abort() const noexcept;

private:
  /// All that rank `from` sends to rank `to`.
  struct Edge {
    int64_t from = 0, to = 0, round = 0;
    Communicator handle = nullptr;
  };

  struct Group : SumGroup {
    Communicator handle = nullptr;
  };

  void findEdges();
  std::vector<NcclId> exchangeIds();
  Communicator make(const NcclId &id, size_t size, size_t number,
                    int64_t partner, int maxBlocks) const;
  void tryOut(size_t edge, const Memory &memory, Stream stream) const;
  void settle(Communicator handle, int64_t partner, int status,
              const char *symbol) const;
  void settle(const Edge &edge, int status, const char *symbol) const {
    settle(edge.handle, partner(edge), status, symbol);
  }
  /// The first other rank of a group.
  int64_t partner(const SumGroup &group) const {
    return group.ranks[group.ranks.front() == self ? 1 : 0];
  }
  bool isOwn(const Edge &edge) const {
    return edge.from == self || edge.to == self;
  }
  bool isOwn(const SumGroup &group) const;
  int64_t partner(const Edge &edge) const {
    return edge.from == self ? edge.to : edge.from;
  }

  const Manifest &manifest;
  ProcessGroup &processes;
  int64_t self;
  std::vector<Edge> edges;    ///< of all ranks, by round
  std::vector<size_t> edgeOf; ///< by channel
  SumGroups sums;
  std::vector<Group> groups; ///< those of `sums`
  bool connected = false;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_COMMUNICATORS_H
