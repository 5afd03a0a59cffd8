//===- Gathers.cpp - joins of shards as collectives -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A join of N shards is N values of one type, each made on a rank of its own
// and read on all N. As messages these are N (N - 1) channels; here they become
// one gather, with a stash on each rank in which the parts lie side by side.
//
// Values are matched by their places: those of the group's ranks are made in
// the same kind of action at the same level, read at the same level, and the
// k-th of one rank goes with the k-th of the others. Any match has the right
// values, since each rank reads the parts of the nodes that it reads in the
// graph. A wrong one could only make ranks wait for each other, which
// verify-rank-programs refuses.
//
// Ranks must begin their gathers in one order. So the ranks of a group run the
// same actions in the same order, two groups have the same ranks or none in
// common, and the gathers of one action are made in the same order.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"

namespace stagewright::torank {

namespace {

class Gatherer {
public:
  explicit Gatherer(Plan &plan);
  void run();

private:
  /// Where a value is made and read, equal for all parts of a join.
  using Key = std::tuple<std::vector<int64_t>, ActionKind, int64_t, int64_t,
                         int64_t, const void *>;
  std::optional<Key> keyOf(Value value, const ValuePlan &made) const;
  bool runAlike(ArrayRef<int64_t> ranks);
  void add(ArrayRef<int64_t> ranks, ArrayRef<Value> parts, int64_t level);

  Plan &plan;
  /// By copy of a stage: its number among those of its rank and copy.
  std::vector<int64_t> levelOf;
  std::map<std::vector<int64_t>, bool> alike;        ///< By ranks.
  std::vector<const std::vector<int64_t> *> groupOf; ///< By rank.
};

} // namespace

Gatherer::Gatherer(Plan &plan) : plan(plan), groupOf(plan.numRanks()) {
  std::map<std::pair<int64_t, int64_t>, int64_t> count;
  for (auto [number, rank] : llvm::enumerate(plan.rankOfStage))
    levelOf.push_back(count[{rank, int64_t(number) / plan.numStages}]++);
}

/// None if `value` is no part of a join: one other stage on each of some ranks
/// reads it, at the same level, and so does its own rank.
std::optional<Gatherer::Key> Gatherer::keyOf(Value value,
                                             const ValuePlan &made) const {
  if (made.channels.empty() || !made.outputs.empty())
    return std::nullopt;
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (!element.isIntOrFloat() || element.isInteger(1) ||
      rank::getSlotBytes(type) % 64 != 0)
    return std::nullopt;
  std::vector<int64_t> ranks = {plan.rankOf(made.made)};
  int64_t level = levelOf[plan.channels[made.channels.front()].stage];
  for (unsigned number : made.channels) {
    const ChannelPlan &channel = plan.channels[number];
    ranks.push_back(channel.to);
    if (levelOf[channel.stage] != level)
      return std::nullopt;
  }
  llvm::sort(ranks);
  bool isRead = llvm::any_of(made.stashes, [&](const StashPlan &stash) {
    return levelOf[stash.stage] == level;
  });
  if (!isRead || llvm::adjacent_find(ranks) != ranks.end())
    return std::nullopt;
  return Key{ranks,
             made.made.kind,
             made.made.stage / plan.numStages,
             levelOf[made.made.stage],
             level,
             type.getAsOpaquePointer()};
}

/// Whether `ranks` run the same actions in the same order, and share none with
/// another group.
bool Gatherer::runAlike(ArrayRef<int64_t> ranks) {
  auto [entry, isNew] = alike.try_emplace(ranks.vec(), false);
  if (!isNew)
    return entry->second;
  auto orderOf = [&](int64_t rank) {
    Order order = orderOfCopies(plan, rank);
    for (Action &action : order)
      action.stage = action.stage / plan.numStages * plan.numStages +
                     levelOf[action.stage];
    return order;
  };
  Order first = orderOf(ranks.front());
  for (int64_t rank : ranks)
    if (groupOf[rank] || orderOf(rank) != first)
      return false;
  for (int64_t rank : ranks)
    groupOf[rank] = &entry->first;
  return entry->second = true;
}

/// The parts of one join, by rank. The slot of each rank is held from the
/// action that makes its part to the last that reads any part.
void Gatherer::add(ArrayRef<int64_t> ranks, ArrayRef<Value> parts,
                   int64_t level) {
  int64_t number = plan.gathers.size();
  GatherPlan &gather = plan.gathers.emplace_back();
  gather.ranks.assign(ranks.begin(), ranks.end());
  auto node = parts.front().getDefiningOp<pipeline::NodeOp>();
  const ValuePlan &front = plan.values[parts.front()];
  gather.name =
      (node.getNodeName() + "." +
       Twine(cast<OpResult>(parts.front()).getResultNumber()) + ".gather")
          .str();
  if (int64_t copy = front.made.stage / plan.numStages)
    gather.name += ".copy" + std::to_string(copy);
  gather.type = parts.front().getType();
  std::map<int64_t, StashPlan *> stashOf; // By rank.
  for (auto [place, part] : llvm::enumerate(parts)) {
    ValuePlan &made = plan.values[part];
    made.gather = number;
    made.partOfGather = place;
    auto own = llvm::find_if(made.stashes, [&](const StashPlan &stash) {
      return levelOf[stash.stage] == level;
    });
    std::swap(*own, made.stashes.front());
    made.stashes.front().gathers = true;
    stashOf[ranks[place]] = &made.stashes.front();
  }
  for (Value part : parts)
    for (unsigned channel : plan.values[part].channels) {
      plan.channels[channel].gathered = true;
      stashOf[plan.channels[channel].to]->extend(plan.channels[channel]);
    }
}

void Gatherer::run() {
  struct Part {
    unsigned position, number; ///< In its action; of the node's result.
    Value value;
  };
  llvm::MapVector<Key, std::map<int64_t, std::vector<Part>>,
                  std::map<Key, unsigned>>
      found;
  for (auto &[value, made] : plan.values)
    if (std::optional<Key> key = keyOf(value, made))
      found[*key][plan.rankOf(made.made)].push_back(
          {made.madeAt, cast<OpResult>(value).getResultNumber(), value});
  /// By ranks, copy, kind and level of an action: by gather, the place of each
  /// part in its action.
  std::map<std::tuple<std::vector<int64_t>, ActionKind, int64_t, int64_t>,
           std::vector<std::vector<std::pair<unsigned, unsigned>>>>
      made;
  for (auto &[key, byRank] : found) {
    const auto &[ranks, kind, copy, level, reader, type] = key;
    size_t count = byRank.begin()->second.size();
    bool all = byRank.size() == ranks.size();
    for (auto &[rank, parts] : byRank) {
      all &= parts.size() == count;
      llvm::sort(parts, [](const Part &a, const Part &b) {
        return std::tie(a.position, a.number) < std::tie(b.position, b.number);
      });
    }
    if (!all || !runAlike(ranks))
      continue;
    auto &others = made[{ranks, kind, copy, level}];
    for (size_t number = 0; number < count; ++number) {
      SmallVector<Value> parts;
      std::vector<std::pair<unsigned, unsigned>> places;
      for (auto &[rank, own] : byRank) {
        parts.push_back(own[number].value);
        places.emplace_back(own[number].position, own[number].number);
      }
      bool isOrdered = llvm::all_of(others, [&](const auto &other) {
        bool before = places.front() < other.front();
        for (size_t i = 0; i < places.size(); ++i)
          if ((places[i] < other[i]) != before)
            return false;
        return true;
      });
      if (!isOrdered)
        continue;
      add(ranks, parts, reader);
      others.push_back(std::move(places));
    }
  }
}

void chooseGathers(Plan &plan) {
  if (!plan.family && plan.credits.empty())
    Gatherer(plan).run();
}

} // namespace stagewright::torank
