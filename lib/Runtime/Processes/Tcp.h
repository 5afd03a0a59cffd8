//===- Tcp.h - TCP connections ----------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thin wrappers of <netdb.h> and <sys/socket.h> for Rendezvous.h, for IPv4 and
// IPv6. No call but `resolve` blocks for longer than its timeout.
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

/// Owns a socket and closes it; -1: none.
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

/// An address and a port; sent between processes as plain bytes.
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

/// The addresses of `host`, a name or an address, by getaddrinfo. Throws an
/// `Error` if there is no such host.
std::vector<TcpAddress> resolve(const std::string &host, uint16_t port);

/// Listens at the port of `address`; 0: any free one. With `everywhere` at all
/// addresses of this host, since other hosts may reach it by another one. On
/// failure no socket, and errno.
Socket listenAt(const TcpAddress &address, bool everywhere);

/// A connection; no socket, and errno, if it fails or takes over `seconds`.
Socket connectTo(const TcpAddress &address, double seconds);
/// Accepts the next pending connection of `listener`, if any; sets its address.
Socket acceptFrom(int listener, TcpAddress &from);

TcpAddress ownAddress(int socket);

/// Transfers all bytes. False, and errno (0: the other side has closed), if
/// that fails or takes longer than `seconds`.
bool receiveAll(int socket, void *data, size_t bytes, double seconds);
bool sendAll(int socket, const void *data, size_t bytes, double seconds);

/// Whether so many bytes can be received at once.
bool hasReceived(int socket, size_t bytes);

/// Whether the other side has closed the connection or is unreachable.
bool hasClosed(int socket);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_TCP_H
