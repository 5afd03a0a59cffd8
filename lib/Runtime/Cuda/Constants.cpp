//===- Constants.cpp - an artifact's constants on a device ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants.h"

namespace stagewright::runtime::cuda {

int64_t constantBytes(const Manifest &manifest) {
  int64_t bytes = 0;
  for (const ConstantArray &it : manifest.constants)
    bytes += alignUp(it.bytes);
  return bytes;
}

Constants::Constants(const Artifact &artifact) {
  int64_t offset = 0;
  for (const ConstantArray &it : artifact.manifest().constants) {
    arrays[reinterpret_cast<Address>(artifact.constant(it))] = {offset,
                                                                it.bytes};
    offset += alignUp(it.bytes);
  }
}

Address Constants::onDevice(Address address, Address base) const {
  auto after = arrays.upper_bound(address);
  if (after == arrays.begin())
    return address;
  auto &[begin, it] = *std::prev(after);
  if (address >= begin + Address(it.bytes))
    return address;
  return base + Address(it.offset) + (address - begin);
}

bool isHostAddress(uint64_t value) {
  // Programs, libraries, heaps and stacks are in this range; numbers of
  // elements are smaller.
  constexpr uint64_t first = uint64_t(1) << 44, last = uint64_t(1) << 47;
  return value >= first && value < last;
}

} // namespace stagewright::runtime::cuda
