//===- DappleSearch.cpp - DAPPLE's memoised search ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dapple/DappleArrangements.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <map>

namespace stagewright {

namespace {
/// The first stages of a plan, without the rest.
struct Prefix {
  double latency = kInfinity; ///< With all other layers as one stage.
  double own = kInfinity;     ///< Of these stages alone.
  Arrangement *arrangement = nullptr;
  /// Computing stages and, between them, the channels that join them.
  std::vector<DappleStage> stages;
  std::vector<DapplePlace> places;
  const DappleGroup *last = nullptr; ///< Devices of the last place.
};

/// The best prefixes with the same layers and occupancy. Latency alone, as in
/// the paper, does not compare prefixes well: while the other layers are the
/// slowest stage, all have about the same latency.
struct Kept {
  Prefix byLatency, byOwn;
};

class Search {
public:
  explicit Search(const DappleInput &input);
  std::vector<DapplePlan> run();

private:
  void planWhole();
  void expand(const Prefix &prefix, size_t layers);
  void extend(const Prefix &prefix, size_t layers, const Choice &choice);
  /// Appends a last stage, layers [first, input.layers) on `last`, to `stages`,
  /// the last of which is on `middle`. Returns the rank() of the result.
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

  const DappleInput &input;
  DappleArrangements arrangements;
  std::map<Occupancy, std::vector<Kept>> memo; ///< By number of layers.
  std::vector<double> leastAfter; ///< By layer: min load from there on.
  double bounded = 0;             ///< Latency >= bounded * load of any stage.
  double best = kInfinity;
  std::map<size_t, DapplePlan> found; ///< By number of stages.
};
} // namespace

Search::Search(const DappleInput &input) : input(input), arrangements(input) {
  leastAfter.assign(input.layers + 1, 0);
  if (input.leastLoad.empty())
    return;
  bounded = double(input.microbatches) - (input.rank ? 1 : 0);
  for (size_t layer = input.layers; layer-- > 0;)
    leastAfter[layer] = leastAfter[layer + 1] + input.leastLoad[layer];
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
  if (!arrangements.allows(last.devices.size()) ||
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
  const DappleGroup &group = arrangements.whole();
  best = rank({input.stage(0, input.layers, group)});
  found[1] = {best, {{0, input.layers, group.devices}}};
}

/// Adds `last` to `next` and keeps it if it is the best by latency or by `own`.
void Search::keep(Prefix next, const DapplePlace &last, Kept &kept) {
  next.places.push_back(last);
  auto byLatency = [](const Prefix &p) { return std::pair(p.latency, p.own); };
  auto byOwn = [](const Prefix &p) { return std::pair(p.own, p.latency); };
  if (byLatency(next) < byLatency(kept.byLatency))
    kept.byLatency = next;
  if (byOwn(next) < byOwn(kept.byOwn))
    kept.byOwn = std::move(next);
}

/// Extends `prefix` by a stage on the devices of `choice`, with each possible
/// number of layers.
void Search::extend(const Prefix &prefix, size_t layers, const Choice &choice) {
  const DappleGroup &group = *choice.group;
  // Take at least as many layers as needed so that the other devices are not
  // too slow for the rest.
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
  std::vector<Kept> &kept = memo[arrangements.occupancyOf(
      choice.after->used, prefix.places.size() + 1)];
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
  for (const Choice &choice : arrangements.choicesOf(*prefix.arrangement))
    extend(prefix, layers, choice);
}

std::vector<DapplePlan> Search::run() {
  planWhole();
  Prefix nothing;
  nothing.arrangement = &arrangements.empty();
  expand(nothing, 0);
  // expand() may insert here; new entries have more devices, so come later.
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
