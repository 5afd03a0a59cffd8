//===- Rendezvous.h - processes meet at an address --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Connects processes that any launcher started, without MPI: rank 0 listens at
// an address that all know, as in the bootstraps of NCCL and PyTorch ("env://"
// of torch.distributed). Every other rank connects to it, in any order, and
// sends its rank and the port at which it listens itself. When all have
// connected, rank 0 sends the list to everyone, and every two ranks connect.
//
// Nothing is encrypted or authenticated: who can read the network can
// impersonate a rank.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H

#include "Processes/Tcp.h"
#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime {

struct Rendezvous {
  std::string host; ///< of rank 0: a name or an address
  uint16_t port = 0;
  int64_t rank = 0, ranks = 1; ///< of this process; number of all
  double seconds = 60;         ///< max time that it waits for the others
  uint64_t artifact = 0;       ///< a hash, equal on all; 0: unknown

  std::string address() const { return printHostPort(host, port); }
};

/// An error that rank 0 has sent to all others; rank 0 reports it to the user.
class ReportedError : public Error {
  using Error::Error;
};

/// The sockets to the other ranks, by rank; invalid for the own rank.
struct Connections {
  std::vector<Socket> calls, reports; ///< see NetworkSockets.h
};

/// Collective over all ranks; opens two sockets for every two ranks. Throws an
/// `Error` if not all ranks connect in time or if they are inconsistent; if
/// rank 0 found the error, the others throw a `ReportedError`.
Connections connectRanks(const Rendezvous &how);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H
