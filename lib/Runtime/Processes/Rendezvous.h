//===- Rendezvous.h - ranks that meet at an address -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How processes that any launcher started find each other without MPI: rank 0
// listens at an address that all know, as NCCL's and PyTorch's bootstraps do
// ("env://" of torch.distributed). Every other rank comes there, in any order,
// and says who it is and at which port it listens itself. When all have come,
// rank 0 gives everybody the list, and every two ranks connect.
//
// Nothing is encrypted, and who can read the network can pose as a rank.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H

#include "Error.h"
#include "Processes/Tcp.h"

namespace stagewright::runtime {

struct Rendezvous {
  std::string host; ///< of rank 0: a name or an address
  uint16_t port = 0;
  int64_t rank = 0, ranks = 1; ///< of this process, of all
  double seconds = 60;         ///< from the start of each, for all to come
  uint64_t artifact = 0;       ///< a hash, the same for all; 0: not known

  std::string address() const { return printHostPort(host, port); }
};

/// What rank 0 has told all others, and reports to the user.
class HeardError : public Error {
  using Error::Error;
};

/// By rank; none to itself.
struct Connections {
  std::vector<Socket> calls, words; ///< see NetworkSockets.h
};

/// Collective, of all ranks. Throws an `Error` where not all come in time, or
/// where they do not fit each other; a `HeardError` in all but rank 0 when that
/// is what it found. Two sockets for every two ranks.
Connections meet(const Rendezvous &how);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RENDEZVOUS_H
