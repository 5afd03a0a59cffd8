//===- Launch.cpp - the processes of a launch -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Launch.h"

namespace stagewright::runtime {

void raiseLastError() { throw Error(sw_error()); }

static void meet(const RendezvousPoint &rendezvous, const sw_program *program) {
  sw_rendezvous how = {sizeof(sw_rendezvous),
                       rendezvous.host.c_str(),
                       rendezvous.port,
                       rendezvous.rank,
                       rendezvous.ranks,
                       rendezvous.seconds,
                       program};
  int status = sw_connect_at(&how);
  if (status > 0)
    throw AgreedError(sw_error());
  if (status != 0)
    raiseLastError();
}

Launch::Launch(const std::string &transport,
               const std::optional<RendezvousPoint> &rendezvous,
               const sw_program *program) {
  if (transport == "threads")
    return;
  if (rendezvous) {
    meet(*rendezvous, program);
    isJoined = hasConnected = true;
    return;
  }
  bool launched = launchedByMpi();
  // Without MPI support, each process would run the whole step.
  if (transport.empty() && !launched)
    requireAlone();
  if (transport.empty() && !launched)
    return;
  if (sw_connect(transport.empty() ? "mpi" : transport.c_str()) != 0)
    raiseLastError();
  isJoined = hasConnected = true;
}

Launch::~Launch() {
  if (hasConnected)
    sw_disconnect();
}

void Launch::raiseEverywhere() const {
  if (isJoined)
    throw AgreedError(sw_error());
  raiseLastError();
}

} // namespace stagewright::runtime
