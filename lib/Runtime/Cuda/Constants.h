//===- Constants.h - an artifact's constants on a device --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank programs refer to constant arrays, such as masks, by their addresses in
// the artifact, in host memory. Kernels cannot read them there, so every rank
// has a copy on its device, and recorded programs use addresses of the copy.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_CONSTANTS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_CONSTANTS_H

#include "Program.h"

#include <map>

namespace stagewright::runtime::cuda {

/// Bytes of all arrays of an artifact, each at a multiple of `alignment`.
int64_t constantBytes(const Manifest &manifest);

class Constants {
public:
  explicit Constants(const Artifact &artifact);

  /// The address, in a copy at `base`, of the constant data at host `address`;
  /// `address` itself if it is not in a constant.
  Address onDevice(Address address, Address base) const;

  /// Calls `visit(offset, bytes, data)` for every array.
  template <typename Visit> void forAll(Visit visit) const {
    for (auto &[begin, it] : arrays)
      visit(it.offset, it.bytes, reinterpret_cast<const void *>(begin));
  }

private:
  struct Array {
    int64_t offset = 0, bytes = 0;
  };
  std::map<Address, Array> arrays; ///< by host address
};

/// Whether `value`, which is not an address in a device's memory, is in the
/// range that 64-bit Linux uses for host memory, which a device cannot read.
bool isHostAddress(uint64_t value);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_CONSTANTS_H
