//===- RankListener.h - accepting the connections of ranks ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts the connections of ranks and drops all others. A rank first sends a
// `Hello`, whose length and first two fields never change, so that two versions
// of the runtime can detect each other. A connection that sends anything else
// is rejected; one that sends nothing does not delay the others.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RANKLISTENER_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RANKLISTENER_H

#include "Processes/Tcp.h"

#include "stagewright-rt/runtime.h"

#include <list>
#include <optional>

namespace stagewright::runtime {

/// Sent as plain bytes in the host's byte order; a host of the other order is
/// detected by the magic word.
struct Hello {
  static constexpr uint64_t magicWord = 0x53574d4545543031; ///< "SWMEET01"
  enum Kind : uint32_t { Calls, Reports }; ///< see NetworkSockets.h

  uint64_t magic = magicWord;
  uint32_t version = SW_ABI_VERSION;
  uint32_t kind = Calls;
  int64_t rank = 0, ranks = 0;
  uint64_t artifact = 0; ///< a hash; 0: unknown
  uint64_t run = 0;      ///< identifies the run, from rank 0; 0: none yet
  int64_t process = 0;   ///< its process ID
  int64_t port = 0;      ///< where it listens for other ranks
  char host[192] = {};
};
static_assert(sizeof(Hello) == 256);

/// A connection that has sent its `Hello`.
struct ConnectedRank {
  Socket socket;
  TcpAddress from;
  Hello hello;

  /// "rank 2 (process 4711 on 'worker')".
  std::string name() const;
};

class RankListener {
public:
  explicit RankListener(Socket listener) : listener(std::move(listener)) {}

  uint16_t port() const { return ownAddress(listener.get()).port(); }
  /// The next peer; none if none comes within `seconds`.
  std::optional<ConnectedRank> next(double seconds);
  /// Counts a connection that is not of a rank of this run.
  void reject(const TcpAddress &from) { ++rejected, last = from; }
  /// A note on rejected connections, for error messages; empty if there are
  /// none.
  std::string others() const;

private:
  struct Arrival {
    ConnectedRank peer;
    size_t bytes = 0; ///< of the `Hello`, received so far
  };
  /// Reads what has arrived; returns whether the `Hello` is still incomplete.
  bool read(Arrival &arrival);

  Socket listener;
  std::list<Arrival> arrivals;
  int64_t rejected = 0;
  TcpAddress last; ///< of the last rejected connection
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_RANKLISTENER_H
