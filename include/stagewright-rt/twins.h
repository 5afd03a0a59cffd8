//===- twins.h - kernels of a device on the host ----------------*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact for `--target=cuda:host` holds each kernel as code of the host
// for one thread of the grid. It is made from the same operations as the code
// of the device, so what kernels compute can be checked without one: every
// access to memory is told, and threads meet where the kernel says.
//
// Not for speed: one thread of a grid after the other.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RT_TWINS_H
#define STAGEWRIGHT_RT_TWINS_H

// NOLINTBEGIN(readability-identifier-naming): C names, with a prefix.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One thread of a running grid. Its functions are those of whoever runs it.
typedef struct sw_thread {
  int64_t block[3];  ///< number of its block
  int64_t thread[3]; ///< number in its block
  void *shared;      ///< shared memory of the block
  /// Waits for the threads of the block.
  void (*barrier)(struct sw_thread *thread);
  /// The bits that the thread of the warp gave whose number differs in the bits
  /// of `offset`.
  uint32_t (*shuffle)(struct sw_thread *thread, uint32_t bits, int32_t offset);
  /// Told before `bytes` bytes at `address` are read or written.
  void (*access)(struct sw_thread *thread, const void *address, int64_t bytes,
                 int32_t writes);
} sw_thread;

/// One kernel. In an artifact for the host its address is what `sw_api.launch`
/// gets as the number of the kernel.
typedef struct sw_twin {
  /// Runs one thread; `arguments` as for `sw_api.launch`.
  void (*run)(sw_thread *thread, void *const *arguments);
  const char *name;
  /// Bytes that may be touched behind each argument; -1 where it is a number.
  const int64_t *extents;
  int64_t arguments;
  int64_t meets; ///< 1: it has barriers or shuffles
  int64_t grid[3], block[3];
  int64_t shared; ///< bytes of shared memory of a block
} sw_twin;

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_TWINS_H
