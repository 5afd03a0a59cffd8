//===- Interposer.cpp - counts allocations during a step ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Preloaded into pp-run (LD_PRELOAD). Wraps the malloc family, mmap, and the
// runtime's sw_step_run and sw_step_create. Counts every allocation of every
// thread, libraries included, between the start and the end of each step. At
// exit it appends one JSON line to the file named by STAGEWRIGHT_INTERPOSER:
// allocations per step, and anonymous resident bytes before the step was
// created and after the last one ran.
//
//===----------------------------------------------------------------------===//

#include "stagewright-rt/runtime.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

constexpr int maxSteps = 64;
std::atomic<int> step{-1}; ///< the running step, -1 between steps
std::atomic<long> allocations[maxSteps];
std::atomic<int> finished{0};
long residentBefore = 0, residentAfter = 0;

void count() {
  int now = step.load(std::memory_order_relaxed);
  if (now >= 0 && now < maxSteps)
    allocations[now].fetch_add(1, std::memory_order_relaxed);
}

/// Anonymous resident bytes of this process, without mapped files.
long residentBytes() {
  char buffer[4096];
  int file = int(syscall(SYS_openat, AT_FDCWD, "/proc/self/status", 0, 0));
  long size = file < 0 ? 0 : syscall(SYS_read, file, buffer, sizeof buffer - 1);
  if (file >= 0)
    syscall(SYS_close, file);
  buffer[size > 0 ? size : 0] = 0;
  const char *line = strstr(buffer, "RssAnon:");
  return line ? strtol(line + 8, nullptr, 10) * 1024 : 0;
}

template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

__attribute__((destructor)) void report() {
  const char *path = getenv("STAGEWRIGHT_INTERPOSER");
  FILE *out = path && finished ? fopen(path, "a") : nullptr;
  if (!out)
    return;
  fprintf(out, "{\"allocations\": [");
  for (int i = 0; i < finished && i < maxSteps; ++i)
    fprintf(out, "%s%ld", i ? ", " : "", allocations[i].load());
  fprintf(out, "], \"resident_before\": %ld, \"resident_after\": %ld}\n",
          residentBefore, residentAfter);
  fclose(out);
}

} // namespace

extern "C" {

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

int posix_memalign(void **result, size_t alignment, size_t size) {
  count();
  void *memory = __libc_memalign(alignment, size);
  if (!memory)
    return ENOMEM;
  *result = memory;
  return 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int file,
           off_t offset) {
  count();
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

sw_step *sw_step_create(sw_program *program, const sw_options *options) {
  residentBefore = residentBytes();
  return next<decltype(sw_step_create)>("sw_step_create")(program, options);
}

int sw_step_run(sw_step *instance) {
  static auto *run = next<decltype(sw_step_run)>("sw_step_run");
  step = finished.load();
  int result = run(instance);
  step = -1;
  ++finished;
  residentAfter = residentBytes();
  return result;
}

} // extern "C"
