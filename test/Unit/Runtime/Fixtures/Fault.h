//===- Fault.h - faults of the fixture on request ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_FAULT_H
#define STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_FAULT_H

#include <cstdint>

/// Values of argument 2 of the fixture `pipeline`.
enum class Fault : int32_t {
  None,
  Fail,            ///< rank 1 fails at microbatch 2
  EarlyEnd,        ///< rank 1 ends before microbatch 1
  Circle,          ///< both ranks receive first: a deadlock
  DoubleAcquire,   ///< a stash slot is taken twice
  UseAfterRelease, ///< a stash slot is used after its release
  DoubleRelease,   ///< a stash slot is released twice
  LeakStash,       ///< a stash slot is never released
  LeakChannel,     ///< a received slot is never released
  Workspace,       ///< more workspace is used than there is
  DoubleClaim,
  DoubleSend,
  NoSend,
  ReceiveTooFar,
  BadBuffer,
  FailInPart, ///< rank 0 fails in a part of a parallel loop
  BadMicrobatch,
  Launch ///< rank 0 launches a kernel, which needs a device
};

#endif // STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_FAULT_H
