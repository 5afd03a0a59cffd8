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

namespace stagewright::runtime::cuda {

class Graphs {
public:
  /// Opens the library for the device; throws an `Error` where it is missing.
  explicit Graphs(const Device &device);

  /// Makes the plan of a call, or finds it; bytes of workspace it needs.
  int64_t prepare(const Attention &attention);
  int64_t prepare(const Convolution &convolution);
  /// Enqueues a call whose plan is made; every address must be a multiple of 16
  /// bytes.
  void call(const Attention &attention, DevicePointer workspace,
            Stream stream) const;
  void call(const Convolution &convolution, DevicePointer workspace,
            Stream stream) const;
  /// Different shapes that plans were made for.
  size_t shapes() const { return plans.size(); }

private:
  using Key = std::vector<int64_t>;

  const Device &device;
  std::unique_ptr<GraphLibrary> library;
  std::map<Key, size_t> plans;
};

using GraphsByDevice = std::map<const Device *, std::unique_ptr<Graphs>>;

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_GRAPHS_H
