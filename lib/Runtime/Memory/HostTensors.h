//===- HostTensors.h - copies of tensors to and from arenas -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies whole tensors of the host to and from the arenas of ranks. Parameters
// may be in slices, a batch has one slot per microbatch, and outputs are joined
// along the batch dimension. The arenas are those of ranks on CPUs, or copies
// of device memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H

#include "Memory/Layout.h"

#include <cstddef>
#include <functional>

namespace stagewright::runtime {

/// The tensor that the host passes or gets for an argument or result.
struct HostTensor {
  sw_dtype dtype;
  std::vector<int64_t> shape;
};
HostTensor hostArgument(const Interface &argument, int64_t microbatches);
HostTensor hostResult(const Interface &result, int64_t microbatches);

/// The arenas of all ranks, by their base addresses; null for ranks of other
/// processes.
struct HostArenas {
  const Manifest &manifest;
  const std::vector<Layout> &layouts;
  std::vector<std::byte *> bases;
  int64_t microbatches;
};

/// The index of the argument or result at `position`. Throws if the type or
/// shape of `tensor` is not as expected.
size_t findArgument(const HostArenas &arenas, int64_t position,
                    const sw_tensor &tensor);
size_t findResult(const HostArenas &arenas, int64_t position,
                  const sw_tensor &tensor);

void copyIn(const HostArenas &arenas, size_t argument, const sw_tensor &tensor);
void copyOut(const HostArenas &arenas, size_t result, const sw_tensor &tensor);

/// Calls `visit(part, whole, size)` for each contiguous run of an argument or
/// result in a buffer: its offset in the buffer, its offset in the whole
/// tensor, and its size, in bytes.
void forRuns(const Buffer &buffer, const Interface &whole,
             const std::function<void(int64_t, int64_t, int64_t)> &visit);
/// The slot of the last microbatch, which has the result if there are several.
const std::byte *lastSlot(const HostArenas &arenas, size_t rank, size_t buffer);

/// Fills the buffers of the microbatch numbers.
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
