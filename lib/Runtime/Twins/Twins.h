//===- Twins.h - kernels of a device, run on the host -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the grid of a kernel (stagewright-rt/twins.h), one fiber for each thread
// of a block, block after block. Threads meet at barriers and shuffles. An
// error is: an access outside the buffers of the launch and the shared memory;
// two threads that touch a byte of shared memory between two barriers, one of
// them writing; threads of a block of which some wait for the others and those
// have ended, or wait elsewhere.
//
// It checks what a kernel does, not how long it takes; and one order of the
// threads stands for all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TWINS_H
#define STAGEWRIGHT_LIB_RUNTIME_TWINS_H

#include "stagewright-rt/runtime.h"
#include "stagewright-rt/twins.h"

namespace stagewright::runtime {

/// Runs all threads of one launch; throws an `Error` that names the kernel, the
/// block and the thread.
void runTwin(const sw_twin &twin, void *const *arguments);

/// A contraction as the library of a device computes it: products and sums in
/// float32 (float64 for float64), the epilogue on them, rounded when they are
/// stored.
void contractOnHost(const sw_contraction_desc &desc, const void *a,
                    const void *b, void *c, const void *bias, void *aux);

/// The epilogue alone, on a C that holds the sums.
void finishOnHost(const sw_contraction_desc &desc, void *c, const void *bias,
                  void *aux);

/// A convolution or one of its gradients in the same way; writes one of the
/// three.
void convolveOnHost(const sw_convolve_desc &desc, void *x, void *w, void *y);

/// Attention and its gradients, in float64.
void attendOnHost(const sw_attention_desc &desc, const void *q, const void *k,
                  const void *v, void *o, float *stats);
void attendGradientOnHost(const sw_attention_desc &desc, const void *q,
                          const void *k, const void *v, const void *o,
                          const float *stats, const void *dO, void *dQ,
                          void *dK, void *dV);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TWINS_H
