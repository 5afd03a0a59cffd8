//===- Plans.h - graphs of cuDNN and their plans ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and convolutions as graphs of cuDNN, written with its C++ headers
// (nvidia-cudnn-frontend), and the library's plans for them: its heuristic's
// first that it can build. A plan is for a device that is there, or for one
// that is described only, which can be built but not run.
//
// The headers are heavy: they are included by Plans.cpp alone.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDNN_PLANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDNN_PLANS_H

#include "stagewright-rt/device.h"

#include <cstdint>
#include <memory>
#include <string>

struct cudnnContext;

namespace stagewright::runtime::cudnn {

/// What plans are made for.
struct Target {
  cudnnContext *handle = nullptr; ///< of a device that is there
  /// As CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it, where `handle` is
  /// null.
  std::string description;
  int architecture = 0; ///< 90 for sm_90
  /// Plans may add up in another order at every run.
  bool anyOrder = false;
};

/// The functions of cuDNN come from this library, opened before all else.
void useLibrary(void *library);
/// Its version, 91900 for 9.19.0.
int64_t libraryVersion();

class Plan {
public:
  /// Throws an `Error` with the library's reason where it has none.
  static Plan attention(const Target &target, const sw_attention_desc &desc,
                        bool gradient, bool stats);
  static Plan convolution(const Target &target, const sw_convolve_desc &desc);

  int64_t workspace() const;
  const std::string &name() const;
  /// Enqueues it; addresses of `operands` in the order of GraphLibrary::call.
  void run(cudnnContext *handle, void *const *operands, void *workspace) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace stagewright::runtime::cudnn

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDNN_PLANS_H
