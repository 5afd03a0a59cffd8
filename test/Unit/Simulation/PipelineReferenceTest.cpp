//===- PipelineReferenceTest.cpp - comparison with a slow simulator -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference implements the rules of Pipeline.h directly: a list of blocks
// with their dependencies, and integer times. At every instant it checks all
// blocks. It shares no code with the simulator.
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "PipelineModels.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <tuple>

using namespace stagewright;

namespace {

struct Block {
  bool backward, transfer;
  size_t number;
  int64_t m, length, window;
  int turn; ///< within a window
  std::vector<size_t> waits, resources;
  /// Other resources, which are free in the last `latency` of its time.
  std::vector<size_t> shared = {};
  int64_t latency = 0;
  int64_t start = -1, end = -1;

  bool holds(size_t resource, int64_t now) const {
    auto has = [&](const std::vector<size_t> &some) {
      return std::count(some.begin(), some.end(), resource) > 0;
    };
    return start >= 0 && ((end > now && has(resources)) ||
                          (end - latency > now && has(shared)));
  }
  std::vector<size_t> all() const {
    std::vector<size_t> both = resources;
    both.insert(both.end(), shared.begin(), shared.end());
    return both;
  }

  /// Backwards go from the last stage to the first, and their messages as well.
  auto priority() const {
    auto place = int64_t(number);
    return std::tuple(!backward, m, backward && transfer ? -place : place);
  }
};

class Reference {
public:
  Reference(const PipelineModel &model, ExecutionOrder order)
      : model(model), order(order) {
    findDepths();
    for (int64_t m = 0; m < model.microbatches; ++m)
      addBlocks(m);
  }

  int64_t makespan() {
    order == ExecutionOrder::Window ? runWindow() : runEvents();
    int64_t makespan = 0;
    std::vector<int64_t> stageEnds(model.stages.size(), 0);
    for (const Block &block : blocks) {
      EXPECT_GE(block.end, 0);
      makespan = std::max(makespan, block.end);
      if (block.backward && !block.transfer)
        stageEnds[block.number] = std::max(stageEnds[block.number], block.end);
    }
    if (!model.forwardOnly)
      makespan = std::max(makespan, lastCollective(stageEnds));
    for (const PipelineTie &tie : model.ties)
      if (!model.forwardOnly)
        makespan = std::max(makespan, stageEnds[tie.from] + whole(tie.seconds));
    return makespan;
  }

private:
  static int64_t whole(Seconds seconds) { return int64_t(seconds.value); }

  /// When the last collective ends. A processor runs its collectives one at a
  /// time, in the order in which their stages end.
  int64_t lastCollective(const std::vector<int64_t> &stageEnds) const {
    std::set<std::pair<int64_t, size_t>> waiting;
    for (size_t n = 0; n < stageEnds.size(); ++n)
      if (whole(model.stages[n].tail + model.stages[n].overlapped) > 0)
        waiting.insert({stageEnds[n], n});
    std::map<size_t, int64_t> freeAt;
    int64_t last = 0;
    for (auto [end, n] : waiting) {
      const PipelineStage &stage = model.stages[n];
      int64_t done = end + whole(stage.tail);
      for (size_t processor : stage.processors)
        if (freeAt.count(processor))
          done = std::max(done, freeAt[processor] +
                                    whole(stage.overlapped + stage.tail));
      for (size_t processor : stage.processors)
        freeAt[processor] = done;
      last = std::max(last, done);
    }
    return last;
  }

  int64_t depthOf(size_t stage) const {
    int64_t depth = 0;
    for (const PipelineChannel &channel : model.channels)
      if (channel.to == stage)
        depth = std::max(depth, depthOf(channel.from) + 1);
    return depth;
  }
  void findDepths() {
    for (size_t n = 0; n < model.stages.size(); ++n) {
      depths.push_back(depthOf(n));
      deepest = std::max(deepest, depths[n]);
    }
  }

  /// The number of processors of stage `stage` and all later ones.
  int64_t processorsFrom(size_t stage) const {
    int64_t count = 0;
    for (; stage < model.stages.size(); ++stage)
      count += int64_t(model.stages[stage].processors.size());
    return count;
  }
  /// Microbatches per window: the min number of processors of a stage.
  int64_t together() const {
    size_t least = model.stages[0].processors.size();
    for (const PipelineStage &stage : model.stages)
      least = std::min(least, stage.processors.size());
    return int64_t(least);
  }

  void addBlocks(int64_t m) {
    size_t stages = model.stages.size(), base = blocks.size();
    int64_t w = m / together();
    for (size_t n = 0; n < stages; ++n) {
      const PipelineStage &stage = model.stages[n];
      size_t processor = stage.processors[size_t(m) % stage.processors.size()];
      blocks.push_back({false,
                        false,
                        n,
                        m,
                        whole(stage.times.forward),
                        w + 2 * depths[n],
                        1,
                        {},
                        {processor}});
    }
    for (size_t n = 0; !model.forwardOnly && n < stages; ++n) {
      const PipelineStage &stage = model.stages[n];
      blocks.push_back({true,
                        false,
                        n,
                        m,
                        whole(stage.backward()),
                        w + 4 * deepest - 2 * depths[n],
                        depths[n] == deepest ? 2 : 0,
                        {base + n},
                        blocks[base + n].resources});
    }
    for (size_t c = 0; c < model.channels.size(); ++c) {
      const PipelineChannel &channel = model.channels[c];
      // Adds the block of a transfer.
      auto add = [&](bool backward, Seconds seconds, int64_t window, int turn,
                     size_t waits, const std::vector<size_t> &lanes,
                     const std::vector<std::vector<size_t>> &shared) {
        size_t lane = size_t(m) % lanes.size();
        int64_t length = whole(seconds);
        Block block{backward, true,         c, m, length, window, turn,
                    {waits},  {lanes[lane]}};
        if (!shared.empty())
          block.shared = shared[shared.size() == 1 ? 0 : lane];
        for (size_t &resource : block.resources)
          resource += model.numProcessors;
        for (size_t &resource : block.shared)
          resource += model.numProcessors;
        block.latency = std::min(length, whole(channel.latency));
        blocks.push_back(block);
      };
      if (channel.hasForward) {
        blocks[base + channel.to].waits.push_back(blocks.size());
        add(false, channel.forward, w + 2 * depths[channel.from] + 1, 1,
            base + channel.from, channel.forwardLanes, channel.forwardShared);
      }
      if (channel.hasBackward && !model.forwardOnly) {
        blocks[base + stages + channel.from].waits.push_back(blocks.size());
        add(true, channel.backward,
            w + 4 * deepest - 2 * depths[channel.to] + 1, 0,
            base + stages + channel.to, channel.backwardLanes,
            channel.backwardShared);
      }
    }
  }

  bool isDone(size_t block, int64_t now) const {
    return blocks[block].end >= 0 && blocks[block].end <= now;
  }
  bool isReady(const Block &block, int64_t now) const {
    return block.start < 0 &&
           std::all_of(
               block.waits.begin(), block.waits.end(),
               [&](size_t wait) { return isDone(wait, now); });
  }

  // Each resource has a list of blocks. A block starts when it is first in all
  // lists of its resources and the times of its dependencies are known.
  void runWindow() {
    std::vector<size_t> sorted(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b)
      sorted[b] = b;
    std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
      return std::tuple(blocks[a].window, blocks[a].turn, blocks[a].number,
                        blocks[a].m) <
             std::tuple(blocks[b].window, blocks[b].turn, blocks[b].number,
                        blocks[b].m);
    });
    std::vector<std::vector<size_t>> lists(model.numProcessors +
                                           model.numLinks);
    for (size_t b : sorted)
      for (size_t resource : unique(blocks[b].all()))
        lists[resource].push_back(b);
    std::vector<size_t> next(lists.size(), 0);
    std::vector<int64_t> free(lists.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (Block &block : blocks) {
        size_t number = size_t(&block - blocks.data());
        int64_t start = 0;
        bool can = block.start < 0;
        for (size_t resource : unique(block.all())) {
          can = can && lists[resource][next[resource]] == number;
          start = std::max(start, free[resource]);
        }
        for (size_t wait : block.waits) {
          can = can && blocks[wait].end >= 0;
          start = std::max(start, blocks[wait].end);
        }
        if (!can)
          continue;
        block.start = start;
        block.end = start + block.length;
        for (size_t resource : unique(block.all()))
          ++next[resource];
        for (size_t resource : block.shared)
          free[resource] = block.end - block.latency;
        for (size_t resource : block.resources)
          free[resource] = block.end;
        progress = true;
      }
    }
  }
  static std::vector<size_t> unique(std::vector<size_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  bool isFree(const Block &block, int64_t now) const {
    for (const Block &other : blocks)
      for (size_t resource : block.all())
        if (other.holds(resource, now))
          return false;
    return true;
  }

  /// Whether the order of its stage or processor lets `block` run now.
  bool isAllowed(const Block &block, int64_t now) const {
    if (block.transfer || order == ExecutionOrder::Greedy ||
        (model.forwardOnly && order != ExecutionOrder::GPipe &&
         order != ExecutionOrder::OneFOneB))
      return true;
    if (order == ExecutionOrder::CapA ||
        order == ExecutionOrder::EarlyBackward) {
      auto own = int64_t(model.stages[block.number].processors.size());
      int64_t all = processorsFrom(block.number);
      int64_t cap = order == ExecutionOrder::CapA ? all : 2 * all - own;
      cap = (cap + own - 1) / own; // per processor
      int64_t inFlight = 0;
      for (const Block &other : blocks)
        if (!other.transfer && other.number == block.number &&
            other.resources == block.resources) {
          inFlight += !other.backward && other.start >= 0;
          inFlight -= other.backward && other.end >= 0 && other.end <= now;
        }
      return block.backward || inFlight < cap;
    }
    // All blocks that precede it in this order must have started.
    auto rank = [&](const Block &b) {
      auto s = int64_t(b.number);
      if (order == ExecutionOrder::GPipe)
        return std::tuple(int64_t(b.backward), b.backward ? -s : s, b.m);
      int64_t warmUp = processorsFrom(b.number);
      if (b.backward)
        return std::tuple<int64_t, int64_t, int64_t>(0, 2 * b.m, 0);
      return b.m < warmUp ? std::tuple<int64_t, int64_t, int64_t>(-1, b.m, 0)
                          : std::tuple<int64_t, int64_t, int64_t>(
                                0, 2 * (b.m - warmUp) + 1, 0);
    };
    for (const Block &other : blocks) {
      if (other.transfer || other.start >= 0 ||
          other.resources != block.resources)
        continue;
      if (order == ExecutionOrder::OneFOneB && other.number != block.number)
        continue;
      if (rank(other) < rank(block))
        return false;
    }
    return true;
  }

  /// The block to start next at `now`, or null.
  Block *choose(int64_t now) {
    Block *best = nullptr;
    auto key = [](const Block &block) {
      int kind = block.transfer ? (block.length == 0 ? 0 : 1) : 2;
      return std::tuple(kind, block.priority());
    };
    for (Block &block : blocks)
      if (isReady(block, now) && isFree(block, now) && isAllowed(block, now) &&
          (!best || key(block) < key(*best)))
        best = &block;
    return best;
  }

  void runEvents() {
    for (int64_t now = 0; now >= 0;) {
      while (Block *block = choose(now)) {
        block->start = now;
        block->end = now + block->length;
      }
      int64_t next = -1;
      for (const Block &block : blocks)
        for (int64_t time : {block.end, block.end - block.latency})
          if (block.start >= 0 && time > now && (next < 0 || time < next))
            next = time;
      now = next;
    }
  }

  const PipelineModel &model;
  ExecutionOrder order;
  std::vector<int64_t> depths;
  int64_t deepest = 0;
  std::vector<Block> blocks;
};

} // namespace

TEST(PipelineReference, RandomPipelines) {
  const unsigned seed = 2026;
  std::mt19937 random(seed);
  PipelineSimulator simulator;
  for (uint64_t round = 0; round < 3000 / stagewright::testing::kPart;
       ++round) {
    PipelineModel model = randomModel(random);
    ASSERT_TRUE(model.check()) << model.check().error().message;
    for (ExecutionOrder order : allExecutionOrders())
      ASSERT_EQ(simulator.makespanOf(model, order).value,
                double(Reference(model, order).makespan()))
          << toString(order) << ", seed " << seed << ", round " << round;
  }
}
