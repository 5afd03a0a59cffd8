//===- Rendezvous.cpp - processes meet at an address ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/RendezvousParts.h"

#include "Faults/Deadline.h"

#include <cerrno>
#include <cstring>

namespace stagewright::runtime {

bool isLocal(const std::string &host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string reason() {
  return errno ? std::strerror(errno) : "the other side closed the connection";
}

void admit(const Rendezvous &how, Lobby &lobby, uint64_t meeting,
           Connections &found) {
  auto isMissing = [&] {
    for (auto r = size_t(how.rank) + 1; r < size_t(how.ranks); ++r)
      if (!found.calls[r] || !found.words[r])
        return true;
    return false;
  };
  for (Clock clock(Deadline::first); isMissing();) {
    if (clock.isOver())
      raise("rank ", how.rank, ": not all other ranks have connected within ",
            printSeconds(Deadline::first), lobby.others());
    if (auto guest = lobby.next(std::min(clock.left(), 0.1))) {
      const Hello &it = guest->hello;
      auto &list = it.kind == Hello::Words ? found.words : found.calls;
      if (it.meeting != meeting || it.rank <= how.rank ||
          it.rank >= how.ranks || list[size_t(it.rank)])
        lobby.turnAway(guest->from);
      else
        list[size_t(it.rank)] = std::move(guest->socket);
    }
    for (size_t r = 0; r < found.calls.size(); ++r)
      if (found.calls[r] && hasClosed(found.calls[r].get()))
        raise("the process of rank ", r, " ended while the ranks connected");
  }
}

Connections meet(const Rendezvous &how) {
  if (how.rank < 0 || how.ranks < 1)
    raise("the rank is ", how.rank, " of ", how.ranks,
          " ranks; ranks count from 0, and there is at least one");
  // If a rank is too large, rank 0 reports that to all.
  return how.rank == 0 ? meetAsHost(how) : meetAsVisitor(how);
}

} // namespace stagewright::runtime
