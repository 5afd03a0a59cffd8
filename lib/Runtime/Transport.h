//===- Transport.h - channels between threads -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transport `threads`: a channel is a ring of slots in the receiver's
// arena, and a message is a change of a slot's state; the sender's code writes
// straight into the slot, so nothing is copied. One writer, one reader per
// channel (Lamport, "Proving the correctness of multiprocess programs", 1977).
//
//   free -> claimed(m) -> published(m) -> received(m) -> free
//      sender: claim, send          receiver: recv, release
//
// Waiting ranks spin a little, then sleep. A rank that fails, a rank that ends
// while another waits for it, and a circle of waiting ranks stop all of them:
// whoever goes to sleep or ends checks whether anybody is left who could make
// a waiting rank's wish come true. So no call here blocks for ever unless
// generated code itself does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H
#define STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H

#include "Layout.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace stagewright::runtime {

/// Thrown out of a blocking call when the step has failed elsewhere.
struct Stopped {};

class Transport {
public:
  /// `arenas` and `layouts` by rank; both must outlive the transport. A rank
  /// that waits looks `spins` times before it sleeps.
  Transport(const Manifest &manifest, const std::vector<Layout> &layouts,
            const std::vector<std::byte *> &arenas, int64_t microbatches,
            bool poison, int spins);

  /// Forgets the last step. No rank may be running.
  void reset();

  std::byte *claim(int64_t rank, int64_t channel, int64_t m);
  void send(int64_t rank, int64_t channel, int64_t m);
  std::byte *recv(int64_t rank, int64_t channel, int64_t m);
  /// Receiver: the address of a message that it already holds, else null.
  std::byte *held(int64_t rank, int64_t channel, int64_t m);
  void release(int64_t rank, int64_t channel, int64_t m);

  /// Stops every rank; the first text is kept.
  void fail(int64_t rank, const std::string &text);
  /// Throws `Stopped` when the step has failed.
  void checkFailed() const {
    if (failed.load(std::memory_order_acquire))
      throw Stopped();
  }
  /// The rank has left its program.
  void finish(int64_t rank);
  /// After all ranks finished: the first error, also of a slot that is still
  /// in use; empty after a good step.
  std::string result();

private:
  /// `free`, or a microbatch and what was done with it.
  using State = int64_t;
  enum : State { freeSlot = 0, claimed = 1, published = 2, received = 3 };
  static State state(int64_t m, State what) { return m << 2 | what; }

  struct alignas(64) Slot {
    std::atomic<State> state{freeSlot};
  };
  struct Ring {
    std::byte *base = nullptr;
    int64_t stride = 0, count = 0;
    std::unique_ptr<Slot[]> slots;
  };
  /// One rank's bell, and what it waits for while asleep (under `mutex`).
  struct alignas(64) Waiter {
    std::atomic<uint32_t> bell{0};
    std::atomic<bool> listening{false};
    bool asleep = false, finished = false;
    const Slot *slot = nullptr;
    State wanted = 0;
    int64_t channel = 0, m = 0;
  };

  Slot &slotOf(int64_t rank, int64_t channel, int64_t m, bool sender);
  std::byte *addressOf(int64_t channel, int64_t m) const;
  void require(const Slot &slot, int64_t channel, int64_t m, State wanted,
               const char *what) const;
  void ring(int64_t rank);
  void ringAll();
  void waitFor(int64_t rank, Slot &slot, State wanted, int64_t channel,
               int64_t m);
  bool stuck() const;
  void failStuck();
  std::string describeWait(size_t rank) const;
  void failLocked(const std::string &text);

  const Manifest &manifest;
  int64_t microbatches;
  bool poison;
  int spins;
  std::vector<Ring> rings;
  std::vector<Waiter> waiters;
  alignas(64) std::atomic<bool> failed{false}; ///< read by all, all the time
  alignas(
      64) mutable std::mutex mutex; ///< guards `error` and the sleepers' wishes
  std::string error;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H
