//===- Pool.h - the threads of a rank ---------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's thread and its helpers, which share the iterations of one loop at a
// time: pthreadpool (Marat Dukhan), in which the caller takes part, helpers
// spin before they sleep, and idle threads steal work. A fork and join of two
// threads takes 0.4 us while both are awake.
//
// A nested loop runs on the thread that reaches it. A failing iteration ends
// its part by longjmp; the step fails when all threads have joined.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_POOL_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_POOL_H

#include <csetjmp>
#include <cstdint>

struct pthreadpool;
struct sw_rank;

namespace stagewright::runtime {

class Pool {
public:
  /// `threads` includes the calling thread. `maySpin`: each thread has its own
  /// processor.
  Pool(int64_t threads, bool maySpin);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int64_t threads() const { return count; }

  using Body = void (*)(void **arguments, int64_t lower, int64_t upper);
  /// Runs `body` on parts of [0, extent). Each part begins at a multiple of
  /// `grain`; the length of each but the last is a multiple of `grain`.
  void run(sw_rank &rank, Body body, void **arguments, int64_t extent,
           int64_t grain);

  /// Runs `what` once on each thread.
  void onEach(sw_rank &rank, void (*what)());

private:
  void runParts(sw_rank &rank, Body body, void **arguments, int64_t extent,
                int64_t length);

  pthreadpool *pool;
  int64_t count;
  uint32_t flags;
};

/// The context of a thread: its rank, and where a failure jumps to.
struct ThreadContext {
  sw_rank *rank = nullptr; ///< null on threads of no rank
  jmp_buf *frame = nullptr;
  bool shares = false; ///< inside a loop that several threads share
};
ThreadContext &threadContext();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_POOL_H
