//===- Tcp.h - TCP connections ----------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thin owners of what <netdb.h> and <sys/socket.h> give, for Rendezvous.h: IPv4
// and IPv6 alike. Nothing blocks for longer than it is told to.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_TCP_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_TCP_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace stagewright::runtime {

/// A socket that is closed with its owner; -1: none.
class Socket {
public:
  Socket() = default;
  explicit Socket(int number) : number(number) {}
  Socket(Socket &&other) noexcept : number(other.release()) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Socket();

  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }
  int release() { return std::exchange(number, -1); }

private:
  int number = -1;
};

/// An address and a port. Crosses between processes as it is.
struct TcpAddress {
  sockaddr_storage bytes = {};

  bool isLoopback() const;
  uint16_t port() const;
  TcpAddress withPort(uint16_t port) const;
  /// "10.0.0.7:29500", "[fe80::1]:29500".
  std::string print() const;
};

/// "host:port", with brackets around an IPv6 address.
std::string printHostPort(const std::string &host, uint16_t port);

/// Where `host` can be reached, by getaddrinfo: a name or an address. Throws an
/// `Error` where there is no such host.
std::vector<TcpAddress> resolve(const std::string &host, uint16_t port);

/// Takes connections at the port of `address`, which may be 0: any free one.
/// With `everywhere` at all addresses of this host, since other hosts may know
/// it by another. No socket, and errno, where it cannot.
Socket listenAt(const TcpAddress &address, bool everywhere);

/// A connection, or no socket, and errno, where there is none within `seconds`.
Socket connectTo(const TcpAddress &address, double seconds);
/// The next connection that waits at `listener`, if any, and whose it is.
Socket acceptFrom(int listener, TcpAddress &from);

TcpAddress ownAddress(int socket);

/// False, and errno (0: the other side has closed), where not all bytes have
/// come or gone within `seconds`.
bool receiveAll(int socket, void *data, size_t bytes, double seconds);
bool sendAll(int socket, const void *data, size_t bytes, double seconds);

/// Whether so many bytes wait to be received.
bool hasReceived(int socket, size_t bytes);

/// Whether the other side has closed, or cannot be reached any more.
bool hasClosed(int socket);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_TCP_H
