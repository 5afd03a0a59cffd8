//===- Transport.h - channels between ranks ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of a rank's program to channels and sums over ranks. A channel
// is a ring of slots with one writer and one reader (Lamport, "Proving the
// correctness of multiprocess programs", 1977):
//
//   free -> claimed(m) -> published(m) -> received(m) -> free
//      sender: claim, send          receiver: recv, release
//
// Each sum over ranks runs once per step, or is carried over steps: begun at
// the end of one and awaited at the end of the same or of a later one. A gather
// runs for every microbatch.
//
// Ranks are threads (ThreadTransport.h) or processes
// (Processes/MessageTransport.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H
#define STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H

#include "Artifact/Manifest.h"
#include "Faults/RankPosition.h"
#include "Traffic.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// Thrown by a call that finds that the step has failed elsewhere.
struct Stopped {};

class Transport {
public:
  explicit Transport(size_t ranks) : places(ranks), sent(ranks) {}
  virtual ~Transport() = default;

  /// Forgets the last step. No rank may be running.
  virtual void reset() = 0;

  virtual std::byte *claim(int64_t rank, int64_t channel, int64_t m) = 0;
  virtual void send(int64_t rank, int64_t channel, int64_t m) = 0;
  virtual std::byte *recv(int64_t rank, int64_t channel, int64_t m) = 0;
  /// Receiver: the address of a message that it already holds, else null.
  virtual std::byte *held(int64_t rank, int64_t channel, int64_t m) = 0;
  virtual void release(int64_t rank, int64_t channel, int64_t m) = 0;

  /// Whether `recv`, or `claim` if the rank sends, would not wait. For the
  /// rank's own thread.
  virtual bool isReady(int64_t rank, const Need &need) = 0;
  /// Waits until one of `needs` is ready.
  virtual void waitForAny(int64_t rank, std::span<const Need> needs) = 0;

  /// Begins a collective on this rank, whose bucket is complete. Never waits.
  virtual void allReduce(int64_t rank, int64_t collective) = 0;
  /// Waits until the sum, or the gathered parts, are in the bucket. Returns at
  /// once if a carried sum is not running.
  virtual void awaitReduced(int64_t rank, int64_t collective) = 0;
  /// Between steps: completes the carried sums of the ranks of this process.
  virtual void settle() {}

  /// Advances messages in flight, if that needs calls of the rank.
  virtual void progress() noexcept {}
  /// Whether sums in flight, or parts of messages that wait for their rate,
  /// need frequent calls of progress(). For the rank's thread only.
  bool needsCalls() const { return sumsUnderWay + partsWaiting > 0; }

  /// Stops every rank; the first text is kept.
  virtual void fail(int64_t rank, const std::string &text) = 0;
  /// Throws `Stopped` when the step has failed.
  void checkFailed() const {
    if (failed.load(std::memory_order_acquire))
      throw Stopped();
  }
  /// The rank has left its program.
  virtual void finish(int64_t rank) = 0;
  /// Where a rank is, as far as this process knows.
  RankPosition &place(int64_t rank) { return places[size_t(rank)]; }
  /// What a rank has sent since the last reset.
  const Traffic &sentBy(int64_t rank) const { return sent[size_t(rank)].bytes; }
  /// After all ranks finished: the first error, such as a slot that is still in
  /// use; empty if the step succeeded.
  virtual std::string result() = 0;

protected:
  template <typename Sent> void count(int64_t rank, const Sent &message) {
    sent[size_t(rank)].bytes.add(message);
  }
  void forgetSent() { sent.assign(sent.size(), {}); }

  alignas(64) std::atomic<bool> failed{false}; ///< read often by all ranks
  int64_t sumsUnderWay = 0, partsWaiting = 0;
  std::vector<RankPosition> places; ///< by rank

private:
  /// Each rank's thread writes its own.
  struct alignas(64) Sent {
    Traffic bytes;
  };
  std::vector<Sent> sent; ///< by rank
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRANSPORT_H
