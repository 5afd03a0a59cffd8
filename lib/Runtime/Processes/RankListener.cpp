//===- RankListener.cpp - accepting the connections of ranks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/RankListener.h"

#include "Recording/Recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>

namespace stagewright::runtime {

std::string ConnectedRank::name() const {
  return "rank " + std::to_string(hello.rank) + " (process " +
         std::to_string(hello.process) + " on '" +
         std::string(hello.host, strnlen(hello.host, sizeof(hello.host))) +
         "')";
}

bool RankListener::read(Arrival &arrival) {
  Hello &hello = arrival.peer.hello;
  auto *at = reinterpret_cast<std::byte *>(&hello) + arrival.bytes;
  ssize_t size = recv(arrival.peer.socket.get(), at,
                      sizeof(Hello) - arrival.bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  arrival.bytes += size_t(std::max<ssize_t>(size, 0));
  bool known = arrival.bytes >= sizeof(hello.magic);
  if (size <= 0 || (known && hello.magic != Hello::magicWord)) {
    reject(arrival.peer.from);
    arrival.peer.socket = Socket();
    return false;
  }
  return arrival.bytes < sizeof(Hello);
}

std::optional<ConnectedRank> RankListener::next(double seconds) {
  int64_t end = now() + int64_t(seconds * 1e9);
  do {
    Arrival arrival;
    while (
        (arrival.peer.socket = acceptFrom(listener.get(), arrival.peer.from)))
      arrivals.push_back(std::exchange(arrival, Arrival()));
    for (auto it = arrivals.begin(); it != arrivals.end();) {
      if (read(*it)) {
        ++it;
        continue;
      }
      ConnectedRank peer = std::move(it->peer);
      it = arrivals.erase(it);
      if (peer.socket)
        return peer;
    }
    std::vector<pollfd> entries = {{listener.get(), POLLIN, 0}};
    for (const Arrival &it : arrivals)
      entries.push_back({it.peer.socket.get(), POLLIN, 0});
    int64_t left = std::max<int64_t>(0, end - now());
    poll(entries.data(), entries.size(), int(left / 1000000) + (left > 0));
  } while (now() < end);
  return std::nullopt;
}

std::string RankListener::others() const {
  if (rejected == 0)
    return "";
  return "; " + std::to_string(rejected) +
         (rejected == 1 ? " other connection was" : " other connections were") +
         " made there, not by a rank of this run, the last from " +
         last.print();
}

} // namespace stagewright::runtime
