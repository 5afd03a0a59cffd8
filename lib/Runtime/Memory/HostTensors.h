//===- HostTensors.h - copies of tensors to and from arenas -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies tensors of the host to and from the arenas of ranks. Parameters may be
// in slices, a batch has one slot per microbatch, and outputs are joined along
// the batch dimension. The arenas are in the memory of CPUs or of devices.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H

#include "Memory/Layout.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

namespace stagewright::runtime {

/// The tensor that the host passes or gets for an argument or result.
struct HostTensor {
  sw_dtype dtype;
  std::vector<int64_t> shape;
};
HostTensor hostArgument(const Interface &argument, int64_t microbatches);
HostTensor hostResult(const Interface &result, int64_t microbatches);

/// The arenas of all ranks, by their base addresses; null for ranks of other
/// processes and for ranks on devices.
struct HostArenas {
  const Manifest &manifest;
  const std::vector<Layout> &layouts;
  std::vector<std::byte *> bases;
  int64_t microbatches;
};

/// The index of the argument or result at `position`. Throws if there is none.
size_t findResult(const Manifest &manifest, int64_t position);
/// The same; also throws if the type or shape of `tensor` is not as expected.
size_t findArgument(const HostArenas &arenas, int64_t position,
                    const sw_tensor &tensor);
size_t findResult(const Manifest &manifest, int64_t microbatches,
                  int64_t position, const sw_tensor &tensor);

/// Contiguous bytes of a buffer. In the whole tensor they are runs of equal
/// size at equal distances. All quantities are in bytes.
struct Strip {
  int64_t at;     ///< of the first run, from the beginning of the buffer
  int64_t whole;  ///< of the first run, from the beginning of the tensor
  int64_t run;    ///< size of a run
  int64_t runs;   ///< how many there are
  int64_t stride; ///< from one run to the next in the whole tensor

  int64_t bytes() const { return run * runs; }
  /// How many bytes of the strip lie before byte `end` of the whole tensor.
  int64_t before(int64_t end) const;
};
/// What a buffer holds of an argument or result. For a batch and for joined
/// outputs: one strip for each microbatch that the buffer has. Else, in the
/// slot of the last microbatch: the strips of its slice, or one strip with the
/// whole tensor.
std::vector<Strip> stripsOf(const Buffer &buffer, const Ring &ring,
                            const Interface &whole, int64_t microbatches);

/// Calls `visit(part, whole, size)` for the runs of bytes [from, to) of a
/// strip: their offsets in the strip and in the whole tensor.
template <typename Visit>
void forRuns(const Strip &strip, int64_t from, int64_t to, Visit visit) {
  while (from < to) {
    int64_t inRun = from % strip.run;
    int64_t size = std::min(strip.run - inRun, to - from);
    visit(from, strip.whole + from / strip.run * strip.stride + inRun, size);
    from += size;
  }
}

/// Calls `fill` for each buffer with a part of an argument of the model, or for
/// the buffer of an argument that is the state of one rank alone.
using FillBuffer = std::function<void(size_t rank, size_t buffer,
                                      const std::vector<Strip> &strips)>;
void forArgument(const HostArenas &arenas, size_t argument,
                 const FillBuffer &fill);
/// Copies an argument to all ranks that have a base.
void copyIn(const HostArenas &arenas, size_t argument, const sw_tensor &tensor);

/// Max bytes of a result or buffer that are copied at once.
inline constexpr int64_t pieceBytes = int64_t(64) << 20;

/// Bytes [begin, end) of a whole tensor.
struct ByteRange {
  int64_t begin, end;
};
/// Returns `bytes` bytes of a buffer of a rank of this process, from offset
/// `at` of the buffer. They are valid until the next call.
using ReadBuffer = std::function<const std::byte *(size_t rank, size_t buffer,
                                                   int64_t at, int64_t bytes)>;
/// Reads the arenas themselves.
ReadBuffer readerOf(const HostArenas &arenas);
/// Copies a part of a result, at most `pieceBytes`; its first byte goes to
/// `to`.
void copyOut(const HostArenas &arenas, size_t result, ByteRange range,
             std::byte *to, const ReadBuffer &read);

/// Fills the buffers of the microbatch numbers.
void fillMicrobatchNumbers(const HostArenas &arenas);
/// Fills the slots of one such buffer, which begins at `base`.
void fillMicrobatchNumbers(std::byte *base, const Buffer &buffer,
                           const Ring &ring, int64_t microbatches);

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

/// Bytes [at, at + bytes) of a buffer of a rank, at most `pieceBytes`. They
/// include all bytes of a part of a result that are in `strips`.
struct BufferPart {
  size_t rank, buffer;
  int64_t at, bytes;
  std::span<const Strip> strips;
  /// If replicas differ: the weight of this replica in the result, which is
  /// their weighted sum. 0: the buffer has the result itself.
  double weight = 0;
  sw_dtype dtype = SW_F32;

  /// Copies the bytes of `range` of the result to `to`; `data` is this part.
  /// With a weight it adds the weighted elements instead.
  void copyOut(ByteRange range, const std::byte *data, std::byte *to) const;
};
/// Calls `visit` for everything that buffers hold of a part of a result: for
/// strips that are adjacent, or in adjacent slots, at once, up to `pieceBytes`.
/// Bytes between them that are not of the part are included only if the buffer
/// has the whole part within `pieceBytes`.
void forParts(const HostArenas &arenas, size_t result, ByteRange range,
              const std::function<void(const BufferPart &)> &visit);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_HOSTTENSORS_H
