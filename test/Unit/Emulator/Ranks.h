//===- Ranks.h - ranks of the emulator's NCCL for tests ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_EMULATOR_RANKS_H
#define STAGEWRIGHT_UNIT_EMULATOR_RANKS_H

#include "Cuda/Nccl.h"
#include "Devices.h"

/// Both ranks of a communicator, in this process.
class Ranks : public Bench {
public:
  using Communicator = stagewright::runtime::cuda::Communicator;
  using NcclConfig = stagewright::runtime::cuda::NcclConfig;
  using NcclId = stagewright::runtime::cuda::NcclId;

  Ranks() { setenv("STAGEWRIGHT_NCCL_LIBRARY", EMULATOR_LIBRARY, 1); }

  /// The status of a call after its communicator has completed it.
  static int settled(Communicator comm) {
    int state = stagewright::runtime::cuda::ncclStillInProgress;
    while (state == stagewright::runtime::cuda::ncclStillInProgress)
      nccl().asyncError(comm, &state);
    return state;
  }
  static NcclConfig config() {
    NcclConfig it;
    it.blocking = 0;
    return it;
  }
  Communicator begin(const NcclId &id, int rank) {
    Communicator comm = nullptr;
    NcclConfig settings = config();
    nccl().commInit.status(&comm, 2, id, rank, &settings);
    return comm;
  }
  /// Ranks 0 and 1 of a communicator, each on the device of its number unless
  /// they share device 0.
  void connect(Communicator *comms, bool share = false) {
    NcclId id;
    nccl().uniqueId(&id);
    for (int rank : {0, 1}) {
      use(share ? 0 : rank);
      comms[rank] = begin(id, rank);
    }
    use(0);
  }
  void *pointer(size_t bytes) {
    return reinterpret_cast<void *>(written(bytes));
  }

private:
  static const stagewright::runtime::cuda::Nccl &nccl() {
    return stagewright::runtime::cuda::nccl();
  }
};

#endif // STAGEWRIGHT_UNIT_EMULATOR_RANKS_H
