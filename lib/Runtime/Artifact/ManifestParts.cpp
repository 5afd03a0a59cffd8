//===- ManifestParts.cpp - parsers of the parts of a manifest -------------===//
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

#include <algorithm>
#include <functional>
#include <limits>

namespace stagewright::runtime {

static int64_t integerIn(const json &value, const char *key, int64_t low,
                         int64_t high) {
  if (!value.is_number_integer())
    raise("malformed manifest: '", key, "' is not an integer");
  auto number = value.get<int64_t>();
  if (number < low || number > high)
    raise("malformed manifest: '", key, "' is ", number, ", expected ", low,
          " to ", high);
  return number;
}

int64_t integer(const json &object, const char *key, int64_t low,
                int64_t high) {
  return integerIn(object.at(key), key, low, high);
}

static std::vector<int64_t> integers(const json &object, const char *key,
                                     int64_t low, int64_t high) {
  std::vector<int64_t> list;
  for (const json &value : object.at(key))
    list.push_back(integerIn(value, key, low, high));
  return list;
}

std::string string(const json &object, const char *key) {
  return object.at(key).get<std::string>();
}

/// Reads how the axes of a grid split a row of `it`.
static void parseAxes(const std::vector<int64_t> &numbers, Interface &it) {
  it.axes = SliceAxes::of(numbers.data(), numbers.size());
  int64_t slices = it.rows;
  bool isGood = numbers.size() % 4 == 0 && it.slices > 0;
  for (const SliceAxis &axis : it.axes) {
    isGood &= axis.parts > 0 && axis.parts <= it.slices / slices;
    if (!isGood)
      break;
    slices *= axis.parts;
  }
  isGood &= slices == it.slices;
  for (int64_t slice = 0; isGood && slice < it.slicesOfRow(); ++slice)
    isGood = it.sliceBytes(slice) >= 0;
  if (!isGood)
    raise("malformed manifest: the axes of '", it.name, "' of shape ",
          printShape(it.shape), " do not give it ", it.slices, " slices");
}

Interface parseInterface(const json &object, bool isResult) {
  Interface it;
  it.position = integer(object, "position", 0, maxDepth);
  it.name = string(object, "name");
  it.role = string(object, "role");
  if (isResult)
    it.combine = string(object, "combine");
  auto dtype = dtypeFromName(string(object, "dtype"));
  if (!dtype)
    raise("malformed manifest: element type '", string(object, "dtype"),
          "' is unknown");
  it.dtype = *dtype;
  it.shape = object.at("shape").get<std::vector<int64_t>>();
  auto bytes = tensorBytes(it.dtype, it.shape);
  if (!bytes || *bytes > kMostBytes)
    raise("malformed manifest: '", it.name, "' has shape ",
          printShape(it.shape));
  it.bytes = *bytes;
  it.slices = integer(object, "slices", 0, maxDepth);
  // Absent in artifacts of older compilers.
  it.rows = object.contains("rows") ? integer(object, "rows", 1, maxDepth) : 1;
  it.runs =
      object.contains("runs") ? integer(object, "runs", 1, kMostBytes) : 1;
  it.unit =
      dtypeSize(it.dtype) *
      (object.contains("unit") ? integer(object, "unit", 1, kMostBytes) : 1);
  if (it.slices > 0 &&
      (it.shape.empty() || it.slices % it.rows != 0 ||
       it.bytes % it.rows != 0 || it.bytes / it.rows % it.runs != 0 ||
       it.runBytes() % it.unit != 0 ||
       (it.bytes > 0 && it.runBytes() / it.unit < it.slicesOfRow())))
    raise("malformed manifest: '", it.name, "' of shape ", printShape(it.shape),
          " cannot have ", it.slices, " slices");
  if (object.contains("axes"))
    parseAxes(integers(object, "axes", 0, maxDepth), it);
  it.batchDim = integer(object, "batch_dim", 0, 1000);
  if (object.contains("symbol"))
    it.symbol = string(object, "symbol");
  it.averaging = object.value("averaging", false);
  bool joined = isResult && it.combine == "concat" && !it.shape.empty();
  if (joined && it.batchDim >= int64_t(it.shape.size()))
    raise("malformed manifest: '", it.name, "' of shape ", printShape(it.shape),
          " has no dimension ", it.batchDim);
  if (it.role == "gradient" && it.combine == "concat")
    raise("malformed manifest: gradient '", it.name, "' is concatenated");
  return it;
}

static void parseSize(const json &object, RingSize &ring) {
  ring.depth = integer(object, "depth", 1, maxDepth);
  ring.depthAll = object.at("depth_all").get<bool>();
}

Channel parseChannel(const json &object, int64_t ranks) {
  Channel channel;
  parseSize(object, channel);
  channel.name = string(object, "name");
  channel.from = integer(object, "from", 0, ranks - 1);
  channel.to = integer(object, "to", 0, ranks - 1);
  channel.bytes = integer(object, "bytes", 0, kMostBytes);
  // Absent in artifacts of older compilers.
  if (object.contains("round"))
    channel.round = integer(object, "round", 0, 2 * ranks);
  channel.once = object.value("once", false);
  if (object.contains("messages"))
    channel.messages = integer(object, "messages", 1, maxDepth);
  if (channel.from == channel.to)
    raise("malformed manifest: channel '", channel.name, "' joins rank ",
          channel.from, " to itself");
  return channel;
}

RankRates parseFlows(const json &list, int64_t ranks) {
  RankRates rates;
  for (const json &flow : list) {
    int64_t from = integer(flow, "from", 0, ranks - 1),
            to = integer(flow, "to", 0, ranks - 1);
    if (from == to)
      raise("malformed manifest: a flow from rank ", from, " to itself");
    auto rate = flow.at("rate").get<double>();
    if (!(rate > 0))
      raise("malformed manifest: the flow from rank ", from, " to rank ", to,
            " has the rate ", rate, ", expected more than 0");
    if (!rates.insert({{from, to}, rate}).second)
      raise("malformed manifest: two flows from rank ", from, " to rank ", to);
  }
  return rates;
}

/// Appends needs from a list of channels and messages in turn.
static void parseNeeds(const json &list, const std::vector<Channel> &channels,
                       int64_t rank, bool sends, std::vector<Need> &needs) {
  std::vector<int64_t> numbers;
  for (const json &value : list)
    numbers.push_back(
        integerIn(value, sends ? "claims" : "receives", 0, maxDepth));
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    auto channel = size_t(numbers[i]);
    if (channel >= channels.size() ||
        (sends ? channels[channel].from : channels[channel].to) != rank)
      raise("malformed manifest: rank ", rank, " is at no end of channel ",
            numbers[i], ", for which it waits");
    needs.push_back({numbers[i], numbers[i + 1], sends});
  }
  if (numbers.size() % 2 != 0)
    raise("malformed manifest: a channel without a message in what rank ", rank,
          " waits for");
}

std::vector<ReadyRow> parseRows(const json &list,
                                const std::vector<Channel> &channels,
                                int64_t number) {
  std::vector<ReadyRow> rows;
  for (const json &entry : list) {
    ReadyRow row;
    row.name = string(entry, "name");
    int64_t before = rows.empty() ? 0 : rows.back().lane;
    row.lane = integer(entry, "lane", before, before + !rows.empty());
    row.turn = integer(entry, "turn", 0, maxDepth);
    row.after = integers(entry, "after", 0, int64_t(list.size()) - 1);
    parseNeeds(entry.at("receives"), channels, number, false, row.needs);
    parseNeeds(entry.at("claims"), channels, number, true, row.needs);
    rows.push_back(std::move(row));
  }
  return rows;
}

static BufferKind parseKind(const std::string &name) {
  static const std::map<std::string, BufferKind> kinds = {
      {"parameter", BufferKind::Parameter},
      {"constant", BufferKind::Constant},
      {"seed", BufferKind::Seed},
      {"state", BufferKind::State},
      {"batch", BufferKind::Batch},
      {"microbatch", BufferKind::Microbatch},
      {"gradient", BufferKind::Gradient},
      {"accumulator", BufferKind::Accumulator},
      {"output", BufferKind::Output},
      {"stash", BufferKind::Stash},
      {"workspace", BufferKind::Workspace}};
  auto found = kinds.find(name);
  if (found == kinds.end())
    raise("malformed manifest: buffer kind '", name, "' is unknown");
  return found->second;
}

/// The index in `list` of the entry at `position`; -1 for position -1.
static int64_t indexOf(const std::vector<Interface> &list, int64_t position,
                       const std::string &buffer) {
  if (position < 0)
    return -1;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].position == position)
      return int64_t(i);
  raise("malformed manifest: buffer '", buffer, "' belongs to position ",
        position, ", which is not declared");
}

/// A buffer of an argument or result must hold all of it or exactly one
/// slice.
static void checkPart(const Buffer &buffer, const Interface &whole) {
  bool sliced = buffer.slice >= 0;
  if (sliced && buffer.slice >= whole.slices)
    raise("malformed manifest: buffer '", buffer.name, "' is slice ",
          buffer.slice, " of '", whole.name, "', which has ", whole.slices);
  int64_t expected = sliced
                         ? whole.sliceBytes(buffer.slice % whole.slicesOfRow())
                         : whole.bytes;
  if (buffer.bytes != expected)
    raise("malformed manifest: buffer '", buffer.name, "' has ", buffer.bytes,
          " bytes, but its part of '", whole.name, "' has ", expected);
}

std::vector<int64_t> parseStarts(const json &list, const Manifest &manifest) {
  if (!manifest.only)
    raise("malformed manifest: 'starts' of ", list.size(),
          " microbatches in a program for any number");
  std::vector<int64_t> starts;
  for (const json &value : list) {
    int64_t start = value.is_number_integer() ? value.get<int64_t>() : -1;
    if (start < 0 || start > kMostBytes || start % 64 != 0)
      raise("malformed manifest: 'starts' holds ", value.dump(),
            ", expected multiples of 64");
    starts.push_back(start);
  }
  if (starts.empty() || int64_t(starts.size()) > manifest.microbatches)
    raise("malformed manifest: 'starts' of ", starts.size(),
          " microbatches, expected 1 to ", manifest.microbatches);
  return starts;
}

/// Reads what a replica that differs from others has.
static void parseOwn(const json &object, const Manifest &manifest,
                     Buffer &buffer) {
  if (object.contains("own_argument"))
    buffer.ownArgument =
        indexOf(manifest.arguments,
                integer(object, "own_argument", 0, maxDepth), buffer.name);
  if (object.contains("own_result"))
    buffer.ownResult =
        indexOf(manifest.results, integer(object, "own_result", 0, maxDepth),
                buffer.name);
  bool isPair = (buffer.ownArgument < 0) == (buffer.ownResult < 0);
  for (int64_t bytes :
       {buffer.ownArgument < 0
            ? buffer.bytes
            : manifest.arguments[size_t(buffer.ownArgument)].bytes,
        buffer.ownResult < 0
            ? buffer.bytes
            : manifest.results[size_t(buffer.ownResult)].bytes})
    if (bytes != buffer.bytes || !isPair)
      raise("malformed manifest: buffer '", buffer.name, "' has ", buffer.bytes,
            " bytes, what the host reads and sets of it ", bytes);
  buffer.weight = object.value("weight", 0.0);
  bool sums = buffer.weight == 0 ||
              (buffer.result >= 0 &&
               canSum(manifest.results[size_t(buffer.result)].dtype) &&
               buffer.weight > 0 && buffer.weight <= 1);
  if (!sums)
    raise("malformed manifest: buffer '", buffer.name, "' has weight ",
          buffer.weight,
          ", expected more than 0 and at most 1, in a result "
          "that can be summed");
}

/// Reads which microbatches of a result the buffer has.
static void parseTurns(const json &object, const Manifest &manifest,
                       Buffer &buffer) {
  if (!object.contains("period") && !object.contains("turns"))
    return;
  buffer.period = integer(object, "period", 1, maxDepth);
  buffer.turns = integers(object, "turns", 0, buffer.period - 1);
  bool joined = buffer.result >= 0 && buffer.depthAll && buffer.depth == 1 &&
                manifest.results[size_t(buffer.result)].combine == "concat";
  bool isSorted =
      std::adjacent_find(buffer.turns.begin(), buffer.turns.end(),
                         std::greater_equal()) == buffer.turns.end();
  if (!joined || !isSorted || buffer.turns.empty())
    raise("malformed manifest: buffer '", buffer.name, "' has ",
          buffer.turns.size(), " turns of ", buffer.period,
          ", expected some in increasing order, of a result that is joined "
          "from a slot for every microbatch");
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

Buffer parseBuffer(const json &object, const Manifest &manifest,
                   int64_t starts) {
  Buffer buffer;
  parseSize(object, buffer);
  buffer.name = string(object, "name");
  buffer.kind = parseKind(string(object, "kind"));
  buffer.bytes = integer(object, "bytes", 0, kMostBytes);
  buffer.slice = integer(object, "slice", -1, maxDepth);
  if (object.contains("place"))
    buffer.place = integer(object, "place", -1, kMostBytes);
  if (buffer.place >= 0 && (buffer.kind != BufferKind::Stash ||
                            buffer.depthAll || buffer.place % 64 != 0))
    raise("malformed manifest: buffer '", buffer.name, "' has place ",
          buffer.place,
          ", but is not a stash of a fixed depth at a multiple of 64");
  if (object.contains("starts"))
    buffer.starts = integer(object, "starts", -1, starts - 1);
  if (buffer.starts >= 0 && buffer.place < 0)
    raise("malformed manifest: buffer '", buffer.name,
          "' has starts, but no place in the workspace");
  buffer.onHost = object.value("on_host", false);
  if (buffer.onHost && (buffer.kind != BufferKind::Stash || buffer.place >= 0))
    raise("malformed manifest: buffer '", buffer.name,
          "' lies on the host, but is not a stash with memory of its own");
  buffer.argument =
      indexOf(manifest.arguments, integer(object, "argument", -1, maxDepth),
              buffer.name);
  buffer.result = indexOf(manifest.results,
                          integer(object, "result", -1, maxDepth), buffer.name);

  parseOwn(object, manifest, buffer);
  parseTurns(object, manifest, buffer);

  // Kind and role must agree: the kind determines how the host's array is read,
  // the role its size.
  std::string kind = string(object, "kind");
  if (buffer.argument >= 0 && kind != manifest.arguments[buffer.argument].role)
    raise("malformed manifest: buffer '", buffer.name, "' of kind '", kind,
          "' belongs to argument ", manifest.arguments[buffer.argument].label(),
          " of role '", manifest.arguments[buffer.argument].role, "'");
  // An optimizer updates parameters and state in place.
  bool replaced = buffer.argument >= 0 && buffer.result >= 0 &&
                  (kind == "parameter" || kind == "state") &&
                  manifest.results[buffer.result].role == kind;
  if (buffer.result >= 0 && buffer.kind <= BufferKind::Microbatch && !replaced)
    raise("malformed manifest: buffer '", buffer.name, "' of kind '", kind,
          "' belongs to result ", manifest.results[buffer.result].label());
  if (buffer.result >= 0 && buffer.slice >= 0 &&
      manifest.results[buffer.result].combine == "concat")
    raise("malformed manifest: buffer '", buffer.name, "' is slice ",
          buffer.slice, " of result ", manifest.results[buffer.result].label(),
          ", which is concatenated");

  switch (buffer.kind) {
  case BufferKind::Parameter:
  case BufferKind::Constant:
  case BufferKind::Seed:
  case BufferKind::State:
  case BufferKind::Batch:
    if (buffer.argument < 0)
      raise("malformed manifest: buffer '", buffer.name,
            "' holds an argument, but names none");
    checkPart(buffer, manifest.arguments[buffer.argument]);
    break;
  case BufferKind::Microbatch:
    if (buffer.bytes != 4 && buffer.bytes != 8)
      raise("malformed manifest: buffer '", buffer.name,
            "' of microbatch numbers has ", buffer.bytes,
            " bytes, expected 4 or 8");
    break;
  default:
    if (buffer.result >= 0)
      checkPart(buffer, manifest.results[buffer.result]);
  }
  return buffer;
}

static void parseExtents(const json &list, const char *key,
                         int64_t (&extents)[3]) {
  if (!list.is_array() || list.size() != 3)
    raise("malformed manifest: '", key, "' is not a list of 3 extents");
  for (size_t i = 0; i < 3; ++i) {
    if (!list[i].is_number_integer())
      raise("malformed manifest: '", key, "' holds ", list[i].dump());
    extents[i] = list[i].get<int64_t>();
    if (extents[i] < 1 || extents[i] >= int64_t(1) << 31)
      raise("malformed manifest: '", key, "' holds ", extents[i],
            ", expected 1 to 2147483647");
  }
}

Kernel parseKernel(const json &object) {
  constexpr int64_t maxThreads = 1024, maxShared = 232448;
  Kernel kernel;
  kernel.name = string(object, "name");
  parseExtents(object.at("grid"), "grid", kernel.grid);
  parseExtents(object.at("block"), "block", kernel.block);
  kernel.shared = integer(object, "shared", 0, maxShared);
  kernel.arguments = integer(object, "arguments", 0, Kernel::maxArguments);
  if (object.contains("form")) {
    kernel.form = string(object, "form");
    kernel.read = integer(object, "read", 0, kMostBytes);
    kernel.written = integer(object, "written", 0, kMostBytes);
    kernel.flops =
        integer(object, "flops", 0, std::numeric_limits<int64_t>::max());
  }
  if (object.contains("bytes")) {
    kernel.bytes = integers(object, "bytes", 0, kMostBytes);
    // The last argument of a kernel with sums is the bit set, not a sum.
    kernel.sums = integers(object, "sums", 0, kernel.arguments - 2);
    if (int64_t(kernel.bytes.size()) != kernel.arguments)
      raise("malformed manifest: kernel '", kernel.name, "' has bytes of ",
            kernel.bytes.size(), " arguments, but takes ", kernel.arguments);
    if (object.contains("adds"))
      kernel.adds = integers(object, "adds", 0, kernel.arguments - 2);
    if (kernel.sums.size() + kernel.adds.size() > SW_SUMS_MOST)
      raise("malformed manifest: kernel '", kernel.name, "' has ",
            kernel.sums.size() + kernel.adds.size(), " sums, expected at most ",
            int64_t(SW_SUMS_MOST));
  }
  kernel.mean = object.value("mean", false);
  auto count = std::find(kernel.bytes.begin(), kernel.bytes.end(), 0);
  if (kernel.mean && (kernel.arguments < 2 || count == kernel.bytes.end()))
    raise("malformed manifest: kernel '", kernel.name, "' makes a mean of ",
          kernel.arguments,
          " arguments, expected arrays with bytes and a count");
  if (kernel.grid[1] > 65535 || kernel.grid[2] > 65535)
    raise("malformed manifest: kernel '", kernel.name, "' has a grid of ",
          printShape(kernel.grid), ", expected at most 65535 after the first");
  if (kernel.block[0] > maxThreads || kernel.block[1] > maxThreads ||
      kernel.block[0] * kernel.block[1] * kernel.block[2] > maxThreads)
    raise("malformed manifest: kernel '", kernel.name, "' has a block of ",
          printShape(kernel.block), ", expected at most 1024 threads");
  return kernel;
}

/// Sets the bucket of a gather, of `ranks` parts: a slot of a stash.
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

} // namespace stagewright::runtime
