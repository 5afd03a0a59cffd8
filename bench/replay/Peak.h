//===- Peak.h - what a core can do ------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two limits of a kernel, as this machine reaches them: multiplications
// and additions in registers, and reading from memory (Williams, Waterman and
// Patterson's roofline, 2009).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_BENCH_REPLAY_PEAK_H
#define STAGEWRIGHT_BENCH_REPLAY_PEAK_H

/// Float32 operations a second of one core: fused multiply-adds of independent
/// vectors, of the widest form the processor has or a narrower one if that is
/// faster; the max of several tries.
double peakFlops();

/// Bytes a second that one core reads from memory, of a block that no cache
/// holds; the max of several tries.
double peakBandwidth();

#endif // STAGEWRIGHT_BENCH_REPLAY_PEAK_H
