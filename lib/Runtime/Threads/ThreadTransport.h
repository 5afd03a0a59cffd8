//===- ThreadTransport.h - channels between threads -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transport `threads`: a channel is a ring of slots in the receiver's
// arena, and a message is a change of a slot's state; the sender's code writes
// straight into the slot, so nothing is copied.
//
// Waiting ranks spin, then sleep. If a rank fails, if it ends while another
// waits for it, or if ranks wait in a cycle, all of them stop: a rank that goes
// to sleep or ends checks whether some rank can still end a wait. So no call
// here blocks for ever unless generated code itself does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADTRANSPORT_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADTRANSPORT_H

#include "Memory/Layout.h"
#include "Threads/ThreadSum.h"
#include "Transport.h"

#include <array>
#include <memory>
#include <mutex>

namespace stagewright::runtime {

class ThreadTransport final : public Transport {
public:
  /// `arenas` and `layouts` by rank; both must outlive the transport. A rank
  /// that waits polls `spins` times before it sleeps.
  ThreadTransport(const Manifest &manifest, const std::vector<Layout> &layouts,
                  const std::vector<std::byte *> &arenas, int64_t microbatches,
                  bool poison, int spins);

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
  void fail(int64_t rank, const std::string &text) override;
  void finish(int64_t rank) override;
  std::string result() override;

  /// From now on, messages arrive so many nanoseconds after they are sent.
  void delayMessages(int64_t nanoseconds) { hop = nanoseconds; }

  /// Where a rank is that has not moved for `seconds`, and which ranks wait for
  /// it.
  std::string describeStill(int64_t rank, double seconds) const;

private:
  /// `freeSlot`, or the number and the state of a message.
  using State = int64_t;
  enum : State { freeSlot = 0, claimed = 1, published = 2, received = 3 };
  static State state(int64_t m, State what) { return m << 2 | what; }

  struct alignas(64) Slot {
    std::atomic<State> state{freeSlot};
    int64_t arrives = 0; ///< When a published message arrives, by `now`.
  };
  struct Ring {
    std::byte *base = nullptr;
    int64_t stride = 0, count = 0;
    std::unique_ptr<Slot[]> slots;
  };
  /// What a rank waits for: `word` to become `wanted`.
  struct Wish {
    const std::atomic<int64_t> *word = nullptr;
    int64_t wanted = 0;
    int64_t channel = 0, m = 0;
    int64_t collective = -1; ///< -1: a slot of the channel

    bool isTrue() const { return word->load() == wanted; }
  };
  /// What wakes a rank, and what it waits for while asleep (under `mutex`).
  struct alignas(64) Waiter {
    std::atomic<uint32_t> bell{0};
    std::atomic<bool> listening{false};
    bool asleep = false, finished = false;
    std::span<const Wish> wishes; ///< It waits for one of them.
  };

  Slot &slotOf(int64_t rank, int64_t channel, int64_t m, bool sender);
  std::byte *addressOf(int64_t channel, int64_t m) const;
  void require(const Slot &slot, int64_t channel, int64_t m, State wanted,
               const char *what) const;
  void ring(int64_t rank);
  void ringAll();
  void ringRanksOf(int64_t collective);
  Wish wishFor(int64_t rank, const Need &need);
  bool sleepUntilSome(int64_t rank, std::span<const Need> needs);
  void waitFor(int64_t rank, const Wish &wish) { waitForOne(rank, {&wish, 1}); }
  void waitForOne(int64_t rank, std::span<const Wish> wishes);
  void help(int64_t rank, std::span<const Wish> wishes);
  ThreadSum &sumOf(int64_t rank, int64_t collective) {
    return *sums[size_t(collective)]
                [generations[size_t(rank)][size_t(collective)] & 1];
  }
  void leave(int64_t rank, int64_t collective);
  bool stuck() const;
  void failStuck();
  std::string describeWait(size_t rank) const;
  void failLocked(const std::string &text);

  const Manifest &manifest;
  int64_t microbatches;
  bool poison;
  int spins;
  int64_t hop = 0;
  std::vector<Ring> rings;
  /// By collective. A carried sum, and a slot of a gather, have two that
  /// alternate: a rank may begin the next one while another rank has not left
  /// the last one.
  std::vector<std::array<std::unique_ptr<ThreadSum>, 2>> sums;
  /// By rank and collective: how many carried sums or gathers it has awaited.
  std::vector<std::vector<int64_t>> generations;
  std::vector<Waiter> waiters;
  std::vector<std::vector<Wish>> choices; ///< By rank: for `waitForAny`.
  /// By rank: collectives that it has begun and not awaited.
  std::vector<std::vector<int64_t>> open;
  alignas(
      64) mutable std::mutex mutex; ///< guards `error` and the sleepers' wishes
  std::string error;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADTRANSPORT_H
