//===- Rendezvous.cpp - processes meet at an address ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/RendezvousParts.h"

#include "stagewright/Runtime/Deadline.h"

#include <cerrno>
#include <cstring>

namespace stagewright::runtime {

bool isLocal(const std::string &host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string reason() {
  return errno ? std::strerror(errno) : "the other side closed the connection";
}

void acceptRanks(const Rendezvous &how, RankListener &listener, uint64_t run,
                 Connections &found) {
  auto isMissing = [&] {
    for (auto r = size_t(how.rank) + 1; r < size_t(how.ranks); ++r)
      if (!found.calls[r] || !found.reports[r])
        return true;
    return false;
  };
  for (TimeLimit limit(Deadline::first); isMissing();) {
    if (limit.isOver())
      raise("rank ", how.rank, ": not all other ranks have connected within ",
            printSeconds(Deadline::first), listener.others());
    if (auto peer = listener.next(std::min(limit.left(), 0.1))) {
      const Hello &it = peer->hello;
      auto &list = it.kind == Hello::Reports ? found.reports : found.calls;
      if (it.run != run || it.rank <= how.rank || it.rank >= how.ranks ||
          list[size_t(it.rank)])
        listener.reject(peer->from);
      else
        list[size_t(it.rank)] = std::move(peer->socket);
    }
    for (size_t r = 0; r < found.calls.size(); ++r)
      if (found.calls[r] && hasClosed(found.calls[r].get()))
        raise("the process of rank ", r, " ended while the ranks connected");
  }
}

Connections connectRanks(const Rendezvous &how) {
  if (how.rank < 0 || how.ranks < 1)
    raise("the rank is ", how.rank, " of ", how.ranks,
          " ranks; ranks count from 0, and there is at least one");
  // If a rank is too large, rank 0 reports that to all.
  return how.rank == 0 ? connectAsHost(how) : connectAsClient(how);
}

} // namespace stagewright::runtime
