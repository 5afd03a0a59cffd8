//===- Sockets.h - sockets between the children of a process ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communication between processes on one host, without MPI: a process creates a
// socket for every two of its children before it forks them, and a pipe from
// each to itself. All children make the same calls in the same order, so bytes
// need no tags. The sockets of a child that dies are closed, which the others
// see at once. A failed child writes its error to the pipe, so that the parent
// prints one error for all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H

#include "Processes/ProcessGroup.h"

#include <vector>

namespace stagewright::runtime {

/// The environment variable with the connections of a child, as numbers with
/// commas: its own number, the descriptor of its pipe, and those of the sockets
/// to all children (-1: to itself).
inline constexpr char socketsVariable[] = "STAGEWRIGHT_SOCKETS";

class Sockets : public ProcessGroup {
public:
  /// `peers` are stream sockets, by number.
  Sockets(int64_t self, int pipe, std::vector<int> peers);

  int64_t self() const override { return number; }
  int64_t size() const override { return int64_t(peers.size()); }
  void renumber(int64_t wanted) override { exchangeNumbers(wanted); }
  bool gather(const void *mine, void *all, int64_t bytes,
              PollTimeout timeout) override;
  void broadcast(int64_t from, void *data, int64_t bytes) override;
  void sendNow(int64_t to, const void *data, int64_t bytes) override;
  void receiveNow(int64_t from, void *data, int64_t bytes) override;
  int64_t deadProcess() override;
  [[noreturn]] void abort(int status, const std::string &error) override;
  void close() override;

protected:
  /// Renumbers the processes and sorts `peers` by the new numbers; returns
  /// these by old number. Collective.
  std::vector<int64_t> exchangeNumbers(int64_t wanted);

  int64_t number;
  std::vector<int> peers;

private:
  /// The rest of a transfer.
  struct Part {
    int64_t peer;
    std::byte *at;
    int64_t left;
    bool sends;
  };
  bool move(Part &part);
  bool moveAll(std::vector<Part> parts, PollTimeout timeout);

  int pipe;
};

/// The sockets of this process, from the environment variable. Throws if it is
/// not set.
ProcessGroup *joinSockets();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H
