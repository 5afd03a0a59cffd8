//===- Graphs.h - plans of attention and convolutions -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans of a graph library for all calls of the ranks on one device, one
// per shape. They are made before memory is allocated, because they determine
// the size of the workspace.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHS_H

#include "Device.h"
#include "GraphLibrary.h"
#include "Program.h"

#include <map>
#include <optional>

namespace stagewright::runtime::cuda {

/// The library for an architecture without a device (GraphLibrary.h). Throws an
/// `Error` if the library is missing, or does not describe the architecture
/// (90: sm_90).
std::unique_ptr<GraphLibrary> describeGraphLibrary(int architecture,
                                                   bool anyOrder);

class Graphs {
public:
  /// `anyOrder`: the order of sums may differ between runs.
  Graphs(const Device &device, bool anyOrder)
      : device(device), anyOrder(anyOrder) {}

  /// Makes the plan of a call, or finds it; returns the bytes of workspace it
  /// needs, at a multiple of `workspaceAlignment`. Opens the library when it is
  /// first needed, and throws an `Error` if it is missing. If the library has
  /// no plan, kernels that follow the call must run; without them throws an
  /// `Error`.
  int64_t prepare(const Attention &attention);
  int64_t prepare(const Convolution &convolution);
  /// Enqueues a call that was prepared; every address must be a multiple of 16
  /// bytes.
  void call(const Attention &attention, DevicePointer workspace,
            Stream stream) const;
  void call(const Convolution &convolution, DevicePointer workspace,
            Stream stream) const;
  /// Whether the kernels that follow the call do the attention.
  bool leaves(const Attention &attention) const;

private:
  using Key = std::vector<int64_t>;

  GraphLibrary &opened();

  const Device &device;
  bool anyOrder;
  std::unique_ptr<GraphLibrary> library;
  std::map<Key, std::optional<size_t>> plans;
};

using GraphsByDevice = std::map<const Device *, std::unique_ptr<Graphs>>;

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHS_H
