//===- Graphs.h - attention and convolutions of a device --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans of a library of graphs for what the ranks on one device call, one
// for each shape. They are made before memory is taken, because only they know
// how much workspace they need.
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

/// The library for a device that is described only (GraphLibrary.h). Throws an
/// `Error` where it is missing, or describes no device of the architecture (90:
/// sm_90).
std::unique_ptr<GraphLibrary> describeGraphLibrary(int architecture,
                                                   bool anyOrder);

class Graphs {
public:
  /// `anyOrder`: sums may be made in another order at every run.
  Graphs(const Device &device, bool anyOrder)
      : device(device), anyOrder(anyOrder) {}

  /// Makes the plan of a call, or finds it; bytes of workspace it needs, at a
  /// multiple of `workspaceAlignment`. The first opens the library, and throws
  /// an `Error` where it is missing. Where the library has no plan, the kernels
  /// behind the call are needed.
  int64_t prepare(const Attention &attention);
  int64_t prepare(const Convolution &convolution);
  /// Enqueues a call whose plan is made; every address must be a multiple of 16
  /// bytes.
  void call(const Attention &attention, DevicePointer workspace,
            Stream stream) const;
  void call(const Convolution &convolution, DevicePointer workspace,
            Stream stream) const;
  /// Whether an attention is left to the kernels behind it.
  bool leaves(const Attention &attention) const;
  /// Different shapes that plans were asked for.
  size_t shapes() const { return plans.size(); }

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
