//===- HostTensors.h - whole tensors in and out of arenas -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which part of a host's tensor lies where: parameters in slices, one slot of a
// batch per microbatch, outputs joined along the batch dimension. The arenas
// may be those of ranks on processors or copies of what devices hold.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H

#include "Memory/Layout.h"

#include <cstddef>
#include <functional>

namespace stagewright::runtime {

/// The tensor a host sees at an argument or result.
struct HostTensor {
  sw_dtype dtype;
  std::vector<int64_t> shape;
};
HostTensor hostArgument(const Interface &argument, int64_t microbatches);
HostTensor hostResult(const Interface &result, int64_t microbatches);

/// Memory that holds what hosts give and take, one base for each rank; null for
/// ranks of other processes.
struct HostArenas {
  const Manifest &manifest;
  const std::vector<Layout> &layouts;
  std::vector<std::byte *> bases;
  int64_t microbatches;
};

/// The numbers of the argument or result at `position`, whose tensor is checked
/// against what it must be.
size_t findArgument(const HostArenas &arenas, int64_t position,
                    const sw_tensor &tensor);
size_t findResult(const HostArenas &arenas, int64_t position,
                  const sw_tensor &tensor);

void copyIn(const HostArenas &arenas, size_t argument, const sw_tensor &tensor);
void copyOut(const HostArenas &arenas, size_t result, const sw_tensor &tensor);

/// Calls `visit(part, whole, size)` for each run of bytes that a buffer has of
/// an argument or result: where it begins in the buffer and in the whole.
void forRuns(const Buffer &buffer, const Interface &whole,
             const std::function<void(int64_t, int64_t, int64_t)> &visit);
/// The slot of the last microbatch, which is meant where there are several.
const std::byte *lastSlot(const HostArenas &arenas, size_t rank, size_t buffer);

/// Fills the buffers that hold the numbers of the microbatches.
void fillMicrobatchNumbers(const HostArenas &arenas);

/// Calls `visit(rank, buffer number)` for the buffers of all ranks that hold
/// (a part of) the argument or result number `index`.
template <typename Visit>
void forBuffers(const Manifest &manifest, int64_t Buffer::*member,
                int64_t index, Visit visit) {
  for (size_t r = 0; r < manifest.ranks.size(); ++r)
    for (size_t b = 0; b < manifest.ranks[r].buffers.size(); ++b)
      if (manifest.ranks[r].buffers[b].*member == index)
        visit(r, b);
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H
