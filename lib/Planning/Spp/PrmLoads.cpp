//===- PrmLoads.cpp - loads of intervals on one block ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/PrmLoads.h"
#include "FitShares.h"
#include <algorithm>
#include <bit>

namespace stagewright {

PrmLoads::PrmLoads(const Problem &problem, const ChainCosts &costs,
                   const PrmBlocks &blocks, const PrmOptions &options)
    : problem(problem), costs(costs), blocks(blocks), options(options),
      microbatches(costs.microbatches), work(costs.layers + 1),
      fills(costs.layers + 1), classOf(problem.cluster.classOfDevices()) {}

void PrmLoads::select(const PrmBlock &block) {
  width = block.width;
  deviceClass = block.deviceClass;
  const std::vector<double> &forward = costs.forward[deviceClass];
  const std::vector<double> &backward = costs.backward[deviceClass];
  double share = block.share;
  double part = costs.allTurns() ? 1 : share; // Of a replica's microbatch.
  double weighted = options.fillWeight * part;
  double fillF = options.fillForward ? weighted : 0;
  double fillB = options.fillBackward ? weighted : 0;
  for (size_t l = 0; l <= costs.layers; ++l) {
    work[l] = share * (forward[l] + backward[l]);
    fills[l] = fillF * forward[l] + fillB * backward[l];
  }
  hasTurns = width > 1 && costs.unsliceable.back() > 0;
  turnScale = microbatches * block.turnShare / share;
  forwardShare = share;
  selectTail(block);
  if (options.memory)
    selectRooms(block);
}

void PrmLoads::selectTail(const PrmBlock &block) {
  hasTail = options.countTail && width > 1 &&
            (block.reducePerByte > 0 || block.reduceLatency > 0) &&
            costs.gradientBytes.back() > 0;
  if (!hasTail)
    return;
  size_t layers = costs.layers;
  reduceLatency = block.reduceLatency;
  double latency = costs.overlapAllReduce ? reduceLatency : 0;
  reduced.resize(layers + 1);
  running.resize(layers + 1);
  for (size_t l = 0; l <= layers; ++l) {
    reduced[l] = block.reducePerByte * costs.gradientBytes[l] +
                 latency * costs.gradientLayers[l];
    running[l] =
        (costs.allTurns() ? 1 : block.share) * costs.backward[deviceClass][l];
  }
  if (!costs.overlapAllReduce)
    return;
  size_t levels = std::bit_width(layers);
  late.resize(levels);
  late[0].resize(layers);
  for (size_t l = 0; l < layers; ++l)
    late[0][l] = reduced[l + 1] - running[l];
  for (size_t k = 1; k < levels; ++k) {
    size_t half = size_t(1) << (k - 1);
    late[k].resize(layers - 2 * half + 1);
    for (size_t l = 0; l < late[k].size(); ++l)
      late[k][l] = std::max(late[k - 1][l], late[k - 1][l + half]);
  }
}

/// Sets the limits of the block: one Room for each distinct pair of share and
/// memory.
void PrmLoads::selectRooms(const PrmBlock &block) {
  std::vector<Room> rooms;
  std::vector<double> seconds;
  hostBandwidth = std::numeric_limits<double>::infinity();
  size_t end = blocks.order.empty() ? block.start : block.start + block.width;
  for (size_t p = block.start; p < end; ++p)
    seconds.push_back(costs.total(classOf[blocks.order[p]]));
  std::vector<double> shares =
      sharesOf(seconds, problem.model, problem.samples);
  unequal.clear();
  shared.clear();
  slowest = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const Device &device =
        problem.cluster.devices[blocks.order[block.start + i]];
    unequal.push_back({seconds[i], device.memory.value + options.extraMemory});
    slowest = std::max(slowest, shares[i] * seconds[i]);
    rooms.push_back({shares[i], device.memory.value + options.extraMemory});
    hostBandwidth = std::min(hostBandwidth,
                             device.hostBandwidth.value_or(Bandwidth(0)).value);
  }
  bool areEqual = std::all_of(unequal.begin(), unequal.end(),
                              [&](const auto &d) { return d == unequal[0]; });
  if (areEqual || !problem.model.unevenSlices ||
      problem.samples < int64_t(width))
    unequal.clear();
  std::sort(rooms.begin(), rooms.end());
  rooms.erase(std::unique(rooms.begin(), rooms.end()), rooms.end());
  limits = &options.memory->limits(rooms, hasTurns);
}

int64_t PrmLoads::inFlight(size_t l, size_t l2, int64_t fromEnd) const {
  if (problem.forwardOnly)
    return 0;
  // Assumes that the stages after this one have as many replicas.
  int64_t own = inTurn(l, l2) ? int64_t(width) : 1;
  return inFlightInTurn(options.memoryOrder, fromEnd * own, own,
                        problem.microbatches);
}

double PrmLoads::again(size_t l, size_t l2, int64_t fromEnd) const {
  for (int64_t level = 1; level <= options.memory->mostLevels(); ++level) {
    if (!fits(l, l2, fromEnd, level))
      continue;
    // Only as many whole layers as needed go up from the level below.
    auto missing = [&](int64_t number) {
      return limits->missing(l, l2, number, inTurn(l, l2),
                             inFlight(l, l2, fromEnd));
    };
    double before = missing(level - 1), after = missing(level);
    double layers = double(l2 - l);
    double part =
        before > after
            ? std::min(1.0,
                       std::ceil(layers * before / (before - after)) / layers)
            : 1.0;
    auto seconds = [&](int64_t number) {
      const std::vector<double> &sum = costs.again[deviceClass][number];
      return sum[l2] - sum[l];
    };
    return seconds(level - 1) + part * (seconds(level) - seconds(level - 1));
  }
  return std::numeric_limits<double>::infinity();
}

/// Seconds of a microbatch that offloading adds: copies overlap with the
/// backward, so only what exceeds it counts.
double PrmLoads::offloading(size_t l, size_t l2, int64_t fromEnd) const {
  int64_t form = options.memory->offloadForm();
  if (form < 0 || hostBandwidth == 0 || !fits(l, l2, fromEnd, form))
    return std::numeric_limits<double>::infinity();
  const std::vector<double> &backward = costs.backward[deviceClass];
  return std::max(0.0, double(options.memory->at(l, l2, form).offloaded) /
                               hostBandwidth -
                           (backward[l2] - backward[l]));
}

double PrmLoads::sharing(size_t l, size_t l2, int64_t fromEnd,
                         int64_t form) const {
  double none = std::numeric_limits<double>::infinity();
  if (unequal.empty() || inTurn(l, l2) || !(slowest > 0))
    return none;
  int64_t kept = inFlight(l, l2, fromEnd);
  auto [found, isNew] =
      shared.try_emplace({int64_t(l), int64_t(l2), kept, form});
  if (isNew)
    found->second = computeSharing(l, l2, kept, form);
  return found->second;
}

double PrmLoads::computeSharing(size_t l, size_t l2, int64_t kept,
                                int64_t form) const {
  const StageMemory &memory = options.memory->at(l, l2, form);
  int64_t samples = problem.samples;
  std::map<int64_t, int64_t> most; // Samples, by memory of a device.
  std::vector<ReplicaRoom> rooms;
  for (auto [seconds, bytes] : unequal) {
    auto [fitting, isNew] = most.try_emplace(bytes);
    if (isNew)
      fitting->second = mostSamples(samples, [&, own = bytes](int64_t count) {
        double share = double(count) / double(samples);
        return memory.with(kept, problem.microbatches, share).value <= own;
      });
    rooms.push_back({seconds, fitting->second});
  }
  std::optional<std::vector<int64_t>> rows = dealSamples(rooms, samples);
  if (!rows)
    return std::numeric_limits<double>::infinity();
  double last = 0;
  for (size_t i = 0; i < rooms.size(); ++i)
    last = std::max(last, double((*rows)[i]) * rooms[i].seconds);
  return std::max(1.0, last / double(samples) / slowest);
}

/// Seconds that short memory adds to the load: 0, the cheapest of offloading,
/// recomputing and other shares of the replicas, or infinity if the stage does
/// not fit.
double PrmLoads::excess(size_t l, size_t l2, int64_t fromEnd) const {
  if (fits(l, l2, fromEnd, 0))
    return 0;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double least = costs.forwardOnly ? kNone : offloading(l, l2, fromEnd);
  double once = (work[l2] - work[l]) / forwardShare;
  auto withShares = [&](int64_t form, double recomputed) {
    double longer = sharing(l, l2, fromEnd, form);
    return std::isinf(longer) ? kNone : (once + recomputed) * longer - once;
  };
  least = std::min(least, withShares(0, 0));
  if (problem.recompute && !costs.forwardOnly) {
    double seconds = again(l, l2, fromEnd);
    const std::vector<double> &forward = costs.forward[deviceClass];
    double whole = forward[l2] - forward[l];
    if (std::isinf(seconds) &&
        fits(l, l2, fromEnd, options.memory->wholeForm()))
      seconds = whole;
    least = std::min(least, seconds);
    if (std::isinf(least)) {
      int64_t highest = options.memory->mostLevels();
      const std::vector<double> &again = costs.again[deviceClass][highest];
      least = std::min(withShares(highest, again[l2] - again[l]),
                       withShares(options.memory->wholeForm(), whole));
    }
  }
  return microbatches * forwardShare * least;
}

} // namespace stagewright
