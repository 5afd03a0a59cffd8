//===- Gathers.cpp - joins and scatters of shards as collectives ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A join of N shards is N values of one type, each made on a rank of its own
// and read on all N. As messages these are N (N - 1) channels; here they become
// one gather, with a stash on each rank in which the parts lie side by side. A
// scatter is N - 1 values on each rank, of which each other rank reads one.
// They become one exchange.
//
// Values are matched by their places: those of the group's ranks are made in
// the same kind of action at the same level, read at the same level, and the
// k-th of one rank (for one receiver) goes with the k-th of the others. Any
// match gives the right values, since each rank reads the parts that its nodes
// read in the graph. A bad match can only cause a deadlock, which
// verify-rank-programs rejects.
//
// Ranks must begin their gathers in one order. So gathers are formed only if
// the ranks of groups that have ranks in common, such as the rows and columns
// of a grid, run the same actions in the same order, and if all gathers of one
// action have an order that suits every rank.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include <set>

namespace stagewright::torank {

namespace {

class Gatherer {
public:
  explicit Gatherer(Plan &plan);
  void run();

private:
  using Ranks = std::vector<int64_t>;
  /// Where a value is made and read, equal for all parts: kind, copy and level
  /// of the action, level of the reader, type.
  using Key = std::tuple<ActionKind, int64_t, int64_t, int64_t, const void *>;
  /// A value, and its place in the action that makes it: the position of its
  /// node, and the number of the node's result.
  struct Part {
    std::pair<unsigned, unsigned> place;
    Value value;

    friend bool operator<(const Part &a, const Part &b) {
      return a.place < b.place;
    }
  };
  using Parts = std::vector<Part>;
  /// The gathers that begin in an action: each with the parts with which ranks
  /// begin it, and the number of each by rank and part.
  struct Begun {
    std::vector<std::vector<std::pair<int64_t, Part>>> gathers;
    std::map<int64_t, std::map<Part, size_t>> ofRank;
  };
  using Sent = std::map<int64_t, std::map<int64_t, Parts>>;

  void find();
  void addGathers(const Key &key, const Ranks &ranks,
                  const std::map<int64_t, Parts> &made);
  void addExchanges(const Key &key, const Sent &sent);
  void addExchange(const Key &key, const Ranks &ranks, const Sent &sent,
                   size_t k);
  bool runAlike(const Ranks &ranks);
  bool keepsOrder(const Key &key, const Ranks &ranks, const Parts &begins);
  int64_t add(const Key &key, const Ranks &ranks, Value part, bool exchanges);
  void mark(Value part, int64_t gather, int64_t written, int64_t read);

  Plan &plan;
  /// By number of a stage: its level, which is its position among the stages of
  /// its rank on one route.
  std::vector<int64_t> levelOf;
  /// By rank: the ranks of all groups that are linked to it by common ranks.
  std::vector<Ranks> teamOf;
  std::set<Ranks> unlike;          ///< Teams whose ranks do not run alike.
  std::map<Key, unsigned> numbers; ///< Of keys, in the order of values.
  /// By number of the key and ranks, then rank: the parts of joins.
  std::map<std::pair<unsigned, Ranks>, std::map<int64_t, Parts>> joined;
  /// By number of the key, then sender and receiver: the parts of scatters.
  std::map<unsigned, Sent> scattered;
  /// By kind, copy and level of an action.
  std::map<std::tuple<ActionKind, int64_t, int64_t>, Begun> begun;
};

} // namespace

Gatherer::Gatherer(Plan &plan) : plan(plan), teamOf(plan.numRanks()) {
  std::map<std::pair<int64_t, int64_t>, int64_t> count;
  for (auto [number, rank] : llvm::enumerate(plan.rankOfStage))
    levelOf.push_back(count[{rank, int64_t(number) / plan.numStages}]++);
}

/// Finds values of a multiple of 64 bytes, not kept as results, that some other
/// ranks read, each in one stage and all at one level. They are parts of joins
/// if their own rank also reads them at that level; else, if only one other
/// rank reads them, parts of scatters.
void Gatherer::find() {
  for (auto &[value, made] : plan.values) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    if (made.channels.empty() || !made.outputs.empty() ||
        !element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0 ||
        type.getNumElements() == 0 || rank::getSlotBytes(type) % 64 != 0)
      continue;
    // The action that makes a part must not read it, since the gather is under
    // way then.
    if (made.lastHere != made.madeAt)
      continue;
    int64_t from = plan.rankOf(made.made);
    int64_t level = levelOf[plan.channels[made.channels.front()].stage];
    Ranks ranks = {from};
    for (unsigned number : made.channels)
      if (levelOf[plan.channels[number].stage] == level)
        ranks.push_back(plan.channels[number].to);
    llvm::sort(ranks);
    if (ranks.size() != made.channels.size() + 1 ||
        llvm::adjacent_find(ranks) != ranks.end())
      continue;
    Key key{made.made.kind, made.made.stage / plan.numStages,
            levelOf[made.made.stage], level, type.getAsOpaquePointer()};
    unsigned number =
        numbers.try_emplace(key, unsigned(numbers.size())).first->second;
    Part part{{made.madeAt, cast<OpResult>(value).getResultNumber()}, value};
    if (llvm::any_of(made.stashes, [&](const StashPlan &stash) {
          return levelOf[stash.stage] == level;
        }))
      joined[{number, ranks}][from].push_back(part);
    else if (made.channels.size() == 1)
      scattered[number][from][plan.channels[made.channels.front()].to]
          .push_back(part);
  }
  for (auto &[key, byRank] : joined)
    for (auto &[rank, parts] : byRank)
      llvm::sort(parts);
  for (auto &[key, bySender] : scattered)
    for (auto &[from, byReceiver] : bySender)
      for (auto &[to, parts] : byReceiver)
        llvm::sort(parts);
}

/// Whether `ranks`, ascending, and those of groups that have ranks in common
/// with them, run the same actions in the same order. If so they are one team
/// from then on.
bool Gatherer::runAlike(const Ranks &ranks) {
  if (const Ranks &own = teamOf[ranks.front()];
      std::includes(own.begin(), own.end(), ranks.begin(), ranks.end()))
    return true;
  std::set<int64_t> all(ranks.begin(), ranks.end());
  for (int64_t rank : ranks)
    all.insert(teamOf[rank].begin(), teamOf[rank].end());
  Ranks team(all.begin(), all.end());
  if (unlike.contains(team))
    return false;
  auto orderOf = [&](int64_t rank) {
    Order order = orderOfCopies(plan, rank);
    for (Action &action : order)
      action.stage = action.stage / plan.numStages * plan.numStages +
                     levelOf[action.stage];
    return order;
  };
  Order first = orderOf(team.front());
  if (llvm::any_of(team,
                   [&](int64_t rank) { return orderOf(rank) != first; })) {
    unlike.insert(team);
    return false;
  }
  for (int64_t rank : team)
    teamOf[rank] = team;
  return true;
}

/// Whether all ranks can begin, in one order with the other gathers of the
/// action, a gather that `ranks` begin with the parts `begins`. If so, records
/// it.
bool Gatherer::keepsOrder(const Key &key, const Ranks &ranks,
                          const Parts &begins) {
  auto [kind, copy, level, reader, type] = key;
  auto &[gathers, ofRank] = begun[{kind, copy, level}];
  size_t own = gathers.size();
  auto &added = gathers.emplace_back();
  for (auto [rank, part] : llvm::zip_equal(ranks, begins)) {
    added.push_back({rank, part});
    ofRank[rank][part] = own;
  }
  // Follows what begins after it, on any rank.
  std::set<size_t> seen;
  std::vector<size_t> open = {own};
  while (!open.empty()) {
    size_t gather = open.back();
    open.pop_back();
    for (const auto &[rank, part] : gathers[gather]) {
      auto next = ofRank[rank].upper_bound(part);
      if (next == ofRank[rank].end())
        continue;
      if (next->second == own) {
        for (const auto &[rank, part] : gathers[own])
          ofRank[rank].erase(part);
        gathers.pop_back();
        return false;
      }
      if (seen.insert(next->second).second)
        open.push_back(next->second);
    }
  }
  return true;
}

/// Adds a gather, or an exchange, named after `part`; returns its number.
int64_t Gatherer::add(const Key &key, const Ranks &ranks, Value part,
                      bool exchanges) {
  auto node = part.getDefiningOp<pipeline::NodeOp>();
  GatherPlan &gather = plan.gathers.emplace_back();
  gather.name = (node.getNodeName() + "." +
                 Twine(cast<OpResult>(part).getResultNumber()) +
                 (exchanges ? ".exchange" : ".gather"))
                    .str();
  if (int64_t copy = std::get<1>(key))
    gather.name += ".copy" + std::to_string(copy);
  gather.ranks = ranks;
  gather.type = part.getType();
  gather.exchanges = exchanges;
  return int64_t(plan.gathers.size()) - 1;
}

void Gatherer::mark(Value part, int64_t gather, int64_t written, int64_t read) {
  ValuePlan &made = plan.values[part];
  made.gather = gather;
  made.writtenPart = written;
  made.readPart = read;
  for (unsigned channel : made.channels)
    plan.channels[channel].gathered = true;
}

/// `made`: by rank. The slot of each rank is held from the action that makes
/// its part to the last that reads any part.
void Gatherer::addGathers(const Key &key, const Ranks &ranks,
                          const std::map<int64_t, Parts> &made) {
  size_t count = made.begin()->second.size();
  if (made.size() != ranks.size() ||
      !llvm::all_of(
          made, [&](const auto &own) { return own.second.size() == count; }) ||
      !runAlike(ranks))
    return;
  for (size_t k = 0; k < count; ++k) {
    Parts parts;
    for (auto &[rank, own] : made)
      parts.push_back(own[k]);
    if (!keepsOrder(key, ranks, parts))
      continue;
    int64_t gather = add(key, ranks, parts.front().value, false);
    std::map<int64_t, StashPlan *> stashOf; // By rank.
    for (auto [place, part] : llvm::enumerate(parts)) {
      mark(part.value, gather, place, place);
      auto &stashes = plan.values[part.value].stashes;
      auto own = llvm::find_if(stashes, [&](const StashPlan &stash) {
        return levelOf[stash.stage] == std::get<3>(key);
      });
      std::swap(*own, stashes.front());
      stashes.front().gathers = true;
      stashOf[ranks[place]] = &stashes.front();
    }
    for (const Part &part : parts)
      for (unsigned channel : plan.values[part.value].channels)
        stashOf[plan.channels[channel].to]->extend(plan.channels[channel]);
  }
}

/// Adds the exchange of the k-th parts that `ranks` send each other. The parts
/// that a rank sends share one stash, in which it also receives the parts of
/// the others. The stash is held as long as that of a gather.
void Gatherer::addExchange(const Key &key, const Ranks &ranks, const Sent &sent,
                           size_t k) {
  Parts begins; // By rank: the last part that it makes.
  for (int64_t from : ranks) {
    begins.push_back(sent.at(from).begin()->second[k]);
    for (const auto &[to, parts] : sent.at(from))
      begins.back() = std::max(begins.back(), parts[k]);
  }
  if (!keepsOrder(key, ranks, begins))
    return;
  int64_t gather =
      add(key, ranks, sent.at(ranks.front()).begin()->second[k].value, true);
  for (auto [place, from] : llvm::enumerate(ranks)) {
    std::optional<StashPlan> stash;
    for (int64_t other : ranks) {
      if (other == from)
        continue;
      Value received = sent.at(other).at(from)[k].value;
      const ChannelPlan &channel =
          plan.channels[plan.values[received].channels.front()];
      if (!stash)
        stash = StashPlan{
            channel.stage, channel.last, channel.lastAt, {}, channel.first};
      stash->extend(channel);
    }
    stash->gathers = true;
    for (const auto &[to, parts] : sent.at(from)) {
      Value part = parts[k].value;
      mark(part, gather, llvm::find(ranks, to) - ranks.begin(),
           int64_t(ranks.size() + place));
      ValuePlan &made = plan.values[part];
      made.beginsGather = part == begins[place].value;
      made.stashes.insert(made.stashes.begin(), *stash);
      stash->follows = true;
    }
  }
}

/// Adds the exchanges of all groups: sets of ranks in which every rank sends
/// the same number of parts to every other.
void Gatherer::addExchanges(const Key &key, const Sent &sent) {
  for (const auto &[first, byReceiver] : sent) {
    size_t count = byReceiver.begin()->second.size();
    Ranks ranks = {first};
    for (const auto &[to, parts] : byReceiver)
      ranks.push_back(to);
    if (!llvm::is_sorted(ranks)) // A group is found from its lowest rank.
      continue;
    bool all = llvm::all_of(ranks, [&](int64_t from) {
      auto own = sent.find(from);
      return own != sent.end() && own->second.size() + 1 == ranks.size() &&
             llvm::all_of(own->second, [&](const auto &parts) {
               return parts.second.size() == count &&
                      llvm::is_contained(ranks, parts.first);
             });
    });
    if (!all || !runAlike(ranks))
      continue;
    for (size_t k = 0; k < count; ++k)
      addExchange(key, ranks, sent, k);
  }
}

void Gatherer::run() {
  find();
  std::vector<Key> keys(numbers.size());
  for (const auto &[key, number] : numbers)
    keys[number] = key;
  for (const auto &[of, made] : joined)
    addGathers(keys[of.first], of.second, made);
  for (const auto &[number, sent] : scattered)
    addExchanges(keys[number], sent);
}

void chooseGathers(Plan &plan) {
  if (!plan.family && plan.credits.empty())
    Gatherer(plan).run();
}

} // namespace stagewright::torank
