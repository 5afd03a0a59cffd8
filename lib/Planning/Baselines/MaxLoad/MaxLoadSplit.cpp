//===- MaxLoadSplit.cpp - contiguous stages of least max load -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/MaxLoadSplit.h"
#include "MaxLoad/DevicePool.h"
#include "MaxLoad/StageFit.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

/// Tolerance for rounding: sums are added in another order.
static constexpr double kTolerance = 1e-9;
/// Max number of steps of all walks together; about a minute.
static constexpr int64_t kMostSteps = 3'000'000'000;
/// Max number of entries of W; 16 bytes each.
static constexpr size_t kMostEntries = 100'000'000;

namespace {
/// What a run of the search minimizes.
enum class Aim { LargestLoad, SumOfSquares };

class Search {
public:
  Search(const SplitRequest &request, const Ideals &ideals);

  /// Fills W, using only stages whose load is at most `limit`.
  Status run(double limit, Aim aim);
  /// The state of W[..][{}] with the least value, or -1 if none is reachable.
  int bestState() const;
  double value(int state) const { return best[index(0, state)]; }
  MaxLoadSplit split(int state) const;

private:
  /// The predecessor of an entry of W.
  struct Origin {
    int ideal = -1, state = -1;
  };

  size_t index(int ideal, int state) const {
    return size_t(ideal) * pool.size() + size_t(state);
  }
  Status walkFrom(int ideal);
  Status walk(int ideal, size_t place);
  void relax(int ideal, int smaller, double load, size_t place);

  const SplitRequest &request;
  const Ideals &ideals;
  DevicePool pool;
  std::vector<double> least; ///< Min seconds of each ideal, on fastest places.
  std::vector<double> best;
  std::vector<Origin> from;
  StageFit fit;
  double limit = kInfinity;
  Aim aim = Aim::LargestLoad;
  std::vector<int> reached; ///< States reached for the current ideal.
  int64_t steps = 0;
};
} // namespace

Search::Search(const SplitRequest &request, const Ideals &ideals)
    : request(request), ideals(ideals), pool(request.graph, request.most),
      least(ideals.size()), fit(request.problem, request.graph) {
  for (size_t i = 1; i < ideals.size(); ++i) {
    Ideals::Smaller smaller = ideals.smaller(int(i)).front();
    least[i] = least[smaller.ideal] + request.graph.leastTime(smaller.node);
  }
}

/// Updates W[..][smaller] with the stage `ideal` \ `smaller`, for every state
/// reached for `ideal`.
void Search::relax(int ideal, int smaller, double load, size_t place) {
  for (int state : reached)
    for (const DevicePool::Step &step : pool[state].steps) {
      if (step.place != place)
        continue;
      // The devices left must be able to compute the nodes left within `limit`.
      const DevicePool::State &next = pool[step.next];
      if (smaller != 0 &&
          (next.steps.empty() || least[smaller] > next.capacity * limit))
        continue;
      double before = best[index(ideal, state)];
      double value = aim == Aim::LargestLoad ? std::max(before, load)
                                             : before + load * load;
      double &entry = best[index(smaller, step.next)];
      if (value >= entry ||
          !fit.fits(request.order[step.position], next.stages))
        continue;
      entry = value;
      from[index(smaller, step.next)] = {ideal, state};
    }
}

/// Visits every smaller ideal whose difference from `ideal` can be one stage.
Status Search::walk(int ideal, size_t place) {
  struct Frame {
    int ideal, node;
    size_t next;
  };
  GrowingLoad load(request.graph, request.graph.places[place]);
  std::vector<Frame> path = {{ideal, -1, 0}};
  while (!path.empty()) {
    Frame &frame = path.back();
    std::span<const Ideals::Smaller> smaller = ideals.smaller(frame.ideal);
    // Remove nodes by decreasing rank, so that each set is reached once.
    if (frame.next == smaller.size() ||
        (frame.node >= 0 &&
         ideals.rank(smaller[frame.next].node) > ideals.rank(frame.node))) {
      if (frame.node >= 0) {
        load.remove(frame.node);
        fit.remove(frame.node);
      }
      path.pop_back();
      continue;
    }
    Ideals::Smaller step = smaller[frame.next++];
    if (load.compute() + request.graph.places[place].time[step.node] > limit)
      continue;
    if (++steps > kMostSteps)
      return Error{"the graph has too many pairs of ideals"};
    load.add(step.node);
    fit.add(step.node);
    if (load.load() <= limit)
      relax(ideal, step.ideal, load.load(), place);
    path.push_back({step.ideal, step.node, 0});
  }
  return {};
}

/// Walks from `ideal` once for every place that the next stage may take.
Status Search::walkFrom(int ideal) {
  std::vector<bool> isNext(request.graph.places.size(), false);
  reached.clear();
  for (size_t state = 0; state < pool.size(); ++state) {
    if (best[index(ideal, int(state))] == kInfinity)
      continue;
    reached.push_back(int(state));
    for (const DevicePool::Step &step : pool[int(state)].steps)
      isNext[step.place] = true;
  }
  for (size_t place = 0; place < isNext.size(); ++place)
    if (isNext[place])
      if (Status status = walk(ideal, place); !status)
        return status;
  return {};
}

Status Search::run(double newLimit, Aim newAim) {
  limit = newLimit * (1 + kTolerance);
  aim = newAim;
  if (ideals.size() > kMostEntries / pool.size())
    return Error{"the graph has too many ideals for the devices"};
  best.assign(ideals.size() * pool.size(), kInfinity);
  from.assign(best.size(), {});
  best[index(int(ideals.size()) - 1, 0)] = 0;
  for (int ideal = int(ideals.size()) - 1; ideal > 0; --ideal)
    if (Status status = walkFrom(ideal); !status)
      return status;
  return {};
}

int Search::bestState() const {
  int found = -1;
  for (size_t state = 0; state < pool.size(); ++state) {
    if (request.exact && pool[int(state)].stages != request.most)
      continue;
    if (value(int(state)) < (found < 0 ? kInfinity : value(found)))
      found = int(state);
  }
  return found;
}

MaxLoadSplit Search::split(int state) const {
  MaxLoadSplit result;
  for (int ideal = 0; state != 0;) {
    Origin origin = from[index(ideal, state)];
    const DevicePool::Step &step = pool.step(origin.state, state);
    std::vector<int> all = ideals.nodesOf(origin.ideal),
                     rest = ideals.nodesOf(ideal), nodes;
    std::set_difference(all.begin(), all.end(), rest.begin(), rest.end(),
                        std::back_inserter(nodes));
    GrowingLoad load(request.graph, request.graph.places[step.place]);
    for (int node : nodes)
      load.add(node);
    result.load = std::max(result.load, load.load());
    result.stages.push_back(std::move(nodes));
    result.devices.push_back(request.order[step.position]);
    ideal = origin.ideal;
    state = origin.state;
  }
  return result;
}

Result<std::optional<MaxLoadSplit>>
splitByIdeals(const SplitRequest &request, const Ideals &ideals, double known) {
  Search search(request, ideals);
  if (Status status = search.run(known, Aim::LargestLoad); !status)
    return status.error();
  int state = search.bestState();
  if (state < 0)
    return std::optional<MaxLoadSplit>();
  if (Status status = search.run(search.value(state), Aim::SumOfSquares);
      !status)
    return status.error();
  return std::optional(search.split(search.bestState()));
}

std::vector<int> depthFirstOrder(const LoadGraph &graph) {
  std::vector<size_t> waits;
  std::vector<int> ready, order;
  for (size_t node = 0; node < graph.size(); ++node)
    waits.push_back(graph.before[node].size());
  for (size_t node = graph.size(); node-- > 0;)
    if (waits[node] == 0)
      ready.push_back(int(node));
  while (!ready.empty()) {
    order.push_back(ready.back());
    ready.pop_back();
    for (int after : graph.after[order.back()])
      if (--waits[after] == 0)
        ready.push_back(after);
  }
  return order;
}

} // namespace stagewright
