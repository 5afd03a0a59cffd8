//===- ChainBounds.cpp - bounds and features of part of a plan ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bound of a prefix is planLowerBound() for the stages that are decided:
//   forwards through the earlier stages + M x load
//   + max(all-reduce after the last backward,
//         backwards through the earlier stages),
// and the same for the layers that are left, as if all devices that are left
// shared their work evenly. The load of a stage assumes that its devices are
// always busy, on shares in proportion to their speed.
//
//===----------------------------------------------------------------------===//

#include "Search/ChainSpace.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Max number of prefixes whose sums are cached.
static constexpr size_t kMostMemo = 200'000;
/// Max pairs of devices on both sides of a cut that are looked at one by one.
static constexpr size_t kMostPairs = 4096;

ChainSpace::StageCosts ChainSpace::stageCosts(const Decided &at, size_t end,
                                              size_t count) const {
  size_t first = at.layers;
  // Of the devices together, and of the fastest one alone.
  struct Rates {
    double sum = 0, most = 0;
    void add(double seconds, double devices) {
      double rate = 1 / std::max(seconds, 1e-30);
      sum += devices * rate;
      most = std::max(most, rate);
    }
  } forward, backward, both;
  const auto &counts = classCounts[at.order];
  for (size_t c = 0; c < counts.size(); ++c) {
    auto devices =
        double(counts[c][at.devices + count] - counts[c][at.devices]);
    if (devices == 0)
      continue;
    double there = costs.forward[c][end] - costs.forward[c][first];
    double back = costs.backward[c][end] - costs.backward[c][first];
    forward.add(there, devices);
    backward.add(back, devices);
    both.add(there + back, devices);
  }
  bool turns = takesTurns(first, end);
  StageCosts stage;
  stage.load = 1 / both.sum;
  stage.forward = 1 / (turns ? forward.most : forward.sum);
  stage.backward = 1 / (turns ? backward.most : backward.sum);
  double bytes = costs.gradientBytes[end] - costs.gradientBytes[first];
  if (count > 1 && bytes > 0)
    stage.reduce = allReduceTime(slowestPair(at.order, at.devices, count),
                                 count, Bytes(int64_t(bytes)))
                       .value;
  return stage;
}

SlowestPair ChainSpace::slowestPair(size_t order, size_t from,
                                    size_t count) const {
  std::vector<SlowestPair> &known = pairs[{order, from}];
  if (known.empty())
    known.emplace_back();
  const std::vector<size_t> &list = orders[order];
  while (known.size() < count) {
    SlowestPair slowest = known.back();
    for (size_t i = 0; i < known.size(); ++i)
      slowest.add(network, list[from + i], list[from + known.size()]);
    known.push_back(slowest);
  }
  return known[count - 1];
}

double ChainSpace::secondsPerByte(size_t order, size_t middle, size_t senders,
                                  size_t receivers) const {
  if (senders * receivers > kMostPairs)
    return 0;
  auto [rate, isNew] = rates.try_emplace({order, middle, senders, receivers});
  if (!isNew)
    return rate->second;
  auto device = orders[order].begin() + middle;
  auto seconds = [&](int64_t bytes) {
    return transferTime(network, {device - senders, device},
                        std::vector(senders, 1.0 / double(senders)),
                        {device, device + receivers},
                        std::vector(receivers, 1.0 / double(receivers)),
                        Bytes(bytes))
        .value;
  };
  // A transfer takes a latency, and a time in proportion to its bytes.
  constexpr int64_t kBytes = int64_t(1) << 50;
  return rate->second = (seconds(2 * kBytes) - seconds(kBytes)) / kBytes;
}

double ChainSpace::CutCosts::load(bool halfDuplex) const {
  return halfDuplex ? forward + backward : std::max(forward, backward);
}

ChainSpace::CutCosts ChainSpace::leastCut(size_t cut, size_t links) const {
  if (!knowsTransfers)
    return {};
  const CutTraffic &traffic = costs.cuts[cut];
  double rate = double(links) * network.largestBandwidth();
  return {traffic.forwardBytes / rate, traffic.backwardBytes / rate};
}

ChainSpace::CutCosts ChainSpace::cutCosts(const Decided &at, size_t senders,
                                          size_t receivers, bool turns) const {
  // Replicas that take turns have a link for each pair. If microbatches are
  // sliced, the busiest device sends or receives at least an equal part.
  CutCosts least = leastCut(at.layers, turns ? senders * receivers
                                             : std::min(senders, receivers));
  // Shares are certain only on equal devices to which whole samples can be
  // dealt equally. On others, a device on a slow link may send less.
  bool equal = problem.samples % int64_t(senders) == 0 &&
               problem.samples % int64_t(receivers) == 0 &&
               areEqual(at.order, at.devices - senders, senders + receivers);
  if (turns || !equal || !knowsTransfers)
    return least;
  double rate = secondsPerByte(at.order, at.devices, senders, receivers);
  const CutTraffic &traffic = costs.cuts[at.layers];
  return {std::max(least.forward, rate * traffic.forwardBytes),
          std::max(least.backward, rate * traffic.backwardBytes)};
}

bool ChainSpace::takesTurns(size_t first, size_t end) const {
  return problem.samples == 1 ||
         costs.unsliceable[end] > costs.unsliceable[first];
}

void ChainSpace::raise(Sums &sums, double load, double tail) const {
  sums.bound =
      std::max(sums.bound, sums.fillForward + costs.microbatches * load +
                               std::max(tail, sums.fillBackward));
}

void ChainSpace::addCut(Sums &sums, const CutCosts &cut) const {
  sums.cut = cut.load(costs.halfDuplex);
  raise(sums, sums.cut, 0);
  sums.fillForward += comes ? cut.forward : 0;
  sums.fillBackward += returns ? cut.backward : 0;
}

void ChainSpace::addStage(Sums &sums, size_t end, size_t count) const {
  Decided &at = sums.at;
  bool turns = takesTurns(at.layers, end);
  if (sums.senders > 0)
    addCut(sums, cutCosts(at, sums.senders, count, sums.turns || turns));
  sums.last = stageCosts(at, end, count);
  // The last backward hides part of the sums of gradients. On devices of
  // several classes that part may be longer than the least time of a backward.
  const auto &counts = classCounts[at.order];
  size_t first = orders[at.order][at.devices];
  const std::vector<size_t> &own = counts[classOf[first]];
  bool isOneClass = own[at.devices + count] - own[at.devices] == count;
  double tail = sums.last.reduce;
  if (costs.overlapAllReduce)
    tail = isOneClass ? std::max(0.0, tail - sums.last.backward) : 0;
  raise(sums, sums.last.load, tail);
  sums.fillForward += comes ? sums.last.forward : 0;
  sums.fillBackward += returns ? sums.last.backward : 0;
  ++at.stages;
  at.layers = end;
  at.devices += count;
  sums.senders = count;
  sums.turns = turns;
}

const ChainSpace::Sums &
ChainSpace::sumsOfStages(const Decisions &prefix) const {
  auto known = memo.find(prefix);
  if (known != memo.end())
    return known->second;
  Sums sums;
  if (prefix.size() >= 3) {
    sums = sumsOfStages({prefix.begin(), prefix.end() - 2});
    addStage(sums, size_t(prefix.end()[-2]), size_t(prefix.back()));
  } else if (!prefix.empty()) {
    sums.at.order = size_t(prefix[0]);
  }
  if (memo.size() >= kMostMemo)
    memo.clear();
  return memo.emplace(prefix, sums).first->second;
}

const ChainSpace::Sums &ChainSpace::sums(const Decisions &prefix) const {
  // Features are often asked for after the bound.
  if (!last.second || last.first != prefix)
    last = {prefix, computeSums(prefix)};
  return *last.second;
}

ChainSpace::Sums ChainSpace::computeSums(const Decisions &prefix) const {
  bool isPending = !prefix.empty() && prefix.size() % 2 == 0;
  Sums sums = sumsOfStages({prefix.begin(), prefix.end() - isPending});
  Decided &at = sums.at;
  size_t left = network.size() - at.devices;
  if (at.layers == costs.layers)
    return sums;
  if (sums.senders > 0)
    addCut(sums, leastCut(at.layers, sums.turns || !allSliced
                                         ? sums.senders * left
                                         : std::min(sums.senders, left)));
  if (isPending) {
    at.end = size_t(prefix.back());
    size_t most = mostDevices(at, at.end == costs.layers);
    raise(sums, (leastWork[at.end] - leastWork[at.layers]) / double(most), 0);
  }
  sums.rest = (leastWork.back() - leastWork[at.layers]) / double(left);
  raise(sums, sums.rest, 0);
  return sums;
}

double ChainSpace::bound(const Decisions &prefix) const {
  // The simulator adds times in another order.
  constexpr double kRounding = 1e-9;
  return sums(prefix).bound * (1 - kRounding);
}

size_t ChainSpace::numFeatures() const { return 16; }

std::vector<float> ChainSpace::features(const Decisions &prefix) const {
  const Sums &all = sums(prefix);
  const Decided &at = all.at;
  double devices = double(network.size()), layers = double(costs.layers);
  double left = devices - double(at.devices);
  size_t upTo = at.end > 0 ? at.end : at.layers;
  // Small numbers stay as they are, large ones grow slowly.
  auto ratio = [](double number) { return float(std::log1p(number)); };
  return {
      float(double(at.order) / double(orders.size())),
      float(double(at.layers) / layers),
      float(double(upTo) / layers),
      float(leastWork[upTo] / std::max(leastWork.back(), 1e-30)),
      float(left / devices),
      float(double(at.stages) / devices),
      float(at.end > 0),
      float(at.layers == costs.layers),
      ratio(all.last.load / ideal),
      ratio(all.rest / ideal),
      ratio((all.fillForward + all.fillBackward) / (ideal * devices)),
      ratio(all.bound / (ideal * costs.microbatches)),
      ratio(all.last.reduce / (ideal * costs.microbatches)),
      ratio(all.cut / ideal),
      ratio(leastCut(upTo, 1).load(true) / ideal),
      ratio((leastWork[upTo] - leastWork[at.layers]) / ideal),
  };
}

} // namespace stagewright
