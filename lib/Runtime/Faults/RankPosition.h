//===- RankPosition.h - where a rank is in its step -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position is written by the rank's thread at every action, node and wait,
// by a few relaxed stores, and read by other threads to find out why a step
// does not end. A reader may see a mix of two states; it only prints them, or
// checks whether `changes()` has changed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_RANKPOSITION_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_RANKPOSITION_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stagewright::runtime {

struct Manifest;

class alignas(64) RankPosition {
public:
  /// To be called when a step begins.
  void begin() {
    kind.store(0, relaxed), node.store(-1, relaxed);
    waiting.store(Nothing, relaxed);
    end.store(Running, relaxed);
    changed();
  }
  void beginAction(int32_t letter, int64_t ofStage, int64_t m) {
    kind.store(letter, relaxed), stage.store(ofStage, relaxed);
    microbatch.store(m, relaxed), node.store(-1, relaxed);
    changed();
  }
  void beginNode(int64_t number) {
    node.store(number, relaxed);
    changed();
  }
  void endNode() {
    node.store(-1, relaxed);
    changed();
  }
  /// The rank has ended its program, or has left it early.
  void leave(bool atEnd) {
    end.store(atEnd ? Ended : Left, relaxed);
    changed();
  }

  enum Wait : int32_t { Nothing, ToSend, ToReceive, ForSum };
  /// Until `endWait` the rank waits for message `m` of channel `number`, for
  /// the slot of that message, or for collective `number`.
  void wait(Wait what, int64_t number, int64_t m) {
    awaited.store(number, relaxed), awaitedM.store(m, relaxed);
    waiting.store(what, relaxed);
    changed();
  }
  void endWait() {
    waiting.store(Nothing, relaxed);
    changed();
  }

  bool waits() const { return waiting.load(relaxed) != Nothing; }
  bool isOver() const { return end.load(relaxed) != Running; }
  /// Changes with every call that changes the position.
  uint64_t changes() const { return count.load(relaxed); }
  /// The rank on the other side of the awaited channel, or the other rank of an
  /// awaited collective of two. `someRank`: it waits for a collective of more
  /// ranks; `noRank`: it waits for neither.
  int64_t awaitedRank(const Manifest &manifest, int64_t self) const;
  static constexpr int64_t noRank = -1, someRank = -2;
  /// Whether it waits for a message of `other`, for a slot of `other`, or for a
  /// collective of both.
  bool awaits(const Manifest &manifest, int64_t self, int64_t other) const;
  /// "action 1F3, node 'h2.F'", "action 1F3 waits for microbatch 3 of channel
  /// 'h1.F.0.to1' from rank 0", "action 1F3 waits for microbatch 3 of gather
  /// 'h1.F.0.gather' from ranks 0 and 2".
  std::string describe(const Manifest &manifest, int64_t rank) const;

private:
  enum End : int32_t { Running, Ended, Left };
  static constexpr auto relaxed = std::memory_order_relaxed;
  void changed() { count.store(count.load(relaxed) + 1, relaxed); }

  std::atomic<uint64_t> count{0};
  std::atomic<int32_t> kind{0}; ///< 0: before the first action
  std::atomic<Wait> waiting{Nothing};
  std::atomic<End> end{Ended};
  std::atomic<int64_t> stage{0}, microbatch{0}, node{-1}, awaited{0},
      awaitedM{0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_RANKPOSITION_H
