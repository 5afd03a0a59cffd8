//===- GangProblem.cpp - shards of layers as one device -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/GangProblem.h"
#include "Gangs/GangCluster.h"
#include "Placed/RankMemory.h"
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace stagewright {

namespace {
/// Forward, input gradient and weight gradient.
constexpr size_t kPhases = 3;

size_t numberOf(ActionKind phase) {
  return phase == ActionKind::Forward         ? 0
         : phase == ActionKind::InputGradient ? 1
                                              : 2;
}

/// The members of GangProblems.
enum class GangTimes { Most, Least, Compute };

/// Builds the problem of the gangs.
class Builder {
public:
  Builder(const Problem &fine, const Network &network,
          const ShardedLayers &sharded, GangTimes kind)
      : fine(fine), network(network), sharded(sharded), kind(kind),
        ways(sharded.ways), gangs(gangCluster(fine.cluster, network, ways,
                                              kind != GangTimes::Most)) {}

  Problem build();

private:
  /// What a device of a gang does in one level.
  struct Cell {
    size_t level, shard;
  };
  size_t at(const Cell &cell) const { return cell.level * ways + cell.shard; }
  /// The max of `locals` in [first, end).
  Bytes localOf(size_t first, size_t end) const {
    auto most = std::max_element(locals.begin() + int64_t(first),
                                 locals.begin() + int64_t(end));
    return Bytes(kind == GangTimes::Most ? *most : 0);
  }
  const ShardedLayers::Place &placeOf(int64_t layer) const {
    return sharded.places[size_t(layer)];
  }
  /// The layer of the gang that has `layer`.
  int64_t layerOf(int64_t layer) const { return ofLevel[placeOf(layer).level]; }

  void chooseShard();
  void collectMessages();
  void addLayers();
  double waitOf(const Cell &cell, size_t phase) const;
  double secondsOf(size_t level, size_t phase, const std::vector<size_t> &own,
                   int64_t recompute) const;
  uint32_t levelsOf(const LayerPhase &use) const;
  void collectLocals();
  void addWholeLevel(Layer &layer, size_t first, size_t end) const;
  std::vector<Bytes> ringsOf() const;
  void addRings();
  void readAgain();
  /// The level at which a layer of the gang repeats its whole forward; none if
  /// no level does.
  std::optional<size_t> wholeLevel(int64_t layer) const;
  bool addUse(LayerValue &own, const LayerPhase &use);
  void addValues();
  void addResidents();

  const Problem &fine;
  const Network &network;
  const ShardedLayers &sharded;
  GangTimes kind;
  size_t ways;
  GangCluster gangs;
  std::vector<int64_t> ofLevel;            ///< By level: the layer of the gang.
  std::vector<std::vector<int64_t>> cells; ///< By level and shard: its layers.
  /// By phase, level and shard: bytes from each shard.
  std::vector<std::vector<int64_t>> messages[kPhases];
  /// By level: bytes that the chosen shard passes from level to level of the
  /// same action and that exist while this level runs.
  std::vector<int64_t> locals;
  std::vector<std::optional<size_t>> wholes; ///< wholeLevel() by layer.
  std::vector<Layer> again; ///< The layers of ShardedLayers::again, if any.
  std::vector<Bytes> againRings; ///< Their ringsOf().
  size_t chosen = 0; ///< The shard whose bytes count: it holds the most.
  Problem result;
};
} // namespace

/// Chooses the shard that holds the most parameters, gradients and inputs.
void Builder::chooseShard() {
  std::vector<int64_t> bytes(ways, 0);
  for (const Resident &resident : fine.residents) {
    std::vector<bool> has(ways, false);
    for (int64_t layer : resident.layers)
      has[placeOf(layer).shard] = true;
    for (size_t shard = 0; shard < ways; ++shard)
      bytes[shard] += has[shard] ? resident.bytes.value : 0;
  }
  chosen = size_t(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

/// Adds up what each device gets from the others of its gang.
void Builder::collectMessages() {
  for (auto &ofPhase : messages)
    ofPhase.assign(cells.size(), std::vector<int64_t>(ways, 0));
  for (const LayerValue &value : fine.values) {
    auto [from, sender] = placeOf(value.producer.layer);
    std::vector<bool> isSent(ways, false);
    for (const LayerPhase &use : value.uses) {
      auto [to, shard] = placeOf(use.layer);
      if (shard == sender || isSent[shard] ||
          use.phase != value.producer.phase || !use.isAt(0))
        continue;
      bool isForward = use.phase == ActionKind::Forward;
      bool isNext = isForward ? from + 1 == to : to + 1 == from;
      if (kind == GangTimes::Least && !isNext)
        continue;
      isSent[shard] = true;
      messages[numberOf(use.phase)][at({to, shard})][sender] +=
          value.bytes.value;
    }
  }
}

/// Adds up, by level, what the chosen shard makes in one level and reads in
/// another one of the same action: it exists from the first to the last.
void Builder::collectLocals() {
  std::vector<int64_t> ofPhase[kPhases];
  for (std::vector<int64_t> &bytes : ofPhase)
    bytes.resize(ofLevel.size(), 0);
  for (const LayerValue &value : fine.values) {
    auto [from, sender] = placeOf(value.producer.layer);
    if (sender != chosen)
      continue;
    size_t first = from, last = from;
    bool isKept = false; // Counted in the stash of the layer.
    for (const LayerPhase &use : value.uses) {
      auto [to, shard] = placeOf(use.layer);
      if (shard != chosen)
        continue;
      isKept |= use.phase != value.producer.phase;
      first = std::min(first, to);
      last = std::max(last, to);
    }
    if (!isKept && first < last)
      for (size_t level = first; level <= last; ++level)
        ofPhase[numberOf(value.producer.phase)][level] +=
            fine.slotOf(value.bytes).value;
  }
  locals.assign(ofLevel.size(), 0);
  for (const std::vector<int64_t> &bytes : ofPhase)
    for (size_t level = 0; level < locals.size(); ++level)
      locals[level] = std::max(locals[level], bytes[level]);
}

/// Seconds that a device waits for messages before it runs `phase` of a level:
/// the most or the least of all gangs.
double Builder::waitOf(const Cell &cell, size_t phase) const {
  if (kind == GangTimes::Compute)
    return 0;
  bool isMost = kind == GangTimes::Most;
  double wait = isMost ? 0 : std::numeric_limits<double>::infinity();
  for (size_t gang : gangs.distinct) {
    double own =
        waitInGang(network, gang, cell.shard, messages[phase][at(cell)],
                   {!isMost, fine.model.sharedNics});
    wait = isMost ? std::max(wait, own) : std::min(wait, own);
  }
  return wait;
}

/// Seconds of `phase` of a level on a gang whose devices have classes `own`, or
/// of its recomputation at a level above 0.
double Builder::secondsOf(size_t level, size_t phase,
                          const std::vector<size_t> &own,
                          int64_t recompute) const {
  bool isMost = kind == GangTimes::Most;
  double all = isMost ? 0 : std::numeric_limits<double>::infinity();
  for (size_t shard = 0; shard < ways; ++shard) {
    double seconds = recompute ? 0 : waitOf({level, shard}, phase);
    for (int64_t number : cells[at({level, shard})]) {
      const Layer &layer = fine.layers[size_t(number)];
      const StageTimes &times = layer.times[own[shard]];
      int64_t again = std::min(recompute, int64_t(layer.levels.size()));
      seconds += (recompute    ? layer.again(again, own[shard])
                  : phase == 0 ? times.forward
                  : phase == 1 ? times.inputGradient
                               : times.weightGradient)
                     .value;
    }
    all = isMost ? std::max(all, seconds) : std::min(all, seconds);
  }
  return all;
}

/// Raises the temporaries of `again`, a level of a gang's layer, to at least
/// those of `own` at `level`.
static void addTemporaries(const Layer &own, int64_t level,
                           RecomputeLevel &again) {
  level = std::min(level, int64_t(own.levels.size()));
  auto add = [](Bytes bytes, Bytes &most) { most = std::max(most, bytes); };
  if (level == 0) {
    add(own.temporaries, again.temporaries);
    return add(own.sampleTemporaries, again.sampleTemporaries);
  }
  add(own.levels[size_t(level) - 1].temporaries, again.temporaries);
  add(own.levels[size_t(level) - 1].sampleTemporaries, again.sampleTemporaries);
}

void Builder::addLayers() {
  size_t level = 0;
  for (size_t end : sharded.ends) {
    Layer layer;
    layer.times.resize(gangs.classes.size());
    layer.sliceable = false;
    size_t recompute = 0;
    RecomputeLevel kept;
    for (; level < end; ++level) {
      for (size_t shard = 0; shard < ways; ++shard)
        for (int64_t number : cells[at({level, shard})]) {
          const Layer &own = fine.layers[size_t(number)];
          if (layer.name.empty())
            layer.name = own.name;
          addTemporaries(own, 0, kept);
          recompute = std::max(recompute, own.levels.size());
        }
      for (size_t c = 0; c < gangs.classes.size(); ++c) {
        StageTimes &times = layer.times[c];
        times.forward += Seconds(secondsOf(level, 0, gangs.classes[c], 0));
        times.inputGradient +=
            Seconds(secondsOf(level, 1, gangs.classes[c], 0));
        times.weightGradient +=
            Seconds(secondsOf(level, 2, gangs.classes[c], 0));
      }
    }
    size_t first =
        result.layers.empty() ? 0 : sharded.ends[result.layers.size() - 1];
    Bytes local = localOf(first, end);
    layer.temporaries = kept.temporaries + local;
    layer.sampleTemporaries = kept.sampleTemporaries + local;
    for (int64_t k = 1; k <= int64_t(recompute); ++k) {
      RecomputeLevel &again = layer.levels.emplace_back();
      for (size_t l = first * ways; l < end * ways; ++l)
        for (int64_t number : cells[l])
          addTemporaries(fine.layers[size_t(number)], k, again);
      again.temporaries += local;
      again.sampleTemporaries += local;
      for (const std::vector<size_t> &own : gangs.classes) {
        Seconds &seconds = again.seconds.emplace_back();
        for (size_t l = first; l < end; ++l)
          seconds += Seconds(secondsOf(l, 1, own, k));
      }
    }
    if (sharded.repeats && !fine.forwardOnly && recompute + 2 <= kMostLevels)
      addWholeLevel(layer, first, end);
    result.layers.push_back(std::move(layer));
  }
}

/// Adds the recomputation level at which the levels [first, end) of the shards
/// run again, with their messages. addValues() adds the bytes that they then
/// hold.
void Builder::addWholeLevel(Layer &layer, size_t first, size_t end) const {
  RecomputeLevel repeated{{}, layer.temporaries, layer.sampleTemporaries};
  if (!again.empty()) {
    size_t number = result.layers.size();
    const Layer &own = again[number];
    // addRings() adds the rings.
    Bytes rings = kind == GangTimes::Most ? againRings[number] : Bytes();
    repeated.temporaries =
        std::max(repeated.temporaries, own.temporaries - rings);
    repeated.sampleTemporaries =
        std::max(repeated.sampleTemporaries, own.sampleTemporaries - rings);
  }
  for (const std::vector<size_t> &own : gangs.classes) {
    Seconds &seconds = repeated.seconds.emplace_back();
    if (!again.empty()) {
      size_t number = result.layers.size(), c = repeated.seconds.size() - 1;
      seconds = std::max(seconds, again[number].times[c].inputGradient -
                                      layer.times[c].inputGradient);
      continue;
    }
    for (size_t level = first; level < end; ++level)
      seconds += Seconds(secondsOf(level, 0, own, 0));
  }
  layer.levels.push_back(std::move(repeated));
}

/// By layer: bytes of the rings of messages between shards. All levels of a
/// device share them (RankMemory::add()), so the level that gets the most
/// counts.
std::vector<Bytes> Builder::ringsOf() const {
  std::vector<double> received(ofLevel.size(), 0);
  for (const LayerValue &value : fine.values) {
    if (placeOf(value.producer.layer).shard == chosen)
      continue;
    std::set<size_t> levels;
    for (const LayerPhase &use : value.uses)
      if (placeOf(use.layer).shard == chosen && use.isAt(0) &&
          use.phase == value.producer.phase)
        levels.insert(placeOf(use.layer).level);
    for (size_t level : levels)
      received[level] += double(fine.slotOf(value.bytes).value);
  }
  std::vector<Bytes> rings(sharded.ends.size());
  for (size_t level = 0; level < ofLevel.size(); ++level) {
    Bytes &own = rings[size_t(ofLevel[level])];
    double bytes = double(kSharedSlots) * received[level];
    own = std::max(own, Bytes(int64_t(std::min(bytes, 0x1p60))));
  }
  return rings;
}

/// Adds the rings to the temporaries, which all layers of a device share too.
void Builder::addRings() {
  if (kind != GangTimes::Most)
    return;
  std::vector<Bytes> rings = ringsOf();
  for (size_t number = 0; number < rings.size(); ++number) {
    Layer &layer = result.layers[number];
    layer.temporaries += rings[number];
    layer.sampleTemporaries += rings[number];
    for (size_t level = 1; level <= layer.levels.size(); ++level) {
      bool isWhole = level == wholes[number] && !againRings.empty();
      Bytes own =
          isWhole ? std::max(rings[number], againRings[number]) : rings[number];
      layer.levels[level - 1].temporaries += own;
      layer.levels[level - 1].sampleTemporaries += own;
    }
  }
}

/// Builds the layers of ShardedLayers::again, whose backwards include what runs
/// again. addWholeLevel() and addRings() take times and rings from them.
void Builder::readAgain() {
  if (!sharded.repeats || !sharded.again)
    return;
  Builder builder(sharded.again->problem, network, sharded.again->layers, kind);
  again = builder.build().layers;
  againRings = builder.ringsOf();
}

std::optional<size_t> Builder::wholeLevel(int64_t layer) const {
  size_t levels = result.layers[size_t(layer)].levels.size(), most = 0;
  size_t end = sharded.ends[size_t(layer)],
         first = layer == 0 ? 0 : sharded.ends[size_t(layer) - 1];
  for (size_t cell = first * ways; cell < end * ways; ++cell)
    for (int64_t number : cells[cell])
      most = std::max(most, fine.layers[size_t(number)].levels.size());
  return levels > most ? std::optional(levels) : std::nullopt;
}

/// The recomputation levels of a layer of the gang at which `use` exists: each
/// layer of the shard is at the same level, or at its highest.
uint32_t Builder::levelsOf(const LayerPhase &use) const {
  auto highest = int64_t(fine.layers[size_t(use.layer)].levels.size());
  uint32_t levels = 0;
  for (int64_t level = 0; level < int64_t(kMostLevels); ++level)
    levels |= uint32_t(use.isAt(std::min(level, highest))) << level;
  return levels;
}

/// Adds a use of the chosen shard. Returns whether it uses a value that the
/// forward of its own layer makes, and that recomputing the whole forward makes
/// again.
bool Builder::addUse(LayerValue &own, const LayerPhase &use) {
  LayerPhase there{layerOf(use.layer), use.phase, levelsOf(use)};
  bool isHere = there.layer == own.producer.layer,
       isForward = own.producer.phase == ActionKind::Forward;
  std::optional<size_t> whole = wholes[size_t(there.layer)];
  bool isRepeated = false;
  if (whole && isForward) {
    uint32_t below = (uint32_t(1) << *whole) - 1;
    if (isHere && there.phase != ActionKind::Forward) {
      isRepeated = there.isAt(0);
      there.levels &= below;
    } else if (!isHere && there.phase == ActionKind::Forward) {
      own.uses.push_back({there.layer, ActionKind::InputGradient, ~below});
    }
  }
  if (!isHere || there.phase != own.producer.phase)
    own.uses.push_back(there);
  return isRepeated;
}

/// Adds the values that the chosen shard uses, whichever shard makes them.
void Builder::addValues() {
  for (size_t layer = 0; layer < result.layers.size(); ++layer)
    wholes.push_back(wholeLevel(int64_t(layer)));
  for (const LayerValue &value : fine.values) {
    LayerValue own{value.bytes,
                   {layerOf(value.producer.layer), value.producer.phase},
                   {},
                   value.transfer};
    bool isRepeated = false, isLate = false;
    for (const LayerPhase &use : value.uses)
      if (placeOf(use.layer).shard == chosen && addUse(own, use)) {
        isRepeated = true;
        isLate |= use.phase == ActionKind::WeightGradient;
      }
    if (isRepeated && isLate && !fine.wholeBackward) {
      // I makes it again, and a schedule may delay W.
      int64_t layer = own.producer.layer;
      uint32_t below = (uint32_t(1) << *wholes[size_t(layer)]) - 1;
      result.values.push_back({own.bytes,
                               {layer, ActionKind::InputGradient},
                               {{layer, ActionKind::WeightGradient, ~below}},
                               {}});
    } else if (isRepeated &&
               again.empty()) { // Held for one microbatch at a time.
      size_t layer = size_t(own.producer.layer);
      RecomputeLevel &whole = result.layers[layer].levels[*wholes[layer] - 1];
      whole.temporaries += result.slotOf(own.bytes);
      whole.sampleTemporaries += result.slotOf(own.bytes);
    }
    if (!own.uses.empty())
      result.values.push_back(std::move(own));
  }
}

void Builder::addResidents() {
  for (const Resident &resident : fine.residents) {
    Resident own{resident.bytes, resident.kind, {}};
    for (int64_t layer : resident.layers)
      if (placeOf(layer).shard == chosen)
        own.layers.push_back(layerOf(layer));
    std::sort(own.layers.begin(), own.layers.end());
    if (!own.layers.empty())
      result.residents.push_back(std::move(own));
  }
}

/// By level: the layer of the gang.
static std::vector<int64_t> layersByLevel(const std::vector<size_t> &ends) {
  std::vector<int64_t> layers;
  for (size_t layer = 0; layer < ends.size(); ++layer)
    layers.resize(ends[layer], int64_t(layer));
  return layers;
}

Problem Builder::build() {
  ofLevel = layersByLevel(sharded.ends);
  cells.resize(ofLevel.size() * ways);
  for (size_t layer = 0; layer < fine.layers.size(); ++layer)
    cells[at({sharded.places[layer].level, sharded.places[layer].shard})]
        .push_back(int64_t(layer));
  result.cluster = gangs.cluster;
  result.shards = int64_t(ways);
  result.forwardOnly = fine.forwardOnly;
  result.wholeBackward = fine.wholeBackward;
  result.samples = 1; // Replicas take whole microbatches.
  result.slotAlignment = fine.slotAlignment;
  result.microbatches = fine.microbatches;
  result.recompute = fine.recompute;
  result.level = fine.level;
  result.offload = OffloadChoice::None;
  result.orders = fine.orders;
  result.model = fine.model;
  result.model.sharesRings = false;
  chooseShard();
  collectMessages();
  collectLocals();
  readAgain();
  addLayers();
  addValues();
  addRings();
  addResidents();
  return std::move(result);
}

/// By layer of the gang: whether it is linked to the layer before
/// (joinToChain()).
static std::vector<bool> linkedLayers(const Problem &problem,
                                      const ShardedLayers &sharded) {
  std::vector<int64_t> ofLevel = layersByLevel(sharded.ends);
  std::vector<bool> gets(sharded.ends.size(), false),
      returns(sharded.ends.size(), problem.forwardOnly);
  for (const LayerValue &value : problem.values) {
    int64_t from = ofLevel[sharded.places[size_t(value.producer.layer)].level];
    bool isForward = value.producer.phase == ActionKind::Forward;
    for (const LayerPhase &use : value.uses) {
      int64_t to = ofLevel[sharded.places[size_t(use.layer)].level];
      if (isForward && use.phase == ActionKind::Forward && to == from + 1)
        gets[size_t(to)] = true;
      if (!isForward && to == from - 1)
        returns[size_t(from)] = true;
    }
  }
  for (size_t layer = 0; layer < gets.size(); ++layer)
    gets[layer] = gets[layer] && returns[layer];
  return gets;
}

void joinToChain(const Problem &problem, ShardedLayers &layers) {
  for (bool isChain = false; !isChain;) {
    std::vector<bool> linked = linkedLayers(problem, layers);
    std::vector<size_t> ends;
    for (size_t layer = 0; layer < linked.size(); ++layer)
      if (layer + 1 == linked.size() || linked[layer + 1])
        ends.push_back(layers.ends[layer]);
    isChain = ends.size() == layers.ends.size();
    layers.ends = std::move(ends);
  }
}

Result<GangProblems> gangProblems(const Problem &problem,
                                  const ShardedLayers &layers) {
  if (problem.cluster.devices.size() < layers.ways)
    return Error{std::to_string(layers.ways) + " shards need " +
                 std::to_string(layers.ways) + " devices, cluster '" +
                 problem.cluster.name + "' has " +
                 std::to_string(problem.cluster.devices.size())};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  auto build = [&](GangTimes times) {
    return Builder(problem, *network, layers, times).build();
  };
  return GangProblems{build(GangTimes::Most), build(GangTimes::Least),
                      build(GangTimes::Compute)};
}

} // namespace stagewright
