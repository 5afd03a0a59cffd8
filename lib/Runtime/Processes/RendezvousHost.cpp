//===- RendezvousHost.cpp - rank 0's side of a rendezvous -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/RendezvousParts.h"

#include "stagewright/Runtime/Deadline.h"

#include <random>

namespace stagewright::runtime {

namespace {

class Host {
public:
  explicit Host(const Rendezvous &how) : how(how), listener(open()) {}
  Connections run();

private:
  Socket open() const;
  void add(ConnectedRank peer);
  std::string whatIsWrong(const ConnectedRank &peer) const;
  std::string missing() const;
  [[noreturn]] void refuse(const std::string &error, const ConnectedRank *also);
  void answer(const ConnectedRank &peer, const RendezvousResult &result,
              const void *data);

  const Rendezvous &how;
  RankListener listener;
  std::vector<ConnectedRank> peers =
      std::vector<ConnectedRank>(size_t(how.ranks));
};

Socket Host::open() const {
  std::string why;
  for (const TcpAddress &at : resolve(how.host, how.port)) {
    if (Socket socket = listenAt(at, !isLocal(how.host)))
      return socket;
    why = reason();
  }
  raise("rank 0 cannot listen at ", how.address(), ": ", why,
        "; give the address of its host and a free port, and rank 0 to one "
        "process only");
}

/// Checks causes first: a process with a wrong number of ranks may have any
/// rank.
std::string Host::whatIsWrong(const ConnectedRank &peer) const {
  const Hello &it = peer.hello;
  auto both = [&](const std::string &theirs, const std::string &ours) {
    return peer.name() + theirs + ", but rank 0 " + ours;
  };
  if (it.version != SW_ABI_VERSION)
    return both(" has version " + std::to_string(it.version) +
                    " of the runtime's interface",
                "has " + std::to_string(SW_ABI_VERSION) +
                    "; install the same runtime for all");
  if (it.ranks != how.ranks)
    return both(
        " was told that there are " + std::to_string(it.ranks) + " ranks",
        "that there are " + std::to_string(how.ranks) +
            "; give all the same --ranks, or start them by one command");
  if (it.rank < 0 || it.rank >= how.ranks)
    return peer.name() + " connected, expected ranks 0 to " +
           std::to_string(how.ranks - 1) + "; give each its own --rank";
  const ConnectedRank &there = peers[size_t(it.rank)];
  if (it.rank == 0 || there.socket)
    return "two processes connected as rank " + std::to_string(it.rank) +
           " of " + std::to_string(how.ranks) + ": " +
           (it.rank ? there.name() : "this one") + " and " + peer.name() +
           "; give each its own --rank, and each run its own port";
  if (it.artifact && how.artifact && it.artifact != how.artifact) {
    std::ostringstream text;
    text << std::hex << " has another artifact (its hash is " << it.artifact
         << ")|has " << how.artifact << "; give all ranks the same file";
    std::string parts = text.str();
    size_t middle = parts.find('|');
    return both(parts.substr(0, middle), parts.substr(middle + 1));
  }
  return "";
}

void Host::add(ConnectedRank peer) {
  if (peer.hello.run != 0)
    return listener.reject(peer.from); // From an earlier run.
  sendAll(peer.socket.get(), &Hello::magicWord, sizeof(Hello::magicWord),
          transferTimeout);
  if (std::string error = whatIsWrong(peer); !error.empty())
    refuse(error, &peer);
  peers[size_t(peer.hello.rank)] = std::move(peer);
}

void Host::answer(const ConnectedRank &peer, const RendezvousResult &result,
                  const void *data) {
  if (peer.socket)
    sendAll(peer.socket.get(), &result, sizeof(result), transferTimeout) &&
        sendAll(peer.socket.get(), data, size_t(result.bytes), transferTimeout);
}

void Host::refuse(const std::string &error, const ConnectedRank *also) {
  RendezvousResult result = {0, int64_t(error.size()), 1};
  for (const ConnectedRank &peer : peers)
    answer(peer, result, error.data());
  if (also)
    answer(*also, result, error.data());
  raise(error);
}

/// "ranks 1, 3 of 4 have".
std::string Host::missing() const {
  constexpr int64_t maxListed = 8;
  std::string list;
  int64_t count = 0;
  for (size_t r = 1; r < peers.size(); ++r)
    if (!peers[r].socket && count++ < maxListed)
      list += (list.empty() ? "" : ", ") + std::to_string(r);
  if (count > maxListed)
    list += " and " + std::to_string(count - maxListed) + " more";
  return (count == 1 ? "rank " : "ranks ") + list + " of " +
         std::to_string(how.ranks) + (count == 1 ? " has" : " have");
}

Connections Host::run() {
  auto complete = [&] {
    return std::all_of(peers.begin() + 1, peers.end(),
                       [](const ConnectedRank &it) { return bool(it.socket); });
  };
  for (TimeLimit limit(how.seconds); !complete();) {
    if (limit.isOver())
      refuse(missing() + " not connected to " + how.address() + " within " +
                 printSeconds(how.seconds) + listener.others() +
                 "; start all ranks with this address, or wait longer with "
                 "--rendezvous-timeout",
             nullptr);
    if (auto peer = listener.next(std::min(limit.left(), 0.1)))
      add(std::move(*peer));
    for (ConnectedRank &peer : peers)
      if (peer.socket && hasClosed(peer.socket.get())) {
        Socket gone = std::move(peer.socket);
        refuse(peer.name() + " ended before all ranks had connected", nullptr);
      }
  }
  std::vector<Entry> list(peers.size());
  for (size_t r = 1; r < peers.size(); ++r) {
    list[r].port = peers[r].hello.port;
    if (!peers[r].from.isLoopback())
      list[r].address = peers[r].from.withPort(uint16_t(list[r].port));
  }
  std::random_device random;
  RendezvousResult result = {uint64_t(random()) << 32 | random() | 1,
                             int64_t(list.size() * sizeof(Entry)), 0};
  Connections found = {std::vector<Socket>(peers.size()),
                       std::vector<Socket>(peers.size())};
  for (size_t r = 1; r < peers.size(); ++r) {
    answer(peers[r], result, list.data());
    found.calls[r] = std::move(peers[r].socket);
  }
  acceptRanks(how, listener, result.run, found);
  return found;
}

} // namespace

Connections connectAsHost(const Rendezvous &how) { return Host(how).run(); }

} // namespace stagewright::runtime
