//===- Sockets.h - the children of one process ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An assembly on one host without MPI: a process makes a socket for every two
// of its children before it forks them, and a pipe from each to itself. What
// goes between two children goes in order, for all of them do the same calls.
// The socket of a child that dies is closed: the others see that at once. The
// pipe takes what a failed child has to say, so that the parent can say one
// thing to the user.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H

#include "Processes/Assembly.h"

#include <vector>

namespace stagewright::runtime {

/// The environment variable that tells a child its place: its number, the
/// descriptor of its pipe, and those of the sockets to all children (-1: to
/// itself), as numbers with commas.
inline constexpr char socketsVariable[] = "STAGEWRIGHT_SOCKETS";

class Sockets : public Assembly {
public:
  /// `peers` by number, stream sockets.
  Sockets(int64_t self, int pipe, std::vector<int> peers);

  int64_t self() const override { return number; }
  int64_t size() const override { return int64_t(peers.size()); }
  void renumber(int64_t wanted) override { exchangeNumbers(wanted); }
  bool gather(const void *mine, void *all, int64_t bytes,
              Patience patience) override;
  void broadcast(int64_t from, void *data, int64_t bytes) override;
  void sendNow(int64_t to, const void *data, int64_t bytes) override;
  void receiveNow(int64_t from, void *data, int64_t bytes) override;
  int64_t gone() override;
  [[noreturn]] void abort(int status, const std::string &error) override;
  void close() override;

protected:
  /// Puts the sockets in the order of the numbers that all want; the new number
  /// of each, by its old one. Collective.
  std::vector<int64_t> exchangeNumbers(int64_t wanted);

  int64_t number;
  std::vector<int> peers;

private:
  /// What is left of a transfer.
  struct Part {
    int64_t peer;
    std::byte *at;
    int64_t left;
    bool sends;
  };
  bool move(Part &part);
  bool moveAll(std::vector<Part> parts, Patience patience);

  int pipe;
};

/// The assembly of this process, as the environment says. Throws where it says
/// nothing.
Assembly *joinSockets();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_SOCKETS_H
