//===- Processors.h - processors of this process ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many processors there are for this process, where its threads run, and
// how long one looks before it sleeps: waking a thread takes 20 to 50 us,
// seeing a change of memory a tenth of one. Whoever has a processor of its own
// spins; whoever has none would spin in the way of the thread that it waits
// for.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_PROCESSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_PROCESSORS_H

#include <cstdint>

namespace stagewright::runtime {

/// Processors this process may use, which is what `taskset` and containers
/// leave of those there are.
int64_t processors();

/// Restricts the calling thread, and the threads it makes, to `count`
/// processors of this process from the number `first` on, counted round.
void pinThread(int64_t first, int64_t count);

/// How often a thread looks before it sleeps when `threads` are busy: about
/// 20 ms, as long as an action of a large model, or hardly.
int spinsFor(int64_t threads);

/// Looks at `done` up to `limit` times, with a pause between; whether it came
/// true.
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
