//===- PrmPareto.cpp - plans below both parts of a bound ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/PrmPareto.h"
#include "Spp/PrmLoads.h"
#include <algorithm>

namespace stagewright {

namespace {
/// Max labels that a state keeps.
constexpr size_t kMostLabels = 6;

constexpr size_t kNone = ~size_t(0);

/// A suffix of a plan, from the first layer of one of its stages on.
struct Label {
  double back = 0;     ///< Bound with the backward of the last microbatch.
  double tail = 0;     ///< Bound with the all-reduce tails.
  size_t next = kNone; ///< Label of the suffix after its first stage.
  uint32_t block = 0, end = 0, stages = 0;
  bool recompute = false;

  double bound() const { return std::max(back, tail); }
};

class ParetoSolver {
public:
  ParetoSolver(const Problem &problem, const ChainCosts &costs,
               const PrmBlocks &blocks, const PrmOptions &options,
               double limit);
  void solve();
  std::vector<PrmPlan> plans(size_t most) const;

private:
  void insert(std::vector<Label> &set, const Label &label,
              size_t most = kMostLabels) const;
  void follow(const PrmBlock &block);
  void begin(size_t number, size_t first);
  PrmPlan planOf(size_t label) const;

  const ChainCosts &costs;
  const PrmBlocks &blocks;
  const PrmOptions &options;
  PrmLoads loads;
  bool hasMemory;
  double limit;
  size_t layers;
  std::vector<Label> labels;
  std::vector<std::pair<size_t, size_t>> ranges; ///< By block and layer.
  std::vector<std::vector<Label>> onward;        ///< By cut.
  /// Lower bounds for layers [0, l) on a device: forward, and with backward.
  std::vector<double> leastThere, leastBoth;
};
} // namespace

ParetoSolver::ParetoSolver(const Problem &problem, const ChainCosts &costs,
                           const PrmBlocks &blocks, const PrmOptions &options,
                           double limit)
    : costs(costs), blocks(blocks), options(options),
      loads(problem, costs, blocks, options), hasMemory(options.memory),
      limit(limit), layers(costs.layers),
      ranges(blocks.blocks.size() * (layers + 1)), onward(layers + 1),
      leastThere(layers + 1), leastBoth(layers + 1) {
  for (size_t l = 0; l <= layers; ++l) {
    leastThere[l] = leastBoth[l] = limit;
    for (size_t c = 0; c < costs.forward.size(); ++c) {
      leastThere[l] = std::min(leastThere[l], costs.forward[c][l]);
      leastBoth[l] =
          std::min(leastBoth[l], costs.forward[c][l] + costs.backward[c][l]);
    }
  }
}

/// Inserts `label` unless it is dominated, and removes labels that it
/// dominates. `set` is sorted by increasing `back`.
void ParetoSolver::insert(std::vector<Label> &set, const Label &label,
                          size_t most) const {
  auto place = set.begin();
  while (place != set.end() && place->back <= label.back) {
    if (place->tail <= label.tail)
      return;
    ++place;
  }
  auto end = place;
  while (end != set.end() && end->tail >= label.tail)
    ++end;
  place = set.erase(place, end);
  set.insert(place, label);
  if (set.size() <= most)
    return;
  auto worst = std::max_element(
      set.begin(), set.end(),
      [](const Label &a, const Label &b) { return a.bound() < b.bound(); });
  set.erase(worst);
}

/// Computes the continuations after every cut over all next blocks, including
/// the channel.
void ParetoSolver::follow(const PrmBlock &block) {
  double count = costs.microbatches;
  for (size_t cut = 1; cut < layers; ++cut) {
    std::vector<Label> &set = onward[cut];
    set.clear();
    const CutTraffic &traffic = costs.cuts[cut];
    for (size_t next = block.nextBegin; next < block.nextEnd; ++next) {
      auto [begin, end] = ranges[next * (layers + 1) + cut];
      if (begin == end)
        continue;
      const PrmPair &pair =
          blocks.pairs[block.pairBegin + next - block.nextBegin];
      double forward = traffic.forwardBytes * pair.perByte +
                       traffic.hasForward * pair.latency;
      double backward = traffic.backwardBytes * pair.perByte +
                        traffic.hasBackward * pair.latency;
      double load = count * (costs.halfDuplex ? forward + backward
                                              : std::max(forward, backward));
      for (size_t i = begin; i < end; ++i) {
        Label label = labels[i];
        label.back = std::max(load, label.back + forward + backward);
        label.tail = std::max(load, label.tail + forward);
        label.next = i;
        if (label.bound() < limit)
          insert(set, label);
      }
    }
  }
}

/// Makes the labels of a stage on the selected block from layer `first` on.
void ParetoSolver::begin(size_t number, size_t first) {
  const PrmBlock &block = blocks.blocks[number];
  double rest = double(blocks.devices - block.used);
  auto &range = ranges[number * (layers + 1) + first];
  range = {labels.size(), labels.size()};
  if ((first > 0 && rest == 0) || !options.mayCut(first))
    return;
  double there = first > 0 ? leastThere[first] / rest : 0;
  double both = first > 0 ? leastBoth[first] / rest : 0;
  std::vector<Label> set;
  for (size_t end = first + 1; end <= layers; ++end) {
    if (!options.mayCut(end))
      continue;
    if (!hasMemory && loads.computeLoad(first, end, 1) + both >= limit)
      break;
    double tail = loads.tailOf(first, end);
    double onBoth = loads.bothWays(end) - loads.bothWays(first);
    double onThere = loads.there(end) - loads.there(first);
    for (const Label &way : onward[end]) {
      Label label = way;
      label.stages = way.stages + 1;
      double load = loads.computeLoad(first, end, label.stages);
      label.back = std::max(load, onBoth + way.back);
      label.tail = std::max(load + tail, onThere + way.tail);
      if (label.back + both >= limit || label.tail + there >= limit)
        continue;
      label.block = uint32_t(number);
      label.end = uint32_t(end);
      label.recompute = loads.recomputes(first, end, label.stages);
      insert(set, label);
    }
  }
  labels.insert(labels.end(), set.begin(), set.end());
  range.second = labels.size();
}

void ParetoSolver::solve() {
  onward[layers] = {Label()};
  for (size_t b = 0; b < blocks.blocks.size(); ++b) {
    loads.select(blocks.blocks[b]);
    follow(blocks.blocks[b]);
    for (size_t first = layers; first-- > 0;)
      begin(b, first);
  }
}

PrmPlan ParetoSolver::planOf(size_t label) const {
  PrmPlan plan;
  plan.value = labels[label].bound();
  for (int64_t first = 0; label != kNone; label = labels[label].next) {
    const Label &stage = labels[label];
    plan.stages.push_back({first, stage.end, stage.block, stage.recompute});
    first = stage.end;
  }
  return plan;
}

std::vector<PrmPlan> ParetoSolver::plans(size_t most) const {
  std::vector<size_t> whole;
  for (size_t b = 0; b < blocks.blocks.size(); ++b)
    for (size_t i = ranges[b * (layers + 1)].first;
         i < ranges[b * (layers + 1)].second; ++i)
      whole.push_back(i);
  std::sort(whole.begin(), whole.end(), [&](size_t a, size_t b) {
    double x = labels[a].bound(), y = labels[b].bound();
    return x != y ? x < y : a < b;
  });
  whole.resize(std::min(whole.size(), most));
  std::vector<PrmPlan> plans;
  for (size_t label : whole)
    plans.push_back(planOf(label));
  return plans;
}

std::vector<PrmPlan> plansBelow(const Problem &problem, const ChainCosts &costs,
                                const PrmBlocks &blocks,
                                const PrmOptions &options, double limit,
                                size_t most) {
  ParetoSolver solver(problem, costs, blocks, options, limit);
  solver.solve();
  return solver.plans(most);
}

} // namespace stagewright
