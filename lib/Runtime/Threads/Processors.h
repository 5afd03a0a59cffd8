//===- Processors.h - processors and pinning --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The processors of this process, pinning of threads to them, and how long a
// thread spins before it sleeps: waking a thread takes 20 to 50 us, seeing a
// change in memory 0.1 us. A thread with a processor of its own spins; without
// one, it would only delay the thread that it waits for.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_PROCESSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_PROCESSORS_H

#include <cstdint>

namespace stagewright::runtime {

/// The number of processors that this process may use, as limited by `taskset`
/// or a container.
int64_t processors();

/// Pins the calling thread, and threads that it creates later, to `count`
/// processors of this process from number `first` on, modulo their number.
void pinThread(int64_t first, int64_t count);

/// How often a thread polls before it sleeps if `threads` are busy: for about
/// 20 ms, the length of an action of a large model, if each has a processor;
/// else only 20 times.
int spinsFor(int64_t threads);

/// Polls `done` up to `limit` times, with a pause between; returns whether it
/// became true.
template <typename Done> bool spin(int limit, Done done) {
  for (int i = 0; i < limit; ++i) {
    if (done())
      return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  return false;
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_PROCESSORS_H
