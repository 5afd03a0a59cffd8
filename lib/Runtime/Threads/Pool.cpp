//===- Pool.cpp - the threads of a rank -----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Pool.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <atomic>
#include <pthreadpool.h>

namespace stagewright::runtime {

ThreadContext &threadContext() {
  static thread_local ThreadContext context;
  return context;
}

namespace {

/// Parts per thread: enough that others can take over those of a slow thread.
constexpr int64_t partsPerThread = 4;

struct Job {
  sw_rank &rank;
  Pool::Body body;
  void **arguments;
  // pthreadpool synchronises its threads, but is not instrumented: these
  // atomics show ThreadSanitizer that order.
  std::atomic<bool> begun{false};
  std::atomic<int64_t> ended{0};
};

/// Runs one part on one thread. No destructors here: it may end by longjmp.
void runPart(void *context, size_t lower, size_t count) {
  Job &job = *static_cast<Job *>(context);
  job.begun.load(std::memory_order_acquire);
  ThreadContext before = threadContext();
  jmp_buf frame;
  if (_setjmp(frame) == 0) {
    threadContext() = {&job.rank, &frame, true};
    job.body(job.arguments, int64_t(lower), int64_t(lower + count));
  }
  threadContext() = before;
  job.ended.fetch_add(1, std::memory_order_acq_rel);
}

} // namespace

Pool::Pool(int64_t threads, bool maySpin)
    : pool(pthreadpool_create(size_t(threads))), count(threads),
      flags(maySpin ? 0 : PTHREADPOOL_FLAG_YIELD_WORKERS) {
  if (!pool)
    raise("cannot start ", threads, " threads for a rank");
}

Pool::~Pool() { pthreadpool_destroy(pool); }

void Pool::run(sw_rank &rank, Body body, void **arguments, int64_t extent,
               int64_t grain) {
  int64_t grains = (extent + grain - 1) / grain;
  int64_t parts = std::min(grains, count * partsPerThread);
  runParts(rank, body, arguments, extent, (grains + parts - 1) / parts * grain);
}

void Pool::runParts(sw_rank &rank, Body body, void **arguments, int64_t extent,
                    int64_t length) {
  Job job{rank, body, arguments};
  job.begun.store(true, std::memory_order_release);
  pthreadpool_parallelize_1d_tile_1d(pool, runPart, &job, size_t(extent),
                                     size_t(length), flags);
  job.ended.load(std::memory_order_acquire);
}

void Pool::onEach(sw_rank &rank, void (*what)()) {
  // A thread that has a part waits until each thread has one.
  struct Barrier {
    void (*what)();
    int64_t expected;
    std::atomic<int64_t> arrived{0};
  } barrier{what, count};
  void *arguments[] = {&barrier};
  auto body = [](void **given, int64_t, int64_t) {
    auto &barrier = *static_cast<Barrier *>(given[0]);
    barrier.what();
    barrier.arrived.fetch_add(1);
    barrier.arrived.notify_all();
    for (int64_t seen; (seen = barrier.arrived.load()) < barrier.expected;)
      barrier.arrived.wait(seen);
  };
  runParts(rank, body, arguments, count, 1);
}

} // namespace stagewright::runtime
