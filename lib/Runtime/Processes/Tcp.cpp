//===- Tcp.cpp - TCP connections ------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Tcp.h"

#include "Recording/Recorder.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>
#include <vector>

namespace stagewright::runtime {

namespace {

const auto &v4(const sockaddr_storage &bytes) {
  return reinterpret_cast<const sockaddr_in &>(bytes);
}
const auto &v6(const sockaddr_storage &bytes) {
  return reinterpret_cast<const sockaddr_in6 &>(bytes);
}

socklen_t lengthOf(const TcpAddress &address) {
  return address.bytes.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                             : sizeof(sockaddr_in);
}

const sockaddr *plain(const TcpAddress &address) {
  return reinterpret_cast<const sockaddr *>(&address.bytes);
}

/// Converts an IPv4-mapped IPv6 address ("::ffff:10.0.0.7") to IPv4, since a
/// host without IPv6 can use only that.
TcpAddress unmapped(const TcpAddress &address) {
  if (address.bytes.ss_family != AF_INET6 ||
      !IN6_IS_ADDR_V4MAPPED(&v6(address.bytes).sin6_addr))
    return address;
  sockaddr_in plain = {};
  plain.sin_family = AF_INET;
  plain.sin_port = v6(address.bytes).sin6_port;
  std::memcpy(&plain.sin_addr, &v6(address.bytes).sin6_addr.s6_addr[12], 4);
  TcpAddress result;
  std::memcpy(&result.bytes, &plain, sizeof(plain));
  return result;
}

/// Messages are small and must not be delayed. A host that vanishes closes
/// nothing: after 10 s of silence the kernel sends probes, and gives up after
/// three, 5 s apart.
void tune(int socket) {
  const std::pair<int, int> options[] = {{TCP_NODELAY, 1},
                                         {TCP_KEEPIDLE, 10},
                                         {TCP_KEEPINTVL, 5},
                                         {TCP_KEEPCNT, 3}};
  for (auto [option, value] : options)
    setsockopt(socket, IPPROTO_TCP, option, &value, sizeof(value));
  int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/// Whether the socket is ready within `seconds`; polls at least once.
bool await(int socket, short what, double seconds) {
  pollfd look = {socket, what, 0};
  int64_t end = now() + int64_t(seconds * 1e9);
  for (;;) {
    int64_t left = std::max<int64_t>(0, end - now());
    int ready = poll(&look, 1, int(std::min<int64_t>(left / 1000000, 1000)));
    if (ready > 0)
      return true;
    if (left < 1000000 && ready == 0) {
      errno = ETIMEDOUT;
      return false;
    }
  }
}

/// Sends or receives all bytes by `move`, whenever the socket is ready.
template <typename Move>
bool moveAll(int socket, short what, size_t bytes, double seconds, Move move) {
  int64_t end = now() + int64_t(seconds * 1e9);
  for (size_t at = 0; at < bytes;) {
    if (!await(socket, what, double(end - now()) * 1e-9))
      return false;
    ssize_t moved = move(at);
    if (moved > 0) {
      at += size_t(moved);
    } else if (moved == 0) {
      errno = 0;
      return false;
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    }
  }
  return true;
}

} // namespace

Socket::~Socket() {
  if (number >= 0)
    close(number);
}

bool TcpAddress::isLoopback() const {
  if (bytes.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&v6(bytes).sin6_addr);
  return (ntohl(v4(bytes).sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
}

uint16_t TcpAddress::port() const {
  return ntohs(v4(bytes).sin_port); // At the same offset in both.
}

TcpAddress TcpAddress::withPort(uint16_t port) const {
  TcpAddress other = *this;
  reinterpret_cast<sockaddr_in &>(other.bytes).sin_port = htons(port);
  return other;
}

std::string TcpAddress::print() const {
  char host[INET6_ADDRSTRLEN] = "?";
  if (bytes.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &v6(bytes).sin6_addr, host, sizeof(host));
  else
    inet_ntop(AF_INET, &v4(bytes).sin_addr, host, sizeof(host));
  return printHostPort(host, port());
}

std::string printHostPort(const std::string &host, uint16_t port) {
  std::string name =
      host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

std::vector<TcpAddress> resolve(const std::string &host, uint16_t port) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int status = getaddrinfo(host.c_str(), nullptr, &hints, &list))
    raise("there is no host '", host, "': ", gai_strerror(status),
          "; give a name or an address of rank 0 that all hosts know");
  std::vector<TcpAddress> found;
  for (const addrinfo *it = list; it; it = it->ai_next) {
    if (it->ai_family != AF_INET && it->ai_family != AF_INET6)
      continue;
    TcpAddress address;
    std::memcpy(&address.bytes, it->ai_addr, it->ai_addrlen);
    found.push_back(address.withPort(port));
  }
  freeaddrinfo(list);
  return found;
}

Socket listenAt(const TcpAddress &address, bool everywhere) {
  TcpAddress at = address;
  if (everywhere) {
    at.bytes = {}; // The wildcard is zero in both families.
    at.bytes.ss_family = address.bytes.ss_family;
    at = at.withPort(address.port());
  }
  Socket socket(::socket(at.bytes.ss_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return socket;
  int on = 1, off = 0;
  // Allows the port of a run that has just ended.
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(socket.get(), plain(at), lengthOf(at)) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0)
    return Socket();
  return socket;
}

Socket connectTo(const TcpAddress &address, double seconds) {
  Socket socket(::socket(address.bytes.ss_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return socket;
  if (connect(socket.get(), plain(address), lengthOf(address)) != 0) {
    if (errno != EINPROGRESS || !await(socket.get(), POLLOUT, seconds))
      return Socket();
    int problem = 0;
    socklen_t size = sizeof(problem);
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem) {
      errno = problem;
      return Socket();
    }
  }
  // If nobody listens, the system may have chosen the same port for this end,
  // and the socket is connected to itself.
  sockaddr_storage here = {}, there = {};
  socklen_t hereSize = sizeof(here), thereSize = sizeof(there);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&here), &hereSize);
  getpeername(socket.get(), reinterpret_cast<sockaddr *>(&there), &thereSize);
  if (hereSize == thereSize && std::memcmp(&here, &there, hereSize) == 0) {
    errno = ECONNREFUSED;
    return Socket();
  }
  tune(socket.get());
  return socket;
}

Socket acceptFrom(int listener, TcpAddress &from) {
  socklen_t size = sizeof(from.bytes);
  Socket socket(accept4(listener, reinterpret_cast<sockaddr *>(&from.bytes),
                        &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  from = unmapped(from);
  if (socket)
    tune(socket.get());
  return socket;
}

TcpAddress ownAddress(int socket) {
  TcpAddress address;
  socklen_t size = sizeof(address.bytes);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address.bytes), &size);
  return address;
}

bool receiveAll(int socket, void *data, size_t bytes, double seconds) {
  return moveAll(socket, POLLIN, bytes, seconds, [&](size_t at) {
    return recv(socket, static_cast<std::byte *>(data) + at, bytes - at,
                MSG_DONTWAIT);
  });
}

bool sendAll(int socket, const void *data, size_t bytes, double seconds) {
  return moveAll(socket, POLLOUT, bytes, seconds, [&](size_t at) {
    return send(socket, static_cast<const std::byte *>(data) + at, bytes - at,
                MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

bool hasReceived(int socket, size_t bytes) {
  std::vector<char> some(bytes);
  return recv(socket, some.data(), bytes, MSG_PEEK | MSG_DONTWAIT) ==
         ssize_t(bytes);
}

bool hasClosed(int socket) {
  pollfd look = {socket, POLLRDHUP, 0};
  return poll(&look, 1, 0) > 0;
}

} // namespace stagewright::runtime
