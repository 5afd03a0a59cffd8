//===- GraphLibrary.h - attention and convolutions by a library -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step asks of a library that runs graphs of operations on a device. It
// is a shared object of its own beside the runtime, opened when a program has
// such a call: libstagewright-cudnn.so (Runtime/Cudnn). Whatever fails throws
// an `Error`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHLIBRARY_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHLIBRARY_H

#include "stagewright-rt/device.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace stagewright::runtime::cuda {

class GraphLibrary {
public:
  virtual ~GraphLibrary() = default;

  /// Makes a plan for the device that was the thread's when the library was
  /// opened; its number. An attention whose `stats` are not wanted computes
  /// none. May take seconds and allocate; nothing after it does.
  virtual size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                                  bool stats) = 0;
  virtual size_t prepareConvolution(const sw_convolve_desc &desc) = 0;
  /// Bytes of workspace that a plan needs.
  virtual int64_t workspace(size_t plan) const = 0;
  /// What the library calls the plan.
  virtual std::string name(size_t plan) const = 0;
  /// Enqueues a plan. `operands` are addresses on the device: q, k, v, o,
  /// stats, d_o, d_q, d_k, d_v, bias of an attention, x, w, y of a convolution.
  virtual void call(size_t plan, void *const *operands, void *workspace,
                    void *stream) = 0;
};

/// The name under which a plug-in exports how it is opened, for the device that
/// is the thread's, of an architecture (90: sm_90): it fills `error` where it
/// returns null. Plans give the same bits at every run, unless `anyOrder`.
inline constexpr char openGraphLibraryName[] = "stagewright_open_graph_library";
using OpenGraphLibrary = GraphLibrary *(*)(unsigned version, int architecture,
                                           bool anyOrder, char *error,
                                           size_t room);

/// The same where there is no such device: plans are made and named, and none
/// can be called. The process must use no device.
inline constexpr char describeGraphLibraryName[] =
    "stagewright_describe_graph_library";

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHLIBRARY_H
