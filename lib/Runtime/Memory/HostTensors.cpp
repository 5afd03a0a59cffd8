//===- HostTensors.cpp - copies of tensors to and from arenas -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/HostTensors.h"

#include "DType.h"
#include "Sum.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
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

size_t findResult(const Manifest &manifest, int64_t position) {
  return size_t(&find(manifest.results, position, "result") -
                manifest.results.data());
}

size_t findResult(const Manifest &manifest, int64_t microbatches,
                  int64_t position, const sw_tensor &tensor) {
  size_t number = findResult(manifest, position);
  const Interface &result = manifest.results[number];
  requireTensor(tensor, hostResult(result, microbatches), result, "result");
  return number;
}

int64_t Strip::before(int64_t end) const {
  if (end <= whole)
    return 0;
  int64_t distance = end - whole;
  return std::min(distance / stride * run + std::min(distance % stride, run),
                  bytes());
}

namespace {
/// Collects runs of bytes of a tensor, in ascending order, as few strips.
class StripBuilder {
public:
  explicit StripBuilder(int64_t at) : at(at) {}

  void add(int64_t whole, int64_t size) {
    if (size == 0)
      return;
    if (last.run > 0 && last.whole + last.run == whole) {
      last.run += size;
      return;
    }
    flush();
    last = {0, whole, size, 1, size};
  }
  std::vector<Strip> finish() {
    flush();
    return std::move(strips);
  }

private:
  /// Adds `last` as the next run of the newest strip, or as a new strip.
  void flush() {
    if (last.run == 0)
      return;
    Strip *before = strips.empty() ? nullptr : &strips.back();
    bool isNext = before && before->run == last.run;
    if (isNext && before->runs == 1)
      before->stride = last.whole - before->whole;
    if (isNext && last.whole == before->whole + before->runs * before->stride) {
      ++before->runs;
    } else {
      last.at = at;
      strips.push_back(last);
    }
    at += last.run;
    last = {};
  }

  int64_t at;
  Strip last{};
  std::vector<Strip> strips;
};
} // namespace

/// The strips of slice `number` of row `row` of a tensor that is sliced along
/// several axes. For each axis in turn, the strips of the axes before are cut
/// to the part of the slice along this axis. `at`: the offset of the slice in
/// the buffer.
static std::vector<Strip> stripsOfSlice(const Interface &whole, int64_t row,
                                        int64_t number, int64_t at) {
  std::vector<int64_t> shape = whole.rowShape();
  int64_t bytes = whole.bytes / whole.rows;
  std::vector<Strip> strips = {{0, row * bytes, bytes, 1, bytes}};
  for (size_t i = 0; i < whole.axes.size(); ++i) {
    const SliceAxis &axis = whole.axes[i];
    int64_t &size = shape[size_t(axis.dim)], chunk = size / axis.outer;
    int64_t part = whole.axes.partOf(number, i);
    int64_t begin = axis.start(chunk, part), end = axis.start(chunk, part + 1);
    int64_t runs = axis.outer;
    for (int64_t dim = 0; dim < axis.dim; ++dim)
      runs *= shape[size_t(dim)];
    int64_t run = bytes / runs, index = run / chunk; // Bytes.
    StripBuilder built(i + 1 == whole.axes.size() ? at : 0);
    size_t strip = 0;   // The one that has the next byte.
    int64_t before = 0; // Bytes of the strips before it.
    for (int64_t r = 0; r < runs; ++r) {
      int64_t from = r * run + begin * index, to = r * run + end * index;
      while (from < to) {
        while (from >= before + strips[strip].bytes())
          before += strips[strip++].bytes();
        int64_t until = std::min(to, before + strips[strip].bytes());
        forRuns(strips[strip], from - before, until - before,
                [&](int64_t, int64_t place, int64_t length) {
                  built.add(place, length);
                });
        from = until;
      }
    }
    bytes = bytes / chunk * (end - begin);
    size = axis.outer * (end - begin);
    strips = built.finish();
  }
  return strips;
}

std::vector<Strip> stripsOf(const Buffer &buffer, const Ring &ring,
                            const Interface &whole, int64_t microbatches) {
  if (buffer.bytes == 0)
    return {};
  bool joined = whole.combine == "concat";
  if (joined || buffer.kind == BufferKind::Batch) {
    // The extents before the batch dimension repeat what follows them.
    int64_t outer = 1;
    for (int64_t i = 0; joined && i < whole.batchDim && !whole.shape.empty();
         ++i)
      outer *= whole.shape[i];
    int64_t inner = buffer.bytes / outer;
    std::vector<Strip> strips;
    for (int64_t m = 0; m < microbatches; ++m)
      if (buffer.has(m))
        strips.push_back(
            {m * ring.stride, m * inner, inner, outer, microbatches * inner});
    return strips;
  }
  int64_t at = ring.at(microbatches - 1) - ring.offset;
  if (buffer.slice < 0)
    return {{at, 0, buffer.bytes, 1, buffer.bytes}};
  int64_t row = buffer.slice / whole.slicesOfRow();
  if (!whole.axes.empty())
    return stripsOfSlice(whole, row, buffer.slice % whole.slicesOfRow(), at);
  int64_t start = whole.runStart(buffer.slice % whole.slicesOfRow());
  return {{at, row * whole.runs * whole.runBytes() + start,
           buffer.bytes / whole.runs, whole.runs, whole.runBytes()}};
}

/// `buffer` as the host sees it: if it is one rank's `own` state, it is a whole
/// tensor and no slice.
static Buffer alone(Buffer buffer, bool own) {
  if (own)
    buffer.slice = -1, buffer.weight = 0;
  return buffer;
}

void forArgument(const HostArenas &arenas, size_t argument,
                 const FillBuffer &fill) {
  const Manifest &manifest = arenas.manifest;
  bool own = false;
  auto visit = [&](size_t r, size_t b) {
    fill(r, b,
         stripsOf(alone(manifest.ranks[r].buffers[b], own),
                  arenas.layouts[r].buffers[b], manifest.arguments[argument],
                  arenas.microbatches));
  };
  forBuffers(manifest, &Buffer::argument, int64_t(argument), visit);
  own = true;
  forBuffers(manifest, &Buffer::ownArgument, int64_t(argument), visit);
}

void copyIn(const HostArenas &arenas, size_t argument,
            const sw_tensor &tensor) {
  auto *data = static_cast<const std::byte *>(tensor.data);
  forArgument(arenas, argument, [&](size_t r, size_t b, const auto &strips) {
    if (!arenas.bases[r])
      return;
    std::byte *base = arenas.bases[r] + arenas.layouts[r].buffers[b].offset;
    for (const Strip &strip : strips)
      forRuns(strip, 0, strip.bytes(),
              [&](int64_t part, int64_t whole, int64_t size) {
                std::memcpy(base + strip.at + part, data + whole, size_t(size));
              });
  });
}

ReadBuffer readerOf(const HostArenas &arenas) {
  return [&arenas](size_t rank, size_t buffer, int64_t at, int64_t) {
    return arenas.bases[rank] + arenas.layouts[rank].buffers[buffer].offset +
           at;
  };
}

void BufferPart::copyOut(ByteRange range, const std::byte *data,
                         std::byte *to) const {
  for (const Strip &strip : strips)
    forRuns(strip, strip.before(range.begin), strip.before(range.end),
            [&](int64_t part, int64_t whole, int64_t size) {
              std::byte *sum = to + whole - range.begin;
              const std::byte *from = data + strip.at + part - at;
              if (weight == 0) {
                std::memcpy(sum, from, size_t(size));
                return;
              }
              Term terms[] = {{1, sum}, {weight, from}};
              weightedSum(dtype, sum, terms, size / dtypeSize(dtype));
            });
}

/// The offsets in a buffer that `strip` has of `range`.
static ByteRange placeOf(const Strip &strip, ByteRange range) {
  return {strip.at + strip.before(range.begin),
          strip.at + strip.before(range.end)};
}

void forParts(const HostArenas &arenas, size_t result, ByteRange range,
              const std::function<void(const BufferPart &)> &visit) {
  bool own = false;
  const Interface &whole = arenas.manifest.results[result];
  auto inBuffer = [&](size_t r, size_t b) {
    Buffer seen = alone(arenas.manifest.ranks[r].buffers[b], own);
    std::vector<Strip> strips = stripsOf(seen, arenas.layouts[r].buffers[b],
                                         whole, arenas.microbatches);
    // The slots of a replica that takes microbatches in turn are not adjacent:
    // those of the other replicas' microbatches lie between them.
    int64_t stride = arenas.layouts[r].buffers[b].stride;
    auto follows = [&](const Strip &strip, const Strip &before) {
      return strip.at == before.at + stride ||
             strip.at == before.at + before.bytes();
    };
    ByteRange span = {INT64_MAX, 0};
    for (const Strip &strip : strips)
      if (ByteRange own = placeOf(strip, range); own.begin < own.end)
        span = {std::min(span.begin, own.begin), std::max(span.end, own.end)};
    bool isSmall = span.end - span.begin <= pieceBytes;
    size_t end = 0;
    for (size_t i = 0; i < strips.size(); i = end) {
      ByteRange all = placeOf(strips[i], range);
      for (end = i + 1;
           end < strips.size() && follows(strips[end], strips[end - 1]);
           ++end) {
        ByteRange own = placeOf(strips[end], range);
        if (own.begin == own.end)
          continue;
        bool isFirst = all.begin == all.end;
        ByteRange joined = {isFirst ? own.begin : all.begin, own.end};
        // Bytes between that are not of the range may be many.
        if ((!isSmall && !isFirst && own.begin != all.end) ||
            joined.end - joined.begin > pieceBytes)
          break;
        all = joined;
      }
      if (all.begin < all.end)
        visit({r, b, all.begin, all.end - all.begin,
               std::span(strips).subspan(i, end - i), seen.weight,
               whole.dtype});
    }
  };
  forBuffers(arenas.manifest, &Buffer::result, int64_t(result), inBuffer);
  own = true;
  forBuffers(arenas.manifest, &Buffer::ownResult, int64_t(result), inBuffer);
}

void copyOut(const HostArenas &arenas, size_t result, ByteRange range,
             std::byte *to, const ReadBuffer &read) {
  forParts(arenas, result, range, [&](const BufferPart &it) {
    it.copyOut(range, read(it.rank, it.buffer, it.at, it.bytes), to);
  });
}

void fillMicrobatchNumbers(const HostArenas &arenas) {
  for (size_t r = 0; r < arenas.bases.size(); ++r) {
    const auto &buffers = arenas.manifest.ranks[r].buffers;
    for (size_t b = 0; b < buffers.size(); ++b) {
      const Ring &ring = arenas.layouts[r].buffers[b];
      if (buffers[b].kind == BufferKind::Microbatch && arenas.bases[r])
        fillMicrobatchNumbers(arenas.bases[r] + ring.offset, buffers[b], ring,
                              arenas.microbatches);
    }
  }
}

void fillMicrobatchNumbers(std::byte *base, const Buffer &buffer,
                           const Ring &ring, int64_t microbatches) {
  for (int64_t m = 0; m < microbatches; ++m) // little-endian
    std::memcpy(base + m * ring.stride, &m, size_t(buffer.bytes));
}

} // namespace stagewright::runtime
