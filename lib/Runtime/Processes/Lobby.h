//===- Lobby.h - who comes to a port ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the connections of ranks and leaves out all others. A rank introduces
// itself with a `Hello`, whose length and first two fields never change, so
// that two versions of the runtime can tell each other what they are. Who sends
// anything else is a stranger; who sends nothing keeps nobody waiting.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LOBBY_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LOBBY_H

#include "Processes/Tcp.h"

#include "stagewright-rt/runtime.h"

#include <list>
#include <optional>

namespace stagewright::runtime {

/// Crosses between processes as it is, in the order of bytes of the host: the
/// magic word of one with another order is wrong.
struct Hello {
  static constexpr uint64_t word = 0x53574d4545543031; ///< "SWMEET01"
  enum Kind : uint32_t { Calls, Words };               ///< see NetworkSockets.h

  uint64_t magic = word;
  uint32_t version = SW_ABI_VERSION;
  uint32_t kind = Calls;
  int64_t rank = 0, ranks = 0;
  uint64_t artifact = 0; ///< a hash; 0: not known
  uint64_t meeting = 0;  ///< the number that rank 0 gave; 0: none yet
  int64_t process = 0;   ///< as the host numbers it
  int64_t port = 0;      ///< where other ranks can reach this one
  char host[192] = {};
};
static_assert(sizeof(Hello) == 256);

/// Somebody who has introduced himself.
struct Guest {
  Socket socket;
  TcpAddress from;
  Hello hello;

  /// "rank 2 (process 4711 on 'worker')".
  std::string name() const;
};

class Lobby {
public:
  explicit Lobby(Socket listener) : listener(std::move(listener)) {}

  uint16_t port() const { return ownAddress(listener.get()).port(); }
  /// The next guest; none where nobody comes within `seconds`.
  std::optional<Guest> next(double seconds);
  /// Counts one who has introduced himself, but not as one of this meeting.
  void turnAway(const TcpAddress &from) { ++strangers, last = from; }
  /// Empty, or who else came, for errors.
  std::string others() const;

private:
  struct Arrival {
    Guest guest;
    size_t bytes = 0; ///< of the `Hello`, so far
  };
  /// Whether it is not known yet what it is.
  bool read(Arrival &arrival);

  Socket listener;
  std::list<Arrival> arrivals;
  int64_t strangers = 0;
  TcpAddress last; ///< stranger
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LOBBY_H
