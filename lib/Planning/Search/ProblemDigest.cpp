//===- ProblemDigest.cpp - what the times of plans depend on --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The digest covers everything in a problem on which times depend. It leaves
// out names, data that only other planners use (alternatives, asked stages, a
// fixed plan), and rates from which seconds were computed.
//
//===----------------------------------------------------------------------===//

#include "Search/ChainSpace.h"
#include "stagewright/Support/Text.h"
#include <bit>

namespace stagewright {

namespace {
/// Hashes numbers and lists with their lengths.
class Digest {
public:
  template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void add(Number number) {
    uint64_t bits;
    if constexpr (std::is_floating_point_v<Number>)
      bits = std::bit_cast<uint64_t>(double(number));
    else
      bits = uint64_t(number);
    for (int shift = 0; shift < 64; shift += 8)
      bytes += char(bits >> shift);
  }
  template <typename Unit>
    requires requires(Unit unit) { unit.value; }
  void add(const Unit &unit) {
    add(unit.value);
  }
  template <typename Item> void add(const std::optional<Item> &item) {
    add(item.has_value());
    if (item)
      add(*item);
  }
  template <typename Item> void add(const std::vector<Item> &list) {
    add(list.size());
    for (const Item &item : list)
      add(item);
  }
  void add(const Joint &joint) { all(joint.bandwidth, joint.latency); }
  void add(const Link &link) {
    all(link.from, link.to, link.bandwidth, link.latency);
  }
  void add(const StageTimes &times) {
    all(times.forward, times.inputGradient, times.weightGradient);
  }
  void add(const RecomputeLevel &level) {
    all(level.seconds, level.temporaries, level.sampleTemporaries);
  }
  void add(const Layer &layer) {
    all(layer.times, layer.sliceable, layer.temporaries,
        layer.sampleTemporaries, layer.levels);
  }
  void add(const LayerPhase &phase) {
    all(phase.layer, phase.phase, phase.levels);
  }
  void add(const LayerValue &value) {
    all(value.bytes, value.producer, value.uses, value.transfer);
  }
  void add(const Resident &resident) {
    all(resident.bytes, resident.kind, resident.layers);
  }
  void add(const Device &device) {
    all(device.node, device.memory, device.hostBandwidth);
  }
  template <typename... Parts> void all(const Parts &...parts) {
    (add(parts), ...);
  }
  uint64_t value() const { return fnv1a(bytes); }

private:
  std::string bytes;
};
} // namespace

uint64_t ChainSpace::digest() const {
  Digest digest;
  const CostModel &model = problem.model;
  digest.all(model.overlapAllReduce, model.halfDuplex, model.sharedNics,
             model.optimizerState, model.unevenSlices, model.directSkips,
             model.sharesRings);
  digest.all(problem.shards, problem.forwardOnly, problem.wholeBackward,
             problem.samples, problem.slotAlignment, problem.microbatches,
             problem.stages, maxReplicas, problem.recompute, problem.level,
             problem.offload);
  digest.all(problem.orders, problem.layers, problem.values, problem.residents);
  const Cluster &cluster = problem.cluster;
  digest.all(cluster.devices, classOf, cluster.links, cluster.fabric.inside,
             cluster.fabric.between, cluster.fabric.nic, cluster.fabric.port);
  digest.add(orders);
  return digest.value();
}

} // namespace stagewright
