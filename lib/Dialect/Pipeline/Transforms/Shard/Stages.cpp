//===- Stages.cpp - stages with different numbers of shards ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stages.h"
#include "Sharder.h"
#include "stagewright/Analysis/CountFlops.h"
#include <limits>

namespace stagewright::pipeline {

/// The ends of the stages, as numbers of layers, if layer l takes `seconds[l]`
/// on one device. Of the cuts whose slowest stage is as fast as possible, that
/// with the least sum of squares of the stages' times.
static std::vector<size_t> cutEvenly(ArrayRef<double> seconds,
                                     ArrayRef<int64_t> ways) {
  size_t count = seconds.size();
  std::vector<double> before = {0}; // By layer: the seconds of those before it.
  for (double own : seconds)
    before.push_back(before.back() + own);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  using Cut = std::pair<double, size_t>;
  // By number of stages and end: the value of the best cut, and the start of
  // its last stage. `join` adds the time of a stage to a value.
  auto bestCuts = [&](auto join) {
    std::vector<std::vector<Cut>> best(
        ways.size() + 1, std::vector<Cut>(count + 1, Cut(kNever, 0)));
    best[0][0] = {0, 0};
    for (size_t stage = 0; stage < ways.size(); ++stage)
      for (size_t end = stage + 1; end <= count; ++end)
        for (size_t start = stage; start < end; ++start)
          best[stage + 1][end] = std::min(
              best[stage + 1][end],
              Cut(join(best[stage][start].first,
                       (before[end] - before[start]) / double(ways[stage])),
                  start));
    return best;
  };
  double slowest =
      bestCuts([](double so, double own) { return std::max(so, own); })
          .back()[count]
          .first;
  auto best = bestCuts([&](double so, double own) {
    return own > slowest * (1 + 1e-9) ? kNever : so + own * own;
  });
  std::vector<size_t> ends(ways.size());
  size_t end = count;
  for (size_t stage = ways.size(); stage-- > 0;) {
    ends[stage] = end;
    end = best[stage + 1][end].second;
  }
  return ends;
}

int64_t StageShards::senderOf(int from, int to, int64_t shard) const {
  if (!devices.empty()) {
    const std::vector<int64_t> &all = devices[size_t(from)];
    auto found = llvm::find(all, devices[size_t(to)][size_t(shard)]);
    if (found != all.end())
      return found - all.begin();
  }
  return shard % ways[size_t(from)];
}

/// Adds to `arguments` those that `value` is, or is computed from by free
/// operations.
static void collectArguments(const StepGraph &graph, Value value,
                             std::set<unsigned> &arguments) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    arguments.insert(argument.getArgNumber());
    return;
  }
  int number = graph.indexOf(value);
  if (number >= 0 && graph.ops[size_t(number)].free)
    for (Value operand : graph.ops[size_t(number)].operands)
      collectArguments(graph, operand, arguments);
}

FailureOr<StageShards> cutIntoStages(const StepGraph &graph,
                                     const Layers &layers,
                                     ArrayRef<int64_t> ways,
                                     const Device &device) {
  if (layers.names.size() < ways.size()) {
    FunctionOpInterface step = graph.step;
    return emitError(step.getLoc())
           << ways.size() << " stages with numbers of shards of their own need "
           << "as many layers, and the step has " << layers.names.size()
           << "; give fewer stages, or finer layers with --layers";
  }
  FlopCounter counter;
  std::vector<double> seconds(layers.names.size());
  for (auto [entry, layer] : llvm::zip_equal(graph.ops, layers.layerOf)) {
    if (layer < 0)
      continue;
    NodeWork work;
    FlopCount count = counter.countOperation(entry.op);
    work.flops = Flops(count.total);
    work.contractions = count.contractions;
    seconds[size_t(layer)] += rooflineSeconds(work, device).value;
  }
  std::vector<size_t> ends = cutEvenly(seconds, ways);
  StageShards stages;
  stages.ways.assign(ways.begin(), ways.end());
  FunctionOpInterface step = graph.step;
  stages.readers.resize(step.getNumArguments());
  for (auto [entry, layer] : llvm::zip_equal(graph.ops, layers.layerOf)) {
    int stage = StageShards::kAny;
    if (layer >= 0)
      stage = int(llvm::upper_bound(ends, size_t(layer)) - ends.begin());
    stages.of.push_back(stage);
    if (!entry.isChained() || stage < 0)
      continue;
    std::set<unsigned> arguments;
    for (Value operand : entry.operands)
      collectArguments(graph, operand, arguments);
    for (unsigned argument : arguments)
      stages.readers[argument].insert(stage);
  }
  return stages;
}

std::vector<std::pair<Operation *, int>>
inOrderOfStages(Block &block, const StepGraph &graph,
                const StageShards &stages) {
  // Backwards follow forwards, and their stages descend. Each key is at least
  // those of the operands.
  int count = int(stages.ways.size());
  auto keyOf = [&](bool isBackward, int stage) {
    return isBackward ? 2 * count - 1 - stage : stage;
  };
  DenseMap<Value, int> keys;
  std::vector<std::pair<Operation *, int>> order;
  for (Operation &op : block.without_terminator()) {
    int key = 0;
    if (int number = op.getNumResults() ? graph.indexOf(op.getResult(0)) : -1;
        number >= 0 && stages.of[size_t(number)] >= 0)
      key = keyOf(graph.ops[size_t(number)].isBackward(),
                  stages.of[size_t(number)]);
    for (Value value : readsOf(op)) {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &block)
          key = std::max(key, stages.stageOf(argument.getArgNumber()));
      } else if (auto made = keys.find(value); made != keys.end()) {
        key = std::max(key, made->second);
      }
    }
    for (Value result : op.getResults())
      keys[result] = key;
    order.push_back({&op, key});
  }
  llvm::stable_sort(
      order, [](const auto &a, const auto &b) { return a.second < b.second; });
  for (auto &[op, key] : order)
    key = key < count ? key : 2 * count - 1 - key;
  return order;
}

} // namespace stagewright::pipeline
