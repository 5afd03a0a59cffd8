//===- Manifest.cpp - the manifest of an artifact -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/Manifest.h"

#include "Artifact/ManifestParts.h"
#include "DType.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/Limits.h"

#include <algorithm>
#include <map>
#include <set>

namespace stagewright::runtime {

namespace {

/// Version 2 added starts of stashes; 3 stashes on the host; 4 ranks that
/// choose what they run, and replicas that average their parameters; 5 results
/// of which several ranks own microbatches in turn; 6 gathers; 7 arguments and
/// results that are split along the axes of a grid.
constexpr int64_t manifestVersion = 7;

RankManifest parseRank(const json &object, const Manifest &manifest) {
  RankManifest rank;
  rank.device = string(object, "device");
  rank.entry = string(object, "entry");
  if (object.contains("host"))
    rank.host = integer(object, "host", 0, maxDepth);
  rank.stages = object.at("stages").get<std::vector<int64_t>>();
  rank.nodes = object.at("nodes").get<std::vector<std::string>>();
  // Version 1 has no starts.
  for (const json &list : object.value("starts", json::array()))
    rank.starts.push_back(parseStarts(list, manifest));
  for (const json &buffer : object.at("buffers"))
    rank.buffers.push_back(
        parseBuffer(buffer, manifest, int64_t(rank.starts.size())));
  for (const json &average : object.value("averages", json::array()))
    rank.averages.push_back(parseAveraging(average, rank));
  const json &memory = object.at("memory");
  rank.arena = integer(memory, "arena", 0, kMostBytes);
  rank.livePeak = integer(memory, "live_peak", 0, kMostBytes);
  if (object.contains("rows") && !manifest.only)
    raise("malformed manifest: 'rows' in a program for any number of "
          "microbatches");
  if (object.contains("rows"))
    rank.rows = parseRows(object.at("rows"), manifest.channels,
                          int64_t(manifest.ranks.size()));
  return rank;
}

/// Numbers (`id`, `rank`) must count up from 0: they are used as indices.
void checkNumbers(const json &list, const char *key) {
  for (size_t i = 0; i < list.size(); ++i)
    if (integer(list[i], key, 0, maxDepth) != int64_t(i))
      raise("malformed manifest: '", key, "' is ", list[i].at(key),
            ", expected ", i);
}

/// If several ranks own the microbatches of `result` in turn, checks that every
/// turn has exactly one owner. `turns` are the buffers of these ranks.
void checkTurns(const Interface &result,
                const std::vector<const Buffer *> &turns) {
  std::set<int64_t> seen;
  for (const Buffer *buffer : turns) {
    if (buffer->period != turns[0]->period)
      raise("malformed manifest: result ", result.label(), " has turns of ",
            turns[0]->period, " and of ", buffer->period);
    for (int64_t turn : buffer->turns)
      if (!seen.insert(turn).second)
        raise("malformed manifest: two ranks have turn ", turn, " of result ",
              result.label());
  }
  if (!turns.empty() && int64_t(seen.size()) != turns[0]->period)
    raise("malformed manifest: ranks have ", seen.size(), " of ",
          turns[0]->period, " turns of result ", result.label());
}

/// Every result, or else every slice or turn of it, must have exactly one
/// owner, or several with weights: then it is their weighted sum.
void checkOwners(const Manifest &manifest) {
  std::map<std::pair<int64_t, int64_t>, size_t> owner;
  std::vector<std::vector<const Buffer *>> turns(manifest.results.size());
  for (size_t r = 0; r < manifest.ranks.size(); ++r)
    for (const Buffer &buffer : manifest.ranks[r].buffers) {
      if (buffer.ownResult >= 0)
        owner.insert({{buffer.ownResult, -1}, r});
      if (buffer.result < 0)
        continue;
      std::vector<const Buffer *> &others = turns[size_t(buffer.result)];
      auto [it, added] = owner.insert({{buffer.result, buffer.slice}, r});
      bool inTurn = buffer.period > 0 && !others.empty();
      if (buffer.period > 0)
        others.push_back(&buffer);
      if (!added && buffer.weight == 0 && !inTurn)
        raise("malformed manifest: result ",
              manifest.results[buffer.result].label(), " is owned by rank ",
              it->second, " and by rank ", r);
    }
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const Interface &result = manifest.results[i];
    bool whole = owner.count({i, -1});
    int64_t parts = 0;
    for (int64_t slice = 0; slice < result.slices; ++slice)
      parts += owner.count({i, slice});
    if (!whole && (result.slices == 0 || parts != result.slices))
      raise("malformed manifest: no rank owns result ", result.label(),
            result.slices ? " completely" : "");
    checkTurns(result, turns[i]);
  }
}

/// Marks the results that are averaged over replicas, and the sums that average
/// them.
void markAverages(Manifest &manifest) {
  for (RankManifest &rank : manifest.ranks) {
    for (const Buffer &buffer : rank.buffers)
      if (buffer.weight > 0)
        manifest.results[size_t(buffer.result)].averaged = true;
    for (Averaging &average : rank.averages) {
      if (average.collective >= int64_t(manifest.collectives.size()))
        raise("malformed manifest: collective ", average.collective,
              " of an average does not exist");
      Collective &sum = manifest.collectives[size_t(average.collective)];
      if (sum.gathers)
        raise("malformed manifest: an average of ", sum.describe());
      sum.carried = true;
      average.dtype = sum.dtype;
    }
  }
}

void checkPositions(const std::vector<Interface> &list, const char *what) {
  std::set<int64_t> seen;
  for (const Interface &it : list)
    if (!seen.insert(it.position).second)
      raise("malformed manifest: two ", what, "s have position ", it.position);
}

ProcessorManifest parseProcessor(const json &object) {
  return {object.at("features").get<std::vector<std::string>>(),
          object.value("suffix", std::string())};
}

Manifest parse(std::string_view text) {
  json root = json::parse(text);
  integer(root, "stagewright", 1, manifestVersion);

  Manifest manifest;
  manifest.name = string(root, "name");
  manifest.schedule = string(root, "schedule");
  manifest.microbatches = integer(root, "microbatches", 1, maxDepth);
  manifest.only = root.value("only", false);
  const json &target = root.at("target");
  manifest.triple = string(target, "triple");
  manifest.processors.push_back(parseProcessor(target));
  for (const json &other : target.value("others", json::array()))
    manifest.processors.push_back(parseProcessor(other));
  if (std::string kind = target.value("kind", "host"); kind == "cuda") {
    manifest.cuda = true;
    manifest.architectures =
        target.at("architectures").get<std::vector<std::string>>();
    manifest.ptx = target.value("ptx", std::vector<std::string>());
    for (const json &object : root.at("kernels"))
      manifest.kernels.push_back(parseKernel(object));
    for (const json &object : root.value("constants", json::array()))
      manifest.constants.push_back(
          {string(object, "symbol"), integer(object, "bytes", 0, maxDepth)});
  } else if (kind != "host")
    raise("malformed manifest: target kind '", kind, "' is unknown");
  manifest.libraries = root.at("libraries").get<std::vector<std::string>>();

  for (const json &object : root.at("arguments"))
    manifest.arguments.push_back(parseInterface(object, false));
  for (const json &object : root.at("results"))
    manifest.results.push_back(parseInterface(object, true));
  checkPositions(manifest.arguments, "argument");
  checkPositions(manifest.results, "result");

  const json &ranks = root.at("ranks");
  if (ranks.empty() || ranks.size() > 4096)
    raise("malformed manifest: ", ranks.size(), " ranks, expected 1 to 4096");
  for (const json &object : root.at("channels"))
    manifest.channels.push_back(parseChannel(object, int64_t(ranks.size())));
  if (root.contains("flows"))
    manifest.flows = parseFlows(root.at("flows"), int64_t(ranks.size()));
  checkNumbers(root.at("channels"), "id");
  checkNumbers(ranks, "rank");
  for (const json &object : ranks) {
    checkNumbers(object.at("buffers"), "id");
    manifest.ranks.push_back(parseRank(object, manifest));
  }
  checkOwners(manifest);
  // Absent if there are no sums and no gathers.
  if (root.contains("collectives")) {
    checkNumbers(root.at("collectives"), "id");
    for (const json &object : root.at("collectives"))
      manifest.collectives.push_back(parseCollective(object, manifest));
  }
  markAverages(manifest);
  return manifest;
}

} // namespace

std::string Interface::label() const {
  return std::to_string(position) + " ('" + name + "')";
}

int64_t Interface::runStart(int64_t number) const {
  return partStart(runBytes(), unit, slicesOfRow(), number);
}

std::vector<int64_t> Interface::rowShape() const {
  std::vector<int64_t> row = shape;
  if (!row.empty())
    row.front() /= rows;
  return row;
}

int64_t Interface::sliceBytes(int64_t number) const {
  if (axes.empty())
    return runs * (runStart(number + 1) - runStart(number));
  std::vector<int64_t> own = axes.shapeOf(rowShape(), number);
  return own.empty() ? -1 : *tensorBytes(dtype, own);
}

int64_t Collective::bytes() const { return elements * dtypeSize(dtype); }

std::string Collective::describe() const {
  return (exchanges ? "exchange '"
          : gathers ? "gather '"
                    : "sum '") +
         name + "'";
}

std::string Collective::describe(int64_t m) const {
  return "microbatch " + std::to_string(m) + " of " + describe();
}

std::string Collective::others(int64_t rank) const {
  std::string text = buckets.size() == 2 ? "rank" : "ranks";
  size_t left = buckets.size() - 1;
  for (const Bucket &bucket : buckets)
    if (bucket.rank != rank)
      text += (left + 1 == buckets.size() ? " "
               : left == 1                ? " and "
                                          : ", ") +
              std::to_string(bucket.rank),
          --left;
  return text;
}

size_t Collective::placeOf(int64_t rank) const {
  for (size_t i = 0; i < buckets.size(); ++i)
    if (buckets[i].rank == rank)
      return i;
  raise("rank ", rank, " is not a rank of collective '", name, "'");
}

const Collective &Manifest::collective(int64_t number) const {
  if (number < 0 || size_t(number) >= collectives.size())
    raise("collective ", number, " does not exist");
  return collectives[size_t(number)];
}

const Channel &Manifest::channelAt(int64_t rank, int64_t number, bool sender,
                                   int64_t m, int64_t microbatches) const {
  if (number < 0 || size_t(number) >= channels.size())
    raise("channel ", number, " does not exist");
  const Channel &channel = channels[size_t(number)];
  int64_t owner = sender ? channel.from : channel.to;
  if (rank != owner)
    raise("channel '", channel.name, "' belongs to rank ", owner,
          " at this end");
  if (int64_t count = channel.count(microbatches); m < 0 || m >= count)
    raise(channel.describe(m), " is not one of ", count);
  return channel;
}

const std::string &RankManifest::node(int64_t number) const {
  if (number < 0 || size_t(number) >= nodes.size())
    raise("node ", number, " does not exist");
  return nodes[size_t(number)];
}

int64_t RingSize::slots(int64_t microbatches) const {
  return depthAll ? (microbatches + depth - 1) / depth
                  : std::min(depth, microbatches);
}

int64_t Channel::slots(int64_t microbatches) const {
  return RingSize::slots(count(microbatches));
}

int64_t Channel::count(int64_t microbatches) const {
  return messages ? messages : once ? 1 : microbatches;
}

std::string Channel::which(int64_t m) const {
  return (messages ? "message " : "microbatch ") + std::to_string(m);
}

std::string Channel::describe(int64_t m) const {
  return which(m) + " of channel '" + name + "'";
}

Manifest parseManifest(std::string_view text) {
  try {
    return parse(text);
  } catch (const json::exception &error) {
    raise("malformed manifest: ", error.what());
  }
}

} // namespace stagewright::runtime
