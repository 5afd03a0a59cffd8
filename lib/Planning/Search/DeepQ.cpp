//===- DeepQ.cpp - search by a deep Q-network -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An episode makes one plan, decision by decision. Q of a prefix and a choice
// is the reward that the best plan from there earns: log(T_ref / T), where T is
// its time and T_ref that of the best reference plan, or kInfeasible if the
// plan cannot run. A decision leads to one known prefix, so Q is a function of
// that prefix:
//   Q(prefix) = log(T_ref / bound(prefix)) + f(features(prefix)),
// where the network f starts at 0: the first episodes follow the bound, later
// ones what was learnt about its error.
//
// Masked choices are those whose bound is not below the best time, and those
// after which no plan is left to evaluate. When all first choices are masked,
// the best plan is proved to be the optimum of the space.
//
// Source: Auto-MAP (Wang et al. 2020): double Q-learning (van Hasselt et al.
// 2016), n-step returns, prioritised replay (Schaul et al. 2016).
//
//===----------------------------------------------------------------------===//

#include "Search/Mlp.h"
#include "Search/Replay.h"
#include "Search/SearchRun.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace stagewright {

static constexpr size_t kSteps = 3, kMemory = 10'000, kBatch = 32;
/// Updates of the network between two copies to the target network.
static constexpr int64_t kCopyEvery = 200;
/// Share of random choices: at the start, and from half of the budget on.
static constexpr double kFirstRandom = 0.5, kLastRandom = 0.05;
/// The priority of an entry is (|error| + kLeastPriority)^kPriority; train()
/// corrects the bias of this by weights.
static constexpr double kPriority = 0.6, kLeastPriority = 1e-3;
static constexpr double kInfeasible = -3;
/// Shorter times count as this, so that logarithms are finite.
static constexpr double kLeastTime = 1e-30;
/// Number of dead ends in an episode after which bounds no longer mask choices:
/// a plan that is too slow then teaches more than another bound.
static constexpr size_t kMostDeadEnds = 64;

namespace {
/// A prefix, and the one kSteps - 1 decisions later, whose best choice gives
/// the target.
struct Step {
  Decisions prefix, later;
  /// The reward of the episode, if it ended within kSteps.
  std::optional<double> reward;
};

/// A prefix that may be chosen.
struct Next {
  Decisions prefix;
  double bound;
  std::vector<float> features;
};

class DeepQ {
public:
  explicit DeepQ(SearchRun &run)
      : run(run), reference(std::max(run.evaluateReferences(), kLeastTime)),
        online(run.space.numFeatures(), run.random), target(online),
        memory(kMemory) {}

  void search() {
    while (!run.isOver()) {
      if (!episode())
        return run.setOptimum();
      if (run.isOver())
        return; // It may end during the episode, without a plan to learn from.
      train();
    }
  }

private:
  /// Chooses a plan and evaluates it; false if there is none left.
  bool episode();
  void remember(const Decisions &plan, double reward);
  void train();

  /// log(T_ref / bound).
  double most(double bound) const {
    return rewardOf(std::max(bound, reference * 1e-6));
  }
  /// Of a plan that takes `time`.
  double rewardOf(double time) const {
    return std::isinf(time)
               ? kInfeasible
               : std::clamp(std::log(reference / std::max(time, kLeastTime)),
                            kInfeasible, -kInfeasible);
  }
  double valueOf(const Next &next, const Mlp &network) const {
    return most(next.bound) + double(network.of(next.features));
  }
  /// A prefix with what its value depends on.
  Next nextOf(Decisions prefix, double bound) const {
    std::vector<float> features = run.space.features(prefix);
    return {std::move(prefix), bound, std::move(features)};
  }
  /// The prefixes one decision after `prefix` that may hold a better plan, or
  /// without `byBound` all with plans that are not evaluated.
  std::vector<Next> open(const Decisions &prefix, bool byBound) const;
  /// That of `list` with the largest value.
  const Next &bestOf(const std::vector<Next> &list) const;
  double targetOf(const Step &step) const;

  SearchRun &run;
  double reference;
  Mlp online, target;
  Replay<Step> memory;
  std::set<Decisions> closed; ///< Nothing to evaluate begins with them.
  int64_t updates = 0;
};
} // namespace

std::vector<Next> DeepQ::open(const Decisions &prefix, bool byBound) const {
  std::vector<Next> result;
  for (int64_t choice : run.space.choices(prefix)) {
    Decisions next = prefix;
    next.push_back(choice);
    if (closed.contains(next) || run.knows(next))
      continue;
    double bound = run.space.bound(next);
    if (!byBound || bound < run.least())
      result.push_back(nextOf(std::move(next), bound));
  }
  return result;
}

const Next &DeepQ::bestOf(const std::vector<Next> &list) const {
  size_t best = 0;
  double most = -1e300;
  for (size_t i = 0; i < list.size(); ++i)
    if (double value = valueOf(list[i], online); value > most) {
      most = value;
      best = i;
    }
  return list[best];
}

bool DeepQ::episode() {
  double part = std::min(1.0, 2 * run.spent());
  double random = kFirstRandom + part * (kLastRandom - kFirstRandom);
  Decisions prefix;
  for (size_t deadEnds = 0;;) {
    if (run.isOver())
      return true;
    std::vector<Next> next = open(prefix, deadEnds < kMostDeadEnds);
    run.report();
    if (next.empty() && run.space.choices(prefix).empty())
      break;
    if (next.empty()) { // A dead end: go back, and do not come again.
      if (prefix.empty())
        return false;
      closed.insert(prefix);
      prefix.pop_back();
      ++deadEnds;
      continue;
    }
    bool isRandom = run.random.real() < random;
    prefix =
        (isRandom ? next[run.random.pick(next.size())] : bestOf(next)).prefix;
  }
  remember(prefix, rewardOf(run.time(prefix)));
  return true;
}

void DeepQ::remember(const Decisions &plan, double reward) {
  // New entries are drawn soon: they get the priority of a large error.
  for (size_t length = 1; length <= plan.size(); ++length) {
    Step step{{plan.begin(), plan.begin() + length}, {}, {}};
    if (length + kSteps > plan.size())
      step.reward = reward;
    else
      step.later.assign(plan.begin(), plan.begin() + length + kSteps - 1);
    memory.add(std::move(step), 1);
  }
}

/// The estimate of double Q-learning: the online network chooses, the target
/// network evaluates.
double DeepQ::targetOf(const Step &step) const {
  if (step.reward)
    return *step.reward;
  std::vector<Next> next;
  for (int64_t choice : run.space.choices(step.later)) {
    Decisions prefix = step.later;
    prefix.push_back(choice);
    double bound = run.space.bound(prefix);
    next.push_back(nextOf(std::move(prefix), bound));
  }
  return valueOf(bestOf(next), target);
}

void DeepQ::train() {
  double correction = 0.4 + 0.6 * std::min(1.0, run.spent());
  std::vector<std::pair<size_t, double>> batch;
  double largest = 0;
  for (size_t i = 0; i < kBatch; ++i) {
    size_t number = memory.draw(run.random);
    double weight =
        std::pow(memory.chance(number) * double(memory.size()), -correction);
    batch.push_back({number, weight});
    largest = std::max(largest, weight);
  }
  for (auto [number, weight] : batch) {
    const Step &step = memory[number];
    double wanted = targetOf(step) - most(run.space.bound(step.prefix));
    std::vector<float> features = run.space.features(step.prefix);
    double error = wanted - double(online.of(features));
    online.learn(features, float(wanted), float(weight / largest));
    memory.setPriority(number,
                       std::pow(std::abs(error) + kLeastPriority, kPriority));
  }
  online.update();
  if (++updates % kCopyEvery == 0)
    target = online;
}

void searchDeepQ(SearchRun &run) { DeepQ(run).search(); }

} // namespace stagewright
