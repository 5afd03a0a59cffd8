//===- Pool.h - the threads inside a rank -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's thread and its helpers, who share the iterations of one loop at a
// time: pthreadpool (Marat Dukhan), in which the caller takes part, helpers
// spin before they sleep, and who is done early takes from the others. A fork
// and join of two threads takes 0.4 us while both are awake.
//
// A loop inside a loop runs on the thread that meets it. An iteration that
// fails ends its thread's share by longjmp, and the step when all are back.
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
  /// `threads` counts the calling one. `maySpin`: each has a processor.
  Pool(int64_t threads, bool maySpin);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int64_t threads() const { return count; }

  using Body = void (*)(void **arguments, int64_t lower, int64_t upper);
  /// Runs `body` on parts of [0, extent), each but the last a multiple of
  /// `grain` long and beginning at one.
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

/// What a thread is doing: for which rank, and where a failure goes.
struct Place {
  sw_rank *rank = nullptr; ///< null on a host's thread
  jmp_buf *frame = nullptr;
  bool shares = false; ///< inside a loop that several threads share
};
Place &here();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_POOL_H
