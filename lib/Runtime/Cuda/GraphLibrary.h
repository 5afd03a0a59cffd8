//===- GraphLibrary.h - attention and convolutions by a library -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of a library that runs graphs of operations on a device. It is
// implemented by a separate shared object, libstagewright-cudnn.so
// (Runtime/Cudnn), opened when a program has attention or convolutions. All
// functions throw an `Error` on failure.
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

  /// Make a plan for the device that was current when the library was opened;
  /// return its number. May take seconds and allocate device memory; the
  /// functions below do neither. Without `stats` the attention computes none.
  virtual size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                                  bool stats) = 0;
  virtual size_t prepareConvolution(const sw_convolve_desc &desc) = 0;
  /// Bytes of workspace that a plan needs.
  virtual int64_t workspace(size_t plan) const = 0;
  /// The library's name of the plan.
  virtual std::string name(size_t plan) const = 0;
  /// Enqueues a plan. `operands` are addresses on the device: q, k, v, o,
  /// stats, d_o, d_q, d_k, d_v, bias of an attention, x, w, y of a convolution.
  virtual void call(size_t plan, void *const *operands, void *workspace,
                    void *stream) = 0;
};

/// The name of the function with which a plug-in is opened for the current
/// device, whose architecture is given (90: sm_90). If it returns null, it has
/// filled `error`. Plans are reproducible bit for bit unless `anyOrder`.
inline constexpr char openGraphLibraryName[] = "stagewright_open_graph_library";
using OpenGraphLibrary = GraphLibrary *(*)(unsigned version, int architecture,
                                           bool anyOrder, char *error,
                                           size_t room);

/// The same without a device: plans can be made and named, but not called. The
/// process must not use any device.
inline constexpr char describeGraphLibraryName[] =
    "stagewright_describe_graph_library";

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHLIBRARY_H
