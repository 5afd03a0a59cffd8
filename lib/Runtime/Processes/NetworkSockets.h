//===- NetworkSockets.h - processes that met at an address ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sockets of processes that a launcher started, on one host or several
// (Rendezvous.h). Calls go as between the children of one process. Nobody is
// the parent, so every two processes have a second socket for what is said when
// one fails: who ends early tells all others why, and the first of those that
// can still speak tells the user. A process that is stopped (SIGSTOP) cannot be
// ended by the others; it ends itself when it goes on.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H

#include "Processes/LastWords.h"
#include "Processes/Rendezvous.h"
#include "Processes/Sockets.h"

namespace stagewright::runtime {

class NetworkSockets final : public Sockets {
public:
  NetworkSockets(int64_t self, Connections connections);

  void renumber(int64_t wanted) override;
  [[noreturn]] void abort(int status, const std::string &error) override;

private:
  void listen();
  void say(const std::string &error);
  std::string verdict();

  std::vector<Socket> words; ///< by number
  LastWords heard;
  std::vector<bool> ended; ///< by number: whose words have come to an end
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H
