//===- ManifestParts.cpp - interfaces, channels, rows and kernels ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/ManifestParts.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/Limits.h"

#include <algorithm>
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

std::vector<int64_t> integers(const json &object, const char *key, int64_t low,
                              int64_t high) {
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
  if (numbers.size() % 4 != 0 || !it.axes.give(it.shape, it.rows, it.slices))
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

void parseSize(const json &object, RingSize &ring) {
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

/// Appends needs from a list that alternates channels and messages.
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
      raise("malformed manifest: rank ", rank, " is not the ",
            sends ? "sender" : "receiver", " of channel ", numbers[i],
            ", for which it waits");
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

} // namespace stagewright::runtime
