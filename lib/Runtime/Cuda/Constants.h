//===- Constants.h - an artifact's arrays on a device -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank programs know arrays that never change, masks for one, by where they lie
// in the artifact, in the host's memory. No kernel can read them there: every
// rank has a copy on its device, and what is recorded are addresses of that.
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

  /// Where a copy at `base` has what lies at `address`; that address itself
  /// where it is of no constant.
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
  std::map<Address, Array> arrays; ///< by their place in the host's memory
};

/// Whether a value that is no address of a device's memory is one of the
/// host's, as Linux places programs of 64 bits: a device cannot read there.
bool isHostAddress(uint64_t value);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_CONSTANTS_H
