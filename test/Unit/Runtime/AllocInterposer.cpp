//===- AllocInterposer.cpp - counts allocations inside steps --------------===//
//
// Part of the Stagewright project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For LD_PRELOAD: stands before the allocator and before sw_step_run, counts
// what any thread allocates while a step runs, and prints one line per step at
// the end of the process. Works under pp-run and under the unit tests, with
// every artifact.
//
//===----------------------------------------------------------------------===//

#include "stagewright-rt/runtime.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <dlfcn.h>
#include <sys/mman.h>

namespace {

std::atomic<bool> running{false};
std::atomic<long> allocations{0};
constexpr int stepLimit = 64;
long counts[stepLimit];
int steps = 0;

void count() {
  if (running.load(std::memory_order_relaxed))
    allocations.fetch_add(1, std::memory_order_relaxed);
}

template <typename F> F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

struct Report {
  ~Report() {
    for (int i = 0; i < steps; ++i)
      std::fprintf(stderr, "step %d: %ld allocations\n", i + 1, counts[i]);
  }
} report;

} // namespace

// glibc's own names, so that finding the real functions allocates nothing.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}
void *realloc(void *old, size_t size) {
  count();
  return __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  count();
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
void *mmap(void *address, size_t size, int protection, int flags, int file,
           off_t offset) noexcept {
  count();
  static auto real =
      next<void *(*)(void *, size_t, int, int, int, off_t)>("mmap");
  return real(address, size, protection, flags, file, offset);
}

__attribute__((visibility("default"))) int sw_step_run(sw_step *step) {
  static auto real = next<int (*)(sw_step *)>("sw_step_run");
  allocations.store(0);
  running.store(true);
  int result = real(step);
  running.store(false);
  if (steps < stepLimit)
    counts[steps++] = allocations.load();
  return result;
}
}
