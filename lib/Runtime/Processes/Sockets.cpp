//===- Sockets.cpp - sockets between the children of a process ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Sockets.h"

#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

namespace stagewright::runtime {

Sockets::Sockets(int64_t self, int pipe, std::vector<int> peers)
    : number(self), peers(std::move(peers)), pipe(pipe) {}

std::vector<int64_t> Sockets::exchangeNumbers(int64_t wanted) {
  std::vector<int64_t> numbers(peers.size());
  gather(&wanted, numbers.data(), sizeof(wanted), PollTimeout(0, 0));
  std::vector<int> other(peers.size());
  for (size_t p = 0; p < peers.size(); ++p)
    other[size_t(numbers[p])] = peers[p];
  peers = std::move(other);
  number = wanted;
  return numbers;
}

/// Sends or receives what is possible without blocking; returns whether
/// anything was. If the other process has ended, no collective can complete:
/// all end.
bool Sockets::move(Part &part) {
  int socket = peers[size_t(part.peer)];
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  ssize_t moved = part.sends
                      ? ::send(socket, part.at, size_t(part.left), flags)
                      : ::recv(socket, part.at, size_t(part.left), flags);
  bool again = moved < 0 && (errno == EAGAIN || errno == EINTR);
  if (moved == 0 || (moved < 0 && !again))
    abort(faultStatus, "rank " + std::to_string(number) +
                           ": the process of rank " +
                           std::to_string(part.peer) + " has ended");
  if (again)
    return false;
  part.at += moved;
  part.left -= moved;
  return true;
}

/// Sends and receives all parts concurrently; false if `timeout` runs out
/// first. If it is endless, all processes end after `limit` seconds without
/// progress, because a suspended process keeps its sockets open.
bool Sockets::moveAll(std::vector<Part> parts, PollTimeout timeout) {
  int64_t last = now();
  for (;;) {
    bool moved = false;
    for (Part &part : parts)
      moved |= part.left > 0 && move(part);
    std::erase_if(parts, [](const Part &part) { return part.left == 0; });
    if (parts.empty())
      return true;
    if (timeout.hasExpired())
      return false;
    if (moved) {
      last = now();
      continue;
    }
    if (timeout.isInfinite() && double(now() - last) * 1e-9 > limit)
      abort(faultStatus, "rank " + std::to_string(number) +
                             ": the process of rank " +
                             std::to_string(parts[0].peer) +
                             " has sent nothing for " + printSeconds(limit));
    timeout.pause();
  }
}

bool Sockets::gather(const void *mine, void *all, int64_t bytes,
                     PollTimeout timeout) {
  auto *out = static_cast<std::byte *>(all);
  std::memcpy(out + number * bytes, mine, size_t(bytes));
  std::vector<Part> parts;
  for (int64_t p = 0; p < size(); ++p) {
    if (p == number)
      continue;
    parts.push_back({p, out + number * bytes, bytes, true});
    parts.push_back({p, out + p * bytes, bytes, false});
  }
  return moveAll(std::move(parts), timeout);
}

void Sockets::broadcast(int64_t from, void *data, int64_t bytes) {
  auto *at = static_cast<std::byte *>(data);
  std::vector<Part> parts;
  for (int64_t p = 0; p < size(); ++p)
    if (from == number && p != number)
      parts.push_back({p, at, bytes, true});
  if (from != number)
    parts.push_back({from, at, bytes, false});
  moveAll(std::move(parts), PollTimeout(0, 0));
}

void Sockets::sendNow(int64_t to, const void *data, int64_t bytes) {
  auto *at = static_cast<std::byte *>(const_cast<void *>(data));
  moveAll({{to, at, bytes, true}}, PollTimeout(0, 0));
}

void Sockets::receiveNow(int64_t from, void *data, int64_t bytes) {
  moveAll({{from, static_cast<std::byte *>(data), bytes, false}},
          PollTimeout(0, 0));
}

int64_t Sockets::deadProcess() {
  std::vector<pollfd> looks;
  for (int socket : peers)
    looks.push_back({socket, POLLRDHUP, 0});
  if (::poll(looks.data(), nfds_t(looks.size()), 0) > 0)
    for (size_t p = 0; p < looks.size(); ++p)
      if (looks[p].revents & (POLLRDHUP | POLLHUP | POLLERR))
        return int64_t(p);
  return -1;
}

/// Sends the time and the error through the pipe to the parent, which ends the
/// other children.
void Sockets::abort(int status, const std::string &error) {
  int64_t when = now();
  std::string words(reinterpret_cast<const char *>(&when), sizeof(when));
  words += error;
  for (size_t at = 0; at < words.size();) {
    ssize_t written = ::write(pipe, words.data() + at, words.size() - at);
    if (written <= 0)
      break; // The parent has ended.
    at += size_t(written);
  }
  std::_Exit(status);
}

void Sockets::close() {
  char word = 0;
  std::vector<char> all(peers.size());
  gather(&word, all.data(), 1, PollTimeout(0, 0));
  for (int socket : peers)
    if (socket >= 0)
      ::close(socket);
}

ProcessGroup *joinSockets() {
  const char *place = std::getenv(socketsVariable);
  if (!place)
    raise("this process has no sockets to others; pp-run --processes starts "
          "processes that have them");
  std::istringstream text(place);
  std::vector<int> numbers;
  for (std::string number; std::getline(text, number, ',');)
    numbers.push_back(std::atoi(number.c_str()));
  if (numbers.size() < 3)
    raise("malformed ", socketsVariable, " '", place, "'");
  static Sockets sockets(numbers[0], numbers[1],
                         {numbers.begin() + 2, numbers.end()});
  return &sockets;
}

} // namespace stagewright::runtime
