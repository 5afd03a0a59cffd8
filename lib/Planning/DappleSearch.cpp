//===- DappleSearch.cpp - DAPPLE's memoised search ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dapple.h"
#include <algorithm>
#include <limits>
#include <map>

namespace stagewright {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
struct Kept;
struct Arrangement;

/// Devices for the next stage, and what is left then.
struct Choice {
  const DappleGroup *group = nullptr;
  const DappleGroup *all = nullptr; ///< All that are left.
  /// Some of them, as many as a stage may have, where that is fewer.
  const DappleGroup *few = nullptr;
  Arrangement *after = nullptr;
};

/// Which devices are in use, and the choices that leaves.
struct Arrangement {
  std::vector<size_t> used; ///< By host.
  size_t free = 0;
  std::vector<Choice> choices; ///< Filled when first asked for.
  bool isFilled = false;
};

/// Planned stages that the rest may follow.
struct Prefix {
  double latency = kInfinity; ///< With all the rest as one last stage.
  double own = kInfinity;     ///< Without the rest.
  Arrangement *arrangement = nullptr;
  /// Computing stages, and the network between them.
  std::vector<DappleStage> stages;
  std::vector<DapplePlace> places;
  const DappleGroup *last = nullptr; ///< Of the last place.
};

/// The best of prefixes that have layers and devices in common. Latency alone,
/// as in the paper, is blind: while the rest of the layers is the slowest stage
/// all prefixes seem alike.
struct Kept {
  Prefix byLatency, byOwn;
};

/// What prefixes of as many layers have in common. In order of the devices in
/// use, so that a prefix comes before those that it is part of.
struct Occupancy {
  size_t devices = 0;
  size_t stages = 0; ///< Where their number is asked for.
  std::vector<std::pair<size_t, size_t>> hosts; ///< Kind, in use; sorted.

  auto operator<=>(const Occupancy &) const = default;
};

class Search {
public:
  explicit Search(const DappleInput &input);
  std::vector<DapplePlan> run();

private:
  const DappleGroup &groupOf(const std::vector<size_t> &devices);
  Arrangement &arrangementOf(const std::vector<size_t> &used);
  const std::vector<Choice> &choicesOf(Arrangement &arrangement);
  Occupancy occupancyOf(const std::vector<size_t> &used, size_t stages) const;
  void planWhole();
  void expand(const Prefix &prefix, size_t layers);
  void extend(const Prefix &prefix, size_t layers, const Choice &choice);
  /// Ranks `stages` with layers [first, end of all) on `last` behind.
  double finish(std::vector<DappleStage> &stages, size_t first,
                const DappleGroup &middle, const DappleGroup &last) const;
  void accept(double latency, const Prefix &prefix, const DapplePlace &middle,
              const DappleGroup &last);
  static void keep(Prefix next, const DapplePlace &last, Kept &kept);
  double rank(const std::vector<DappleStage> &stages) const {
    return input.rank ? input.rank(stages)
                      : dappleLatency(stages, input.microbatches).seconds;
  }
  bool isHopeless(double load) const { return bounded * load >= best; }
  bool allows(size_t replicas) const {
    return input.maxReplicas == 0 || replicas <= size_t(input.maxReplicas);
  }

  const DappleInput &input;
  std::vector<std::vector<size_t>> hosts;
  std::map<std::vector<size_t>, DappleGroup> groups;
  std::map<std::vector<size_t>, Arrangement> arrangements;
  std::map<Occupancy, std::vector<Kept>> memo; ///< By number of layers.
  std::vector<double> leastAfter; ///< By layer: least load from there on.
  double bounded = 0; ///< As many loads of any stage are in every latency.
  double best = kInfinity;
  std::map<size_t, DapplePlan> found; ///< By number of stages.
};
} // namespace

Search::Search(const DappleInput &input) : input(input) {
  for (size_t device = 0; device < input.hostOf.size(); ++device) {
    hosts.resize(std::max(hosts.size(), input.hostOf[device] + 1));
    hosts[input.hostOf[device]].push_back(device);
  }
  leastAfter.assign(input.layers + 1, 0);
  if (input.leastLoad.empty())
    return;
  bounded = double(input.microbatches) - (input.rank ? 1 : 0);
  for (size_t layer = input.layers; layer-- > 0;)
    leastAfter[layer] = leastAfter[layer + 1] + input.leastLoad[layer];
}

const DappleGroup &Search::groupOf(const std::vector<size_t> &devices) {
  auto [entry, isNew] = groups.try_emplace(devices);
  if (isNew)
    entry->second = {groups.size() - 1, devices};
  return entry->second;
}

Arrangement &Search::arrangementOf(const std::vector<size_t> &used) {
  auto [entry, isNew] = arrangements.try_emplace(used);
  if (isNew) {
    entry->second.used = used;
    for (size_t h = 0; h < hosts.size(); ++h)
      entry->second.free += hosts[h].size() - used[h];
  }
  return entry->second;
}

const std::vector<Choice> &Search::choicesOf(Arrangement &arrangement) {
  if (arrangement.isFilled)
    return arrangement.choices;
  arrangement.isFilled = true;
  const std::vector<size_t> &used = arrangement.used;
  for (size_t replicas = 1; replicas < arrangement.free && allows(replicas);
       ++replicas)
    for (const auto &devices : dapplePlacements(hosts, used, replicas)) {
      std::vector<size_t> after = used, rest;
      for (size_t device : devices)
        ++after[input.hostOf[device]];
      for (size_t h = 0; h < hosts.size(); ++h)
        rest.insert(rest.end(), hosts[h].begin() + after[h], hosts[h].end());
      std::sort(rest.begin(), rest.end());
      Choice choice{&groupOf(devices), &groupOf(rest), nullptr,
                    &arrangementOf(after)};
      if (!allows(rest.size()))
        choice.few = &groupOf(
            dapplePlacements(hosts, after, size_t(input.maxReplicas)).front());
      arrangement.choices.push_back(choice);
    }
  return arrangement.choices;
}

Occupancy Search::occupancyOf(const std::vector<size_t> &used,
                              size_t stages) const {
  Occupancy key;
  key.stages = input.stages ? stages : 0;
  for (size_t h = 0; h < hosts.size(); ++h) {
    key.devices += used[h];
    key.hosts.emplace_back(input.kindOf[h], used[h]);
  }
  std::sort(key.hosts.begin(), key.hosts.end());
  return key;
}

double Search::finish(std::vector<DappleStage> &stages, size_t first,
                      const DappleGroup &middle,
                      const DappleGroup &last) const {
  stages.push_back(input.channel(first, middle, last));
  stages.push_back(input.stage(first, input.layers, last));
  return rank(stages);
}

void Search::accept(double latency, const Prefix &prefix,
                    const DapplePlace &middle, const DappleGroup &last) {
  size_t count = prefix.places.size() + 2;
  if (!allows(last.devices.size()) ||
      (input.stages && size_t(input.stages) != count))
    return;
  DapplePlan &plan =
      found.try_emplace(count, DapplePlan{kInfinity, {}}).first->second;
  if (latency >= plan.latency)
    return;
  best = std::min(best, latency);
  plan = {latency, prefix.places};
  plan.stages.push_back(middle);
  plan.stages.push_back({middle.end, input.layers, last.devices});
}

/// Data parallelism: one stage on all devices, or on as many as allowed.
void Search::planWhole() {
  if (input.stages > 1)
    return;
  size_t count = input.hostOf.size();
  if (!allows(count))
    count = size_t(input.maxReplicas);
  std::vector<size_t> none(hosts.size(), 0);
  const DappleGroup &group =
      groupOf(dapplePlacements(hosts, none, count).front());
  best = rank({input.stage(0, input.layers, group)});
  found[1] = {best, {{0, input.layers, group.devices}}};
}

/// Keeps `next`, whose last place is `last`, if it is the best in some way.
void Search::keep(Prefix next, const DapplePlace &last, Kept &kept) {
  next.places.push_back(last);
  auto byLatency = [](const Prefix &p) { return std::pair(p.latency, p.own); };
  auto byOwn = [](const Prefix &p) { return std::pair(p.own, p.latency); };
  if (byLatency(next) < byLatency(kept.byLatency))
    kept.byLatency = next;
  if (byOwn(next) < byOwn(kept.byOwn))
    kept.byOwn = std::move(next);
}

/// Puts stages of all sizes on the devices of `choice` behind `prefix`.
void Search::extend(const Prefix &prefix, size_t layers, const Choice &choice) {
  const DappleGroup &group = *choice.group;
  // Enough layers that the rest is not too slow on the devices left.
  size_t least = layers + 1;
  double left = double(choice.all->devices.size());
  while (least < input.layers && isHopeless(leastAfter[least] / left))
    ++least;
  if (least >= input.layers ||
      isHopeless(input.stage(layers, least, group).load()))
    return;

  std::vector<DappleStage> stages = prefix.stages;
  if (layers > 0) {
    stages.push_back(input.channel(layers, *prefix.last, group));
    if (isHopeless(stages.back().load()))
      return;
  }
  std::vector<Kept> &kept =
      memo[occupancyOf(choice.after->used, prefix.places.size() + 1)];
  kept.resize(input.layers);
  DapplePlace middle{layers, layers, group.devices};
  size_t size = stages.size() + 1;
  for (middle.end = least; middle.end < input.layers; ++middle.end) {
    stages.resize(size - 1);
    stages.push_back(input.stage(layers, middle.end, group));
    if (isHopeless(stages.back().load()))
      break;
    double own = rank(stages);
    if (choice.few) {
      double latency = finish(stages, middle.end, group, *choice.few);
      accept(latency, prefix, middle, *choice.few);
      stages.resize(size);
    }
    double latency = finish(stages, middle.end, group, *choice.all);
    accept(latency, prefix, middle, *choice.all);
    stages.resize(size);
    Kept &rivals = kept[middle.end];
    if (latency <= rivals.byLatency.latency || own <= rivals.byOwn.own)
      keep({latency, own, choice.after, stages, prefix.places, &group}, middle,
           rivals);
  }
}

void Search::expand(const Prefix &prefix, size_t layers) {
  if (input.stages && prefix.places.size() + 2 > size_t(input.stages))
    return;
  for (const DappleStage &stage : prefix.stages)
    if (isHopeless(stage.load()))
      return;
  for (const Choice &choice : choicesOf(*prefix.arrangement))
    extend(prefix, layers, choice);
}

std::vector<DapplePlan> Search::run() {
  planWhole();
  Prefix nothing;
  nothing.arrangement = &arrangementOf(std::vector<size_t>(hosts.size(), 0));
  expand(nothing, 0);
  // Inserting does not disturb the order: what comes has more devices.
  for (auto &[occupancy, prefixes] : memo) {
    for (size_t layers = 1; layers < prefixes.size(); ++layers) {
      const auto &[byLatency, byOwn] = prefixes[layers];
      if (byLatency.latency == kInfinity)
        continue;
      expand(byLatency, layers);
      if (byOwn.latency != byLatency.latency || byOwn.own != byLatency.own)
        expand(byOwn, layers);
    }
    prefixes.clear();
  }
  std::vector<DapplePlan> plans;
  for (auto &[count, plan] : found)
    plans.push_back(std::move(plan));
  std::sort(plans.begin(), plans.end(),
            [](const DapplePlan &a, const DapplePlan &b) {
              return a.latency != b.latency ? a.latency < b.latency
                                            : a.stages.size() < b.stages.size();
            });
  return plans;
}

std::vector<DapplePlan> searchDapple(const DappleInput &input) {
  return Search(input).run();
}

} // namespace stagewright
