//===- PrmBlocks.cpp - blocks of a device list ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/PrmBlocks.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace stagewright {

namespace {
/// Fills the blocks of one device list.
class Builder {
public:
  Builder(const Problem &problem, const Network &network,
          const ChainCosts &costs, PrmBlocks &result, bool byHost, size_t only);

  void addBlocks();
  void addPairs();

private:
  bool isOffered(size_t start, size_t width) const;
  void addBlock(size_t start, size_t width, double bandwidth, double latency);
  void setShare(PrmBlock &block);
  PrmPair pairOf(size_t from, size_t to) const;
  double linkTime(size_t from, size_t to) const;
  double shareOf(size_t block, size_t begin, size_t end) const;
  double nicTime(size_t from, size_t to) const;
  double latencyOf(const PrmBlock &from, const PrmBlock &to) const;
  size_t at(size_t place) const { return result.order[place]; }
  double share(size_t block, size_t place) const {
    const std::vector<double> &uneven = shares[block];
    const PrmBlock &b = result.blocks[block];
    return uneven.empty() ? b.share : uneven[place - b.start];
  }

  bool byHost;
  size_t only;
  const Problem &problem;
  const Network &network;
  const ChainCosts &costs;
  PrmBlocks &result;
  size_t count;
  std::vector<size_t> classOf;   ///< By place.
  std::vector<size_t> hostBegin; ///< By place: where its host's run begins.
  std::vector<size_t> hostEnd;   ///< By place: where its host's run ends.
  std::vector<size_t> runOf;     ///< By place: number of its host's run.
  std::vector<double> secondsPerByte;      ///< [u][p]: sum to places [0, p).
  std::vector<std::vector<double>> shares; ///< By block; empty: all equal.
  double leastLatency = kInfinity, mostLatency = 0;
};
} // namespace

Builder::Builder(const Problem &problem, const Network &network,
                 const ChainCosts &costs, PrmBlocks &result, bool byHost,
                 size_t only)
    : byHost(byHost || result.order.size() > kMostDevicesOfAllRuns), only(only),
      problem(problem), network(network), costs(costs), result(result),
      count(result.order.size()) {
  std::vector<size_t> classes = problem.cluster.classOfDevices();
  hostBegin.assign(count, 0);
  hostEnd.assign(count, count);
  runOf.assign(count, 0);
  for (size_t p = 0; p < count; ++p) {
    classOf.push_back(classes[at(p)]);
    bool same = p > 0 && network.hostOf(at(p)) == network.hostOf(at(p - 1));
    hostBegin[p] = same ? hostBegin[p - 1] : p;
    runOf[p] = p == 0 ? 0 : runOf[p - 1] + !same;
  }
  for (size_t p = count - 1; p-- > 0;)
    hostEnd[p] = hostBegin[p + 1] == p + 1 ? p + 1 : hostEnd[p + 1];
  secondsPerByte.assign(count * (count + 1), 0);
  for (size_t u = 0; u < count; ++u)
    for (size_t v = 0; v < count; ++v) {
      double *sums = secondsPerByte.data() + u * (count + 1);
      sums[v + 1] =
          sums[v] + (u == v ? 0 : 1 / network.bandwidth(at(u), at(v)));
      if (u == v)
        continue;
      leastLatency = std::min(leastLatency, network.latency(at(u), at(v)));
      mostLatency = std::max(mostLatency, network.latency(at(u), at(v)));
    }
}

/// Whether `number` is at most 16, or no bit below its four highest is set.
static bool isStep(size_t number) {
  if (number <= 16)
    return true;
  size_t unit = 1;
  while (number / unit >= 16)
    unit *= 2;
  return number % unit == 0;
}

bool Builder::isOffered(size_t start, size_t width) const {
  if (width > result.maxWidth)
    return false;
  if (only > 0)
    return width == only && start % only == 0;
  auto isAsked = [&](const AskedStage &stage) {
    return stage.replicas == int64_t(width);
  };
  if (!byHost || width == count ||
      std::any_of(problem.askedStages.begin(), problem.askedStages.end(),
                  isAsked))
    return true;
  size_t end = start + width;
  if (end <= hostEnd[start]) {
    bool isPowerOfTwo = (width & (width - 1)) == 0;
    if ((isPowerOfTwo && (start - hostBegin[start]) % width == 0))
      return true;
  }
  return hostBegin[start] == start && hostEnd[end - 1] == end &&
         isStep(runOf[end - 1] - runOf[start] + 1);
}

/// Goes through the places from the last. The slowest link inside the run
/// [p, p + w) is that of [p + 1, p + w) or a link of p.
void Builder::addBlocks() {
  std::vector<double> slowest(count + 1, kInfinity), latest(count + 1, 0);
  for (size_t start = count; start-- > 0;) {
    double own = kInfinity, late = 0;
    std::vector<double> nextSlowest(count + 1, kInfinity),
        nextLatest(count + 1, 0);
    for (size_t width = 1; start + width <= count; ++width) {
      if (width > 1) {
        size_t u = at(start), v = at(start + width - 1);
        own = std::min(own, network.bandwidth(u, v));
        late = std::max(late, network.latency(u, v));
        nextSlowest[width] = std::min(own, slowest[width - 1]);
        nextLatest[width] = std::max(late, latest[width - 1]);
      }
      if (isOffered(start, width))
        addBlock(start, width, nextSlowest[width], nextLatest[width]);
    }
    slowest.swap(nextSlowest);
    latest.swap(nextLatest);
  }
}

void Builder::addBlock(size_t start, size_t width, double bandwidth,
                       double latency) {
  PrmBlock block;
  block.used = count - start;
  block.width = width;
  block.start = start;
  if (width > 1) {
    double steps = 2 * double(width - 1);
    block.reducePerByte = steps / double(width) / bandwidth;
    block.reduceLatency = steps * latency;
  }
  shares.emplace_back();
  setShare(block);
  result.blocks.push_back(block);
}

void Builder::setShare(PrmBlock &block) {
  size_t end = block.start + block.width;
  bool isEven =
      std::all_of(classOf.begin() + block.start, classOf.begin() + end,
                  [&](size_t c) { return c == classOf[block.start]; });
  block.deviceClass = classOf[block.start];
  block.turnShare =
      std::ceil(costs.microbatches / double(block.width)) / costs.microbatches;
  if (isEven && problem.samples <= 1) {
    block.share = 1 / double(block.width);
    return;
  }
  std::vector<double> seconds;
  for (size_t p = block.start; p < end; ++p)
    seconds.push_back(costs.total(classOf[p]));
  std::vector<double> parts = sharesOf(seconds, problem.model, problem.samples);
  size_t slowest = 0;
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i] * seconds[i] > parts[slowest] * seconds[slowest])
      slowest = i;
  block.share = parts[slowest];
  block.deviceClass = classOf[block.start + slowest];
  block.turnShare *= *std::max_element(seconds.begin(), seconds.end()) /
                     std::max(seconds[slowest], 1e-300);
  shares.back() = std::move(parts);
}

/// Seconds per byte of a microbatch over the links of single devices, max over
/// senders and receivers.
double Builder::linkTime(size_t from, size_t to) const {
  const PrmBlock &a = result.blocks[from], &b = result.blocks[to];
  size_t aEnd = a.start + a.width, bEnd = b.start + b.width;
  double most = 0;
  if (shares[from].empty() && shares[to].empty()) {
    for (size_t u = a.start; u < aEnd; ++u) {
      const double *sums = secondsPerByte.data() + u * (count + 1);
      most = std::max(most, sums[bEnd] - sums[b.start]);
    }
    for (size_t v = b.start; v < bEnd; ++v) {
      const double *sums = secondsPerByte.data() + v * (count + 1);
      most = std::max(most, sums[aEnd] - sums[a.start]);
    }
    return most * a.share * b.share;
  }
  std::vector<double> received(b.width, 0);
  for (size_t u = a.start; u < aEnd; ++u) {
    double sent = 0;
    for (size_t v = b.start; v < bEnd; ++v) {
      double time =
          share(from, u) * share(to, v) / network.bandwidth(at(u), at(v));
      sent += time;
      received[v - b.start] += time;
    }
    most = std::max(most, sent);
  }
  return std::max(most, *std::max_element(received.begin(), received.end()));
}

/// The part of a microbatch that `block` has on the places [begin, end).
double Builder::shareOf(size_t block, size_t begin, size_t end) const {
  const PrmBlock &b = result.blocks[block];
  begin = std::max(begin, b.start);
  end = std::min(end, b.start + b.width);
  if (begin >= end)
    return 0;
  if (shares[block].empty())
    return double(end - begin) * b.share;
  return std::accumulate(shares[block].begin() + (begin - b.start),
                         shares[block].begin() + (end - b.start), 0.0);
}

/// Seconds per byte of a microbatch over the NICs of hosts, max over hosts.
/// Assumes that the devices of a host are consecutive in the list; where they
/// are not, the result is too small.
double Builder::nicTime(size_t from, size_t to) const {
  double most = 0;
  for (auto [self, other] : {std::pair(from, to), std::pair(to, from)}) {
    const PrmBlock &block = result.blocks[self];
    double whole = shareOf(other, 0, count);
    for (size_t p = block.start; p < block.start + block.width;
         p = hostEnd[p]) {
      double nic = network.nic(network.hostOf(at(p)));
      if (std::isinf(nic))
        continue;
      double mine = shareOf(self, hostBegin[p], hostEnd[p]);
      double inside = shareOf(other, hostBegin[p], hostEnd[p]);
      most = std::max(most, mine * (whole - inside) / nic);
    }
  }
  return most;
}

double Builder::latencyOf(const PrmBlock &from, const PrmBlock &to) const {
  if (leastLatency >= mostLatency)
    return mostLatency;
  double most = 0;
  // On a large cluster the first device of each host represents all.
  bool isLarge = count > kMostDevicesOfAllRuns;
  for (size_t u = from.start; u < from.start + from.width;
       u = isLarge ? hostEnd[u] : u + 1)
    for (size_t v = to.start; v < to.start + to.width;
         v = isLarge ? hostEnd[v] : v + 1)
      most = std::max(most, network.latency(at(u), at(v)));
  return most;
}

PrmPair Builder::pairOf(size_t from, size_t to) const {
  return {std::max(linkTime(from, to), nicTime(from, to)),
          latencyOf(result.blocks[from], result.blocks[to])};
}

void Builder::addPairs() {
  std::vector<size_t> beginOf(count + 2, 0); // By devices used.
  for (const PrmBlock &block : result.blocks)
    ++beginOf[block.used + 1];
  for (size_t used = 1; used <= count + 1; ++used)
    beginOf[used] += beginOf[used - 1];
  for (size_t b = 0; b < result.blocks.size(); ++b) {
    PrmBlock &block = result.blocks[b];
    size_t rest = block.used - block.width;
    block.nextBegin = beginOf[rest];
    block.nextEnd = beginOf[rest + 1];
    block.pairBegin = result.pairs.size();
    for (size_t next = block.nextBegin; next < block.nextEnd; ++next)
      result.pairs.push_back(pairOf(b, next));
  }
}

PrmBlocks::PrmBlocks(const Problem &problem, const Network &network,
                     const ChainCosts &costs, std::vector<size_t> list,
                     bool byHost, size_t only)
    : devices(list.size()), order(std::move(list)), maxWidth(devices) {
  if (problem.maxReplicas > 0)
    maxWidth = std::min(maxWidth, size_t(problem.maxReplicas));
  Builder builder(problem, network, costs, *this, byHost, only);
  builder.addBlocks();
  builder.addPairs();
}

} // namespace stagewright
