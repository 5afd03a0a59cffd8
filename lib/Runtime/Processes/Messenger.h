//===- Messenger.h - messages between processes -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step on the processors of several processes asks, beside Assembly.h,
// of an engine that carries its messages. The engine is a shared object of its
// own beside the runtime, opened when it is needed: libstagewright-mpi.so
// (Mpi/Messenger.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H

#include "Processes/Assembly.h"
#include "Processes/LastWords.h"
#include "stagewright-rt/runtime.h"

#include <functional>

#include <span>

namespace stagewright::runtime {

class Messenger : public Assembly {
public:
  Messenger *messenger() final { return this; }

  /// A transfer that can be started again and again; its number. Transfers with
  /// one tag between two processes arrive in the order of their starts.
  virtual int64_t prepareSend(const void *data, int64_t bytes, int64_t to,
                              int64_t tag) = 0;
  virtual int64_t prepareReceive(void *data, int64_t bytes, int64_t from,
                                 int64_t tag) = 0;
  /// A sum over `ranks` of what each has at `data`, in place; all of them
  /// prepare it, and start it, in one order. Starts and ends as transfers do.
  virtual int64_t prepareSum(void *data, sw_dtype dtype, int64_t elements,
                             std::span<const int64_t> ranks) = 0;
  virtual void start(int64_t transfer) = 0;
  /// Whether a started transfer has ended: of a send, that a receive of the
  /// other side has taken it. Moves all transfers on.
  virtual bool done(int64_t transfer) = 0;
  virtual void progress() = 0;
  /// Forgets these transfers; those under way are called off, or left to
  /// themselves after a failure, when their memory must stay.
  virtual void forgetTransfers(std::span<const int64_t> numbers,
                               bool failed) = 0;

  /// How this process learns where its rank is; empty: it has none now.
  virtual void introduce(std::function<Word()> self) = 0;
  /// Tells all other processes that the step has failed here, and where.
  virtual void tellStop() = 0;
  /// Whether another process has told so; then this one answers.
  virtual bool stopTold() = 0;
};

/// The name under which an engine exports how it is opened: it fills `error`
/// where it returns null.
inline constexpr char openMessengerName[] = "stagewright_open_messenger";
using OpenMessenger = Messenger *(*)(unsigned version, char *error,
                                     size_t room);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSENGER_H
