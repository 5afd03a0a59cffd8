//===- Plans.h - cuDNN graphs and their plans -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and convolutions as cuDNN graphs, written with its C++ headers
// (nvidia-cudnn-frontend), and the library's plans for them: of those that its
// heuristic suggests, the first that can be built. A plan is for a device of
// this machine, or for a described one; a plan for a described device can be
// built but not run.
//
// The headers are slow to compile, so only Plans.cpp includes them.
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
  cudnnContext *handle = nullptr; ///< of a device of this machine
  /// If `handle` is null: the device, in the form of
  /// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
  std::string description;
  int architecture = 0; ///< 90 for sm_90
  /// Allows plans that sum in another order in every run.
  bool anyOrder = false;
};

/// Sets the open library that has the functions of cuDNN; call this first.
void useLibrary(void *library);
/// The version of cuDNN; 91900 for 9.19.0.
int64_t libraryVersion();

class Plan {
public:
  /// Throws an `Error` with the library's reason if there is no plan.
  static Plan attention(const Target &target, const sw_attention_desc &desc,
                        bool gradient, bool stats);
  static Plan convolution(const Target &target, const sw_convolve_desc &desc);

  int64_t workspace() const;
  const std::string &name() const;
  /// Enqueues the plan; `operands`: addresses, in order of GraphLibrary::call.
  void run(cudnnContext *handle, void *const *operands, void *workspace) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace stagewright::runtime::cudnn

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDNN_PLANS_H
