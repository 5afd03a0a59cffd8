//===- NetworkSockets.h - connections of a rendezvous -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sockets between processes that a launcher started, on one host or several
// (Rendezvous.h). Calls work as in Sockets.h. There is no parent process, so
// every two processes have a second socket, for failures: a process that ends
// early sends the reason to all others, which answer with reports of their own.
// Of the processes that have reported, the one with the lowest number prints
// one error for all. A suspended process (SIGSTOP) cannot be ended by others;
// it ends itself when it continues.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H

#include "Processes/FailureReports.h"
#include "Processes/Rendezvous.h"
#include "Processes/Sockets.h"

namespace stagewright::runtime {

class NetworkSockets final : public Sockets {
public:
  NetworkSockets(int64_t self, Connections connections);

  void renumber(int64_t wanted) override;
  [[noreturn]] void abort(int status, const std::string &error) override;

private:
  void receiveReports();
  void sendReport(const std::string &error);
  std::string failureText();

  std::vector<Socket> reportSockets; ///< by number
  FailureReports received;
  std::vector<bool>
      ended; ///< by number: its socket in `reportSockets` is closed
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_NETWORKSOCKETS_H
