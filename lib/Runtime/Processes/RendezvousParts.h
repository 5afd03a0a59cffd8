//===- RendezvousParts.h - common parts of a rendezvous ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rank 0 (RendezvousHost.cpp) and all other ranks (RendezvousClient.cpp)
// have in common: their messages, and functions of both.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H

#include "Processes/RankListener.h"
#include "Processes/Rendezvous.h"
#include "Recording/Recorder.h"

#include <algorithm>

namespace stagewright::runtime {

/// Timeout, in seconds, of one connection attempt or transfer.
constexpr double transferTimeout = 10;

/// The header of rank 0's final answer; the addresses by rank or an error
/// follow.
struct RendezvousResult {
  uint64_t run = 0;
  int64_t bytes = 0;
  int64_t failed = 0;
};

/// Where a rank listens. Without an address it is on the host of rank 0.
struct Entry {
  TcpAddress address;
  int64_t port = 0;
};

/// A timeout.
class TimeLimit {
public:
  explicit TimeLimit(double seconds) : end(now() + int64_t(seconds * 1e9)) {}
  double left() const { return std::max(0.0, double(end - now()) * 1e-9); }
  bool isOver() const { return left() <= 0; }

private:
  int64_t end;
};

/// Whether `host` is a loopback address. Then all ranks are on this host, and
/// no connections from others are accepted.
bool isLocal(const std::string &host);

/// Describes the `errno` of a socket; 0: the other side has closed.
std::string reason();

/// Accepts both sockets of every rank that connects to this one: all higher
/// ranks.
void acceptRanks(const Rendezvous &how, RankListener &listener, uint64_t run,
                 Connections &found);

Connections connectAsHost(const Rendezvous &how);
Connections connectAsClient(const Rendezvous &how);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H
