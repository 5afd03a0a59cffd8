//===- source.h - batches from a library --------------------------*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source computes the batch arguments of a step, such as sampled neighbours
// of a graph. `pp-run --source=LIBRARY.so:TEXT` opens a shared library that
// exports `stagewright_source`, in a process of its own: if the source crashes
// or hangs, the run ends with an error. The calls come from one thread of that
// process. In that process standard input is not available, and standard output
// goes to standard error.
//
// A batch must depend only on the seed, the step and the microbatch, in any
// order of calls: a resumed run calls from the step of its checkpoint on, and
// with several processes, each that uses a batch argument has its own source.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RT_SOURCE_H
#define STAGEWRIGHT_RT_SOURCE_H

// NOLINTBEGIN(readability-identifier-naming): C names, with a prefix.

#include "stagewright-rt/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Version of `sw_source`. A library of another version is refused.
#define SW_SOURCE_VERSION 1

/// One batch argument of one microbatch. The memory belongs to the source and
/// must stay valid until its next call.
typedef struct sw_source_tensor {
  const char *name; ///< the argument's name in the step
  sw_tensor tensor; ///< type and shape must be the argument's in one microbatch
} sw_source_tensor;

/// A call that fails returns null or a negative number and sets `*error` to a
/// text that stays valid until the next call. No exception may leave a call.
typedef struct sw_source {
  int64_t version; ///< SW_SOURCE_VERSION
  /// Called once. `text`: what follows the colon, or "". The result, not null,
  /// is the `state` of the other calls.
  void *(*open)(const char *text, uint64_t seed, const char **error);
  /// Sets `*tensors` to all batch arguments of the step, in any order; returns
  /// their number. `step` and `microbatch` count from 0.
  int64_t (*next)(void *state, int64_t step, int64_t microbatch,
                  const sw_source_tensor **tensors, const char **error);
  /// Called when the run ends, unless a call has failed or takes too long.
  void (*close)(void *state);
} sw_source;

/// What the library exports.
SW_EXPORT extern const sw_source stagewright_source;

#ifdef __cplusplus
} // extern "C"
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_SOURCE_H
