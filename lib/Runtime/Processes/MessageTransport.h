//===- MessageTransport.h - channels between processes ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The channels of the one rank of this process. The receiver's slots lie in its
// arena as ever; the sender has as many of its own, for its code writes where
// it is. Every slot has one transfer at each end, prepared when the step is
// made. A receive is posted as soon as its slot is free: before the step, and
// again at each release. A send starts when the program sends and is waited for
// when its slot is claimed again. It ends only when a posted receive has taken
// it, so it is the receiver's credit too: a sender is never further ahead than
// the slots of both ends, and no message waits in memory of the engine.
//
// The engine matches by (process, tag); the tag is the number of the slot among
// all slots of all channels, the same at both ends. So what a directed edge
// carries does not depend on the order in which different slots are used, and
// edges need no communicators, whose number is limited and whose making is
// collective.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H

#include "Memory/Arena.h"
#include "Memory/Layout.h"
#include "Processes/Messenger.h"
#include "Transport.h"

#include <mutex>

namespace stagewright::runtime {

/// Bytes that a rank needs for the messages it sends, beside its arena.
int64_t sendingBytes(const Manifest &manifest,
                     const std::vector<Layout> &layouts, int64_t rank);

class MessageTransport final : public Transport {
public:
  /// For the rank with the messenger's number. A wait looks `spins` times
  /// before it naps between looks.
  MessageTransport(const Manifest &manifest, const std::vector<Layout> &layouts,
                   std::byte *arena, int64_t microbatches, bool poison,
                   int spins, Messenger &messenger);
  ~MessageTransport() override;

  void reset() override;
  std::byte *claim(int64_t rank, int64_t channel, int64_t m) override;
  void send(int64_t rank, int64_t channel, int64_t m) override;
  std::byte *recv(int64_t rank, int64_t channel, int64_t m) override;
  std::byte *held(int64_t rank, int64_t channel, int64_t m) override;
  void release(int64_t rank, int64_t channel, int64_t m) override;
  void allReduce(int64_t rank, int64_t collective) override;
  void awaitReduced(int64_t rank, int64_t collective) override;
  void progress() noexcept override;
  void fail(int64_t rank, const std::string &text) override;
  void finish(int64_t rank) override;
  std::string result() override;

  /// Where this rank is, or why it failed.
  Word word() const;
  /// Seconds that one wait may take.
  void limitWaits(double seconds) { limit = seconds; }
  /// Whether the step has failed, here or elsewhere.
  bool stopped() const { return failed.load(); }
  /// Leaves what is under way to itself, as after a failure.
  void abandon() { failed.store(true); }

private:
  enum State { Free, Claimed, Sent, Posted, Held };
  struct Slot {
    State state = Free;
    int64_t m = 0, transfer = 0;
    std::byte *data = nullptr;
  };
  /// This rank's end of a channel; without slots where it has none.
  struct End {
    bool sends = false;
    int64_t stride = 0;
    std::vector<Slot> slots;
  };

  Slot &slotOf(int64_t rank, int64_t channel, int64_t m, bool sender);
  void require(const Slot &slot, int64_t channel, int64_t m, State wanted,
               const char *what) const;
  void waitFor(int64_t transfer, Whereabouts::Wait what, int64_t number,
               int64_t m);
  int64_t sumOf(int64_t rank, int64_t collective) const;
  void lookForStop();

  const Manifest &manifest;
  Messenger &messenger;
  int64_t self, microbatches;
  bool poison;
  int spins;
  double limit = 0;
  Arena sending;
  std::vector<End> ends;     ///< by channel
  std::vector<int64_t> sums; ///< transfers, by collective; -1: not of this rank
  mutable std::mutex mutex;  ///< guards `error`: parts of loops fail anywhere
  std::string error;
  int64_t failedAt = 0;
  bool inVain = false; ///< it failed because it waited
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H
