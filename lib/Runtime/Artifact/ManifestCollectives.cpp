//===- ManifestCollectives.cpp - sums, gathers and averages of a manifest -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/ManifestParts.h"

#include "DType.h"
#include "Sum.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/Limits.h"

namespace stagewright::runtime {

/// Sets the bucket of a gather over `ranks` ranks: a slot of a stash.
static void parseSlot(const json &object, const Buffer &buffer,
                      const Collective &of, int64_t ranks, Bucket &bucket) {
  bucket.slot = object.value("slot", int64_t(0));
  int64_t parts = of.exchanges ? 2 * ranks : ranks;
  if (buffer.kind != BufferKind::Stash || bucket.count != 1 || buffer.onHost ||
      buffer.starts >= 0 || buffer.depthAll || bucket.slot < 0 ||
      bucket.slot >= buffer.depth || buffer.bytes != parts * of.bytes())
    raise("malformed manifest: ", of.describe(), " has ", parts, " parts of ",
          of.bytes(), " bytes, and no slot for them in buffer '", buffer.name,
          "' on rank ", bucket.rank);
}

/// A bucket must be as long as the buckets of all other ranks.
static Bucket parseBucket(const json &object, const Manifest &manifest,
                          const Collective &of, size_t ranks) {
  Bucket bucket;
  bucket.rank = integer(object, "rank", 0, int64_t(manifest.ranks.size()) - 1);
  const auto &buffers = manifest.ranks[size_t(bucket.rank)].buffers;
  bucket.first = integer(object, "first", 0, int64_t(buffers.size()) - 1);
  bucket.count =
      integer(object, "buffers", 1, int64_t(buffers.size()) - bucket.first);
  if (of.gathers) {
    parseSlot(object, buffers[size_t(bucket.first)], of, int64_t(ranks),
              bucket);
    return bucket;
  }
  int64_t bytes = 0;
  for (int64_t i = 0; i < bucket.count; ++i) {
    const Buffer &buffer = buffers[size_t(bucket.first + i)];
    if (buffer.kind != BufferKind::Gradient &&
        buffer.kind != BufferKind::Accumulator &&
        buffer.kind != BufferKind::State)
      raise("malformed manifest: collective '", of.name, "' sums buffer '",
            buffer.name, "', which is not a gradient, accumulator or state");
    bytes += (buffer.bytes + 63) / 64 * 64;
  }
  if (bytes != of.bytes())
    raise("malformed manifest: collective '", of.name, "' has ", bytes,
          " bytes on rank ", bucket.rank, " and ", of.elements,
          " elements of type ", dtypeName(of.dtype));
  return bucket;
}

Collective parseCollective(const json &object, const Manifest &manifest) {
  Collective it;
  it.name = string(object, "name");
  it.gathers = object.value("gathers", false);
  it.exchanges = object.value("exchanges", false);
  if (it.exchanges && !it.gathers)
    raise("malformed manifest: collective '", it.name,
          "' exchanges parts that it does not gather");
  auto dtype = dtypeFromName(string(object, "dtype"));
  if (!dtype || (!it.gathers && !canSum(*dtype)))
    raise("malformed manifest: collective '", it.name, "' sums elements of '",
          string(object, "dtype"), "'");
  it.dtype = *dtype;
  it.elements = integer(object, "elements", 0, kMostBytes / 8);
  if (it.gathers && (it.elements == 0 || it.bytes() % 64 != 0))
    raise("malformed manifest: ", it.describe(), " has parts of ", it.bytes(),
          " bytes, expected a multiple of 64");
  const json &buckets = object.at("buckets");
  if (buckets.size() > manifest.ranks.size())
    raise("malformed manifest: collective '", it.name, "' has ", buckets.size(),
          " ranks of ", manifest.ranks.size());
  for (const json &bucket : buckets) {
    it.buckets.push_back(parseBucket(bucket, manifest, it, buckets.size()));
    size_t count = it.buckets.size();
    if (count > 1 && it.buckets[count - 2].rank >= it.buckets[count - 1].rank)
      raise("malformed manifest: the ranks of collective '", it.name,
            "' do not increase");
  }
  if (it.buckets.size() < 2)
    raise("malformed manifest: collective '", it.name, "' has ",
          it.buckets.size(), " ranks, expected 2 or more");
  return it;
}

Averaging parseAveraging(const json &object, const RankManifest &rank) {
  Averaging it;
  it.collective = integer(object, "collective", 0, maxDepth);
  it.every = integer(object, "every", 1, maxDepth);
  it.delay = integer(object, "delay", 0, it.every);
  it.xi = object.at("xi").get<double>();
  it.weight = object.at("weight").get<double>();
  if (!(it.xi >= 0 && it.xi <= 1) || !(it.weight > 0 && it.weight <= 1))
    raise("malformed manifest: an average with xi ", it.xi, " and weight ",
          it.weight);
  it.corrected = object.at("corrected").get<bool>();
  it.turns = integer(object, "turns", 1, maxDepth);
  int64_t last = int64_t(rank.buffers.size()) - 1;
  it.step = integer(object, "step", 0, last);
  it.sum = integer(object, "sum", 0, last);
  it.snapshot = integer(object, "snapshot", -1, last);
  it.parameters = integers(object, "parameters", 0, last);
  int64_t bytes = 0;
  for (int64_t parameter : it.parameters)
    bytes += (rank.buffers[size_t(parameter)].bytes + 63) / 64 * 64;
  auto bytesOf = [&](int64_t buffer) {
    return rank.buffers[size_t(buffer)].bytes;
  };
  bool needs = it.corrected && it.delay > 0;
  if (bytesOf(it.sum) != bytes || bytesOf(it.step) != 8 ||
      needs != (it.snapshot >= 0) || (needs && bytesOf(it.snapshot) != bytes))
    raise("malformed manifest: an average of ", bytes, " bytes has a sum of ",
          bytesOf(it.sum), " bytes, a count of steps of ", bytesOf(it.step),
          needs ? " and needs a snapshot of the same size"
                : " and needs no snapshot");
  return it;
}

} // namespace stagewright::runtime
