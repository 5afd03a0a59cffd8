//===- MessageTransport.h - channels between processes ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The channels of the one rank of this process. The receiver's slots are in its
// arena, as in other transports; the sender has an equal number of its own,
// because its code writes to local memory. Every slot has one transfer at each
// end, prepared when the step is created. A receive is posted as soon as its
// slot is free: before the step, and again at each release. A send starts when
// the program sends and is waited for when its slot is claimed again. It
// completes only when a posted receive has matched it, so it also serves as the
// receiver's credit: a sender is never further ahead than the slots of both
// ends, and the engine never buffers a message.
//
// The engine (Messenger.h) matches messages by (process, tag). The tag is the
// number of the slot among all slots of all channels, the same at both ends. So
// matching does not depend on the order in which different slots are used, and
// channels need no communicators, whose number is limited and whose creation is
// collective.
//
// If sends are paced, messages to a rank with a rate (Manifest::flows) are cut
// into parts, each a transfer with the tag of its slot (PacedSends.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H

#include "Memory/Arena.h"
#include "Memory/Layout.h"
#include "Processes/Messenger.h"
#include "Processes/PacedSends.h"
#include "Transport.h"

#include <map>
#include <mutex>

namespace stagewright::runtime {

/// Bytes that a rank needs for send slots, in addition to its arena.
int64_t sendingBytes(const Manifest &manifest,
                     const std::vector<Layout> &layouts, int64_t rank);

class MessageTransport final : public Transport {
public:
  /// For the rank of the messenger's process. A wait polls `spins` times, then
  /// sleeps between polls. `paced`: sends keep to the rates of the manifest.
  MessageTransport(const Manifest &manifest, const std::vector<Layout> &layouts,
                   std::byte *arena, int64_t microbatches, bool poison,
                   bool paced, int spins, Messenger &messenger);
  ~MessageTransport() override;

  void reset() override;
  std::byte *claim(int64_t rank, int64_t channel, int64_t m) override;
  void send(int64_t rank, int64_t channel, int64_t m) override;
  std::byte *recv(int64_t rank, int64_t channel, int64_t m) override;
  std::byte *held(int64_t rank, int64_t channel, int64_t m) override;
  void release(int64_t rank, int64_t channel, int64_t m) override;
  bool isReady(int64_t rank, const Need &need) override;
  void waitForAny(int64_t rank, std::span<const Need> needs) override;
  void allReduce(int64_t rank, int64_t collective) override;
  void awaitReduced(int64_t rank, int64_t collective) override;
  void settle() override;
  void progress() noexcept override;
  void fail(int64_t rank, const std::string &text) override;
  void finish(int64_t rank) override;
  std::string result() override;

  /// At the end of a step: starts the sends that still wait for their rates.
  /// Fails like any other wait.
  void startRest();

  /// The report of this rank: where it is in the step, or why it failed.
  FailureReport report() const;
  /// Sets the max duration of one wait in which no part of a message moves, in
  /// seconds.
  void limitWaits(double seconds) { limit = seconds; }
  /// Whether the step has failed, on this rank or on another.
  bool stopped() const { return failed.load(); }
  /// Marks the step as failed, so that transfers in progress are abandoned.
  void abandon() { failed.store(true); }

private:
  enum State { Free, Claimed, Sent, Posted, Held };
  struct Slot {
    State state = Free;
    int64_t m = 0;
    std::vector<int64_t> transfers; ///< one for each part of the message
    size_t begun = 0, ended = 0;    ///< transfers of the present message
    std::byte *data = nullptr;
  };
  /// This rank's end of a channel; without slots if the rank is at neither end.
  struct End {
    bool sends = false;
    int64_t stride = 0;
    std::vector<Slot> slots;
  };

  void prepare(Slot &slot, const Channel &channel, int64_t tag);
  void start(Slot &slot);
  void startPaced();
  bool isDone(Slot &slot);
  Slot &slotOf(int64_t rank, int64_t channel, int64_t m, bool sender);
  void require(const Slot &slot, int64_t channel, int64_t m, State wanted,
               const char *what) const;
  template <typename Condition>
  void waitUntil(Condition come, RankPosition::Wait what, int64_t number,
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
  std::vector<End> ends;                       ///< by channel
  RankRates rates;                             ///< of paced messages
  std::map<int64_t, PacedSends<Slot *>> paced; ///< by receiver
  std::vector<int64_t> sums; ///< transfers, by collective; -1: not of this rank
  std::vector<bool> running; ///< carried sums, by collective
  mutable std::mutex mutex;  ///< guards `error`: any thread may fail
  std::string error;
  int64_t failedAt = 0;
  uint64_t moved = 0;  ///< parts of messages that began or ended
  bool inVain = false; ///< it failed while waiting for another rank
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_MESSAGETRANSPORT_H
