//===- HostTensors.cpp - copies of tensors to and from arenas -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/HostTensors.h"

#include "DType.h"
#include "Error.h"

#include <cstring>

namespace stagewright::runtime {

HostTensor hostArgument(const Interface &argument, int64_t microbatches) {
  HostTensor tensor{argument.dtype, argument.shape};
  if (argument.role == "batch")
    tensor.shape.insert(tensor.shape.begin(), microbatches);
  return tensor;
}

HostTensor hostResult(const Interface &result, int64_t microbatches) {
  HostTensor tensor{result.dtype, result.shape};
  if (result.combine != "concat")
    return tensor;
  if (tensor.shape.empty())
    tensor.shape.push_back(microbatches);
  else
    tensor.shape[result.batchDim] *= microbatches;
  return tensor;
}

namespace {

const Interface &find(const std::vector<Interface> &list, int64_t position,
                      const char *what) {
  for (const Interface &it : list)
    if (it.position == position)
      return it;
  raise("there is no ", what, " ", position, "; the step has ", list.size());
}

void requireTensor(const sw_tensor &tensor, const HostTensor &expected,
                   const Interface &it, const char *what) {
  if (tensor.dtype != expected.dtype)
    raise(what, " ", it.label(), " has type ", dtypeName(tensor.dtype),
          ", expected ", dtypeName(expected.dtype));
  if (tensor.rank < 0)
    raise(what, " ", it.label(), " has rank ", tensor.rank, ", expected ",
          expected.shape.size());
  if (tensor.rank > 0 && !tensor.shape)
    raise(what, " ", it.label(), " of rank ", tensor.rank,
          " has a null shape, expected ", printShape(expected.shape));
  std::span<const int64_t> shape(tensor.shape, size_t(tensor.rank));
  if (!std::equal(shape.begin(), shape.end(), expected.shape.begin(),
                  expected.shape.end()))
    raise(what, " ", it.label(), " has shape ", printShape(shape),
          ", expected ", printShape(expected.shape));
  if (it.bytes > 0 && !tensor.data)
    raise(what, " ", it.label(), " of shape ", printShape(shape),
          " has null data, expected its elements or room for them");
}

/// Concatenates the slots of all microbatches along the batch dimension.
/// `outer` is the product of the extents before it; the data from it on is
/// contiguous.
void gather(const Interface &result, const Ring &ring, const std::byte *base,
            int64_t microbatches, std::byte *out) {
  int64_t outer = 1;
  for (int64_t i = 0; i < result.batchDim && !result.shape.empty(); ++i)
    outer *= result.shape[i];
  if (outer == 0)
    return;
  int64_t inner = result.bytes / outer;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t m = 0; m < microbatches; ++m)
      std::memcpy(out + (o * microbatches + m) * inner,
                  base + m * ring.stride + o * inner, size_t(inner));
}

} // namespace

size_t findArgument(const HostArenas &arenas, int64_t position,
                    const sw_tensor &tensor) {
  const auto &list = arenas.manifest.arguments;
  const Interface &argument = find(list, position, "argument");
  if (argument.role == "microbatch")
    raise("argument ", argument.label(), " is filled by the runtime");
  requireTensor(tensor, hostArgument(argument, arenas.microbatches), argument,
                "argument");
  return size_t(&argument - list.data());
}

size_t findResult(const HostArenas &arenas, int64_t position,
                  const sw_tensor &tensor) {
  const auto &list = arenas.manifest.results;
  const Interface &result = find(list, position, "result");
  requireTensor(tensor, hostResult(result, arenas.microbatches), result,
                "result");
  return size_t(&result - list.data());
}

void copyIn(const HostArenas &arenas, size_t argument,
            const sw_tensor &tensor) {
  const Manifest &manifest = arenas.manifest;
  auto *data = static_cast<const std::byte *>(tensor.data);
  auto visit = [&](size_t r, size_t b) {
    const Buffer &buffer = manifest.ranks[r].buffers[b];
    const Ring &ring = arenas.layouts[r].buffers[b];
    auto bytes = size_t(buffer.bytes);
    if (bytes == 0 || !arenas.bases[r])
      return;
    std::byte *base = arenas.bases[r] + ring.offset;
    if (buffer.kind != BufferKind::Batch) {
      forRuns(buffer, manifest.arguments[argument],
              [&](int64_t part, int64_t whole, int64_t size) {
                std::memcpy(base + part, data + whole, size_t(size));
              });
      return;
    }
    for (int64_t m = 0; m < arenas.microbatches; ++m)
      std::memcpy(base + m * ring.stride, data + m * bytes, bytes);
  };
  forBuffers(manifest, &Buffer::argument, int64_t(argument), visit);
}

void forRuns(const Buffer &buffer, const Interface &whole,
             const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  if (buffer.slice < 0)
    return visit(0, 0, buffer.bytes);
  int64_t run = buffer.bytes / whole.runs, parts = whole.slices / whole.rows;
  int64_t row = buffer.slice / parts, part = buffer.slice % parts;
  for (int64_t i = 0; i < whole.runs; ++i)
    visit(i * run, ((row * whole.runs + i) * parts + part) * run, run);
}

const std::byte *lastSlot(const HostArenas &arenas, size_t rank,
                          size_t buffer) {
  const Ring &ring = arenas.layouts[rank].buffers[buffer];
  return arenas.bases[rank] + ring.at(arenas.microbatches - 1);
}

void copyOut(const HostArenas &arenas, size_t number, const sw_tensor &tensor) {
  const Manifest &manifest = arenas.manifest;
  const Interface &result = manifest.results[number];
  int64_t count = arenas.microbatches;
  auto *data = static_cast<std::byte *>(tensor.data);
  auto visit = [&](size_t r, size_t b) {
    const Buffer &buffer = manifest.ranks[r].buffers[b];
    const Ring &ring = arenas.layouts[r].buffers[b];
    if (buffer.bytes == 0)
      return;
    if (result.combine == "concat")
      gather(result, ring, arenas.bases[r] + ring.offset, count, data);
    else
      forRuns(buffer, result, [&](int64_t part, int64_t whole, int64_t size) {
        std::memcpy(data + whole, lastSlot(arenas, r, b) + part, size_t(size));
      });
  };
  forBuffers(manifest, &Buffer::result, int64_t(number), visit);
}

void fillMicrobatchNumbers(const HostArenas &arenas) {
  for (size_t r = 0; r < arenas.bases.size(); ++r) {
    const auto &buffers = arenas.manifest.ranks[r].buffers;
    for (size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].kind != BufferKind::Microbatch || !arenas.bases[r])
        continue;
      const Ring &ring = arenas.layouts[r].buffers[b];
      for (int64_t m = 0; m < arenas.microbatches; ++m) // little-endian
        std::memcpy(arenas.bases[r] + ring.offset + m * ring.stride, &m,
                    size_t(buffers[b].bytes));
    }
  }
}

} // namespace stagewright::runtime
