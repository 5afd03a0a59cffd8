//===- Messenger.h - messages between processes -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface, besides ProcessGroup.h, of an engine that carries the messages
// of a CPU step between processes. The engine is a separate shared object in
// the runtime's directory, opened when needed: libstagewright-mpi.so
// (Mpi/Messenger.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H

#include "Processes/FailureReports.h"
#include "Processes/ProcessGroup.h"
#include "stagewright-rt/runtime.h"

#include <functional>

#include <span>

namespace stagewright::runtime {

class Messenger : public ProcessGroup {
public:
  Messenger *messenger() final { return this; }

  /// Prepares a transfer that can be started repeatedly; returns its number.
  /// Transfers of one tag between two processes arrive in the order of starts.
  virtual int64_t prepareSend(const void *data, int64_t bytes, int64_t to,
                              int64_t tag) = 0;
  virtual int64_t prepareReceive(void *data, int64_t bytes, int64_t from,
                                 int64_t tag) = 0;
  /// Prepares an in-place sum over `ranks` of the arrays at `data`. All of them
  /// must prepare and start their sums in the same order. The result is the
  /// number of a transfer.
  virtual int64_t prepareSum(void *data, sw_dtype dtype, int64_t elements,
                             std::span<const int64_t> ranks) = 0;
  /// Prepares an in-place gather: `data` has room for a part of each of
  /// `ranks`, of `bytes` bytes each, and holds the part of this process at the
  /// start. If `exchanges`, it is an exchange (Collective::exchanges). The
  /// ranks must keep the same order, as with prepareSum().
  virtual int64_t prepareGather(void *data, int64_t bytes,
                                std::span<const int64_t> ranks,
                                bool exchanges) = 0;
  virtual void start(int64_t transfer) = 0;
  /// Whether a started transfer has ended; a send ends when the other side has
  /// received it. Makes progress on all transfers.
  virtual bool done(int64_t transfer) = 0;
  /// Waits until it has ended. False if `timeout` runs out, `grace` seconds
  /// after another process reported a failure, or once one has died.
  virtual bool await(int64_t transfer, PollTimeout timeout) = 0;
  virtual void progress() = 0;
  /// Frees these transfers. Pending receives are cancelled. After a failure
  /// nothing is cancelled, and the memory of transfers must stay allocated.
  virtual void freeTransfers(std::span<const int64_t> numbers, bool failed) = 0;

  /// Sets the function that reports where the rank is; empty: not in a step.
  virtual void setReporter(std::function<FailureReport()> self) = 0;
  /// Sends all other processes the report of this one: the step has failed.
  virtual void sendStop() = 0;
  /// Whether another process has reported a failure; if so, answers with the
  /// report of this one.
  virtual bool stopReceived() = 0;
};

/// The function that an engine exports to be opened. On failure it returns null
/// and fills `error`.
inline constexpr char openMessengerName[] = "stagewright_open_messenger";
using OpenMessenger = Messenger *(*)(unsigned version, char *error,
                                     size_t room);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H
