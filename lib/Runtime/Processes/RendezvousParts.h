//===- RendezvousParts.h - what both sides of a rendezvous have -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rank 0 (RendezvousHost.cpp) and all others (RendezvousVisitor.cpp) tell
// each other, and do alike.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H

#include "Processes/Lobby.h"
#include "Processes/Rendezvous.h"
#include "Recording/Recorder.h"

#include <algorithm>

namespace stagewright::runtime {

/// Seconds for an answer of somebody who is there.
constexpr double promptly = 10;

/// What rank 0 answers in the end, before the addresses by rank, or a text.
struct Verdict {
  uint64_t meeting = 0;
  int64_t bytes = 0;
  int64_t failed = 0;
};

/// Where a rank listens. Without an address: on the host of rank 0.
struct Entry {
  TcpAddress address;
  int64_t port = 0;
};

/// Counts down.
class Clock {
public:
  explicit Clock(double seconds) : end(now() + int64_t(seconds * 1e9)) {}
  double left() const { return std::max(0.0, double(end - now()) * 1e-9); }
  bool isOver() const { return left() <= 0; }

private:
  int64_t end;
};

/// Whether all ranks are on this host: then no other can come in.
bool isLocal(const std::string &host);

/// What `errno` says of a socket.
std::string reason();

/// Both sockets to every rank that comes by itself: those that come later in
/// the order of the ranks.
void admit(const Rendezvous &how, Lobby &lobby, uint64_t meeting,
           Connections &found);

Connections meetAsHost(const Rendezvous &how);
Connections meetAsVisitor(const Rendezvous &how);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUSPARTS_H
