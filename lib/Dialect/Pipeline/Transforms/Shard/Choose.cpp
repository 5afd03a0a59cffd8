//===- Choose.cpp - which parameters are worth splitting ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "SplitClasses.h"
#include "stagewright/Cost/Network.h"

namespace stagewright::pipeline {

Result<ShardRates> ratesOf(const Cluster &cluster, int64_t ways) {
  size_t count = size_t(ways);
  if (cluster.devices.size() < count)
    return Error{std::to_string(ways) + " shards need " + std::to_string(ways) +
                 " devices, and there are " +
                 std::to_string(cluster.devices.size()) +
                 "; name a larger cluster, such as --cluster=local:" +
                 std::to_string(ways)};
  Result<Network> network = Network::create(cluster);
  if (!network)
    return network.error();
  ShardRates rates;
  rates.device = *std::min_element(
      cluster.devices.begin(), cluster.devices.begin() + ptrdiff_t(count),
      [](const Device &a, const Device &b) { return a.flops < b.flops; });
  rates.bandwidth = network->largestBandwidth();
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b) {
      rates.bandwidth = std::min(rates.bandwidth, network->bandwidth(a, b));
      rates.latency = std::max(rates.latency, network->latency(a, b));
    }
  return rates;
}

namespace {

/// A set of classes of which no two exclude each other.
class Choice {
public:
  explicit Choice(const SplitClasses &classes)
      : classes(classes), isIn(classes.size()) {}

  bool has(unsigned number) const { return isIn[number]; }
  void add(unsigned number) { isIn[number] = true; }
  /// The classes of the set that exclude `number`.
  SmallVector<unsigned> against(unsigned number) const {
    SmallVector<unsigned> found;
    for (unsigned other : classes[number].excludes)
      if (isIn[other])
        found.push_back(other);
    return found;
  }
  /// Adds the classes of `order`, in that order, except `left` and those that a
  /// class of the set excludes.
  void fill(ArrayRef<unsigned> order, std::optional<unsigned> left = {}) {
    for (unsigned number : order)
      if (number != left && !isIn[number] && against(number).empty())
        add(number);
  }
  /// Adds a class and removes those that it excludes, or removes a class and
  /// fills up the set, as long as that saves time. `order`: the classes that
  /// save time.
  void improve(ArrayRef<unsigned> order);
  double gain() const;

private:
  /// Becomes `other` if that saves more time.
  bool takeBetter(const Choice &other);
  bool exchangeIn(unsigned number);
  bool exchangeOut(unsigned number, ArrayRef<unsigned> order);

  const SplitClasses &classes;
  std::vector<bool> isIn;
};

bool Choice::takeBetter(const Choice &other) {
  if (other.gain() <= gain())
    return false;
  isIn = other.isIn;
  return true;
}

bool Choice::exchangeIn(unsigned number) {
  SmallVector<unsigned> others = against(number);
  if (isIn[number] || llvm::any_of(others, [&](unsigned other) {
        return classes[other].isGiven;
      }))
    return false;
  Choice with = *this;
  for (unsigned other : others)
    with.isIn[other] = false;
  with.add(number);
  return takeBetter(with);
}

bool Choice::exchangeOut(unsigned number, ArrayRef<unsigned> order) {
  if (!isIn[number] || classes[number].isGiven)
    return false;
  Choice without = *this;
  without.isIn[number] = false;
  without.fill(order, number);
  return takeBetter(without);
}

// Terminates, because every exchange raises gain(), which depends on the set
// only.
void Choice::improve(ArrayRef<unsigned> order) {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned number : order)
      changed |= exchangeIn(number) || exchangeOut(number, order);
  }
}

double Choice::gain() const {
  double sum = 0;
  for (unsigned i = 0; i < classes.size(); ++i)
    sum += isIn[i] ? classes[i].gain() : 0;
  return sum;
}

/// Chooses the classes to split.
Choice choose(const SplitClasses &classes) {
  Choice choice(classes);
  SmallVector<unsigned> useful, rest;
  for (unsigned i = 0; i < classes.size(); ++i) {
    if (classes[i].isGiven)
      choice.add(i);
    else if (classes[i].parameterBytes > 0)
      (classes[i].gain() > 0 ? useful : rest).push_back(i);
  }
  llvm::stable_sort(useful, [&](unsigned a, unsigned b) {
    return classes[a].gain() > classes[b].gain();
  });
  if (!useful.empty()) {
    // Two greedy sets: largest gain first, and fewest exclusions first (classes
    // that all layers share exclude the most).
    Choice other = choice;
    choice.fill(useful);
    llvm::stable_sort(useful, [&](unsigned a, unsigned b) {
      return classes[a].excludes.size() < classes[b].excludes.size();
    });
    other.fill(useful);
    choice.improve(useful);
    other.improve(useful);
    return other.gain() > choice.gain() ? other : choice;
  }
  // No class saves time: those with the most parameter bytes per second of cost
  // come first.
  llvm::stable_sort(rest, [&](unsigned a, unsigned b) {
    auto rate = [&](unsigned it) {
      return classes[it].parameterBytes / -classes[it].gain();
    };
    return rate(a) > rate(b);
  });
  choice.fill(rest);
  return choice;
}

} // namespace

ShardChoice chooseLayouts(const StepGraph &graph, int64_t ways,
                          const ShardRates &rates, ArrayRef<unsigned> open,
                          MutableArrayRef<Layout> layouts) {
  SplitClasses classes(graph, ways, rates, open, layouts);
  Choice choice = choose(classes);
  ShardChoice result{classes.seconds};
  for (unsigned i = 0; i < classes.size(); ++i) {
    if (!choice.has(i))
      continue;
    result.saved += classes[i].saved;
    result.spent += classes[i].spent;
    for (auto [argument, layout] : classes[i].parameters)
      layouts[argument] = layout;
  }
  return result;
}

} // namespace stagewright::pipeline
