//===- Fault.h - what the fixture does wrong on request ---------*- C++ -*-===//
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
  Circle,          ///< both ranks receive first
  DoubleAcquire,   ///< a stash slot is taken twice
  UseAfterRelease, ///< a stash slot is used after its release
  DoubleRelease,   ///< a stash slot is given back twice
  LeakStash,       ///< a stash slot is never given back
  LeakChannel,     ///< a received slot is never given back
  Workspace,       ///< more workspace is used than there is
  DoubleClaim,
  DoubleSend,
  NoSend,
  ReceiveTooFar,
  BadBuffer,
  FailInPart, ///< rank 0 fails in a part of a loop that threads share
  BadMicrobatch,
  Launch ///< rank 0 launches a kernel, which only a device has
};

#endif // STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_FAULT_H
