//===- PlanChannels.cpp - the channels of a plan --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanChannels.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace stagewright {

namespace {
/// What one stage sends to another, in one direction, per microbatch.
struct Traffic {
  int64_t bytes = 0;
  Seconds given;
  bool any = false;

  void add(const LayerValue &value) {
    any = true;
    if (value.transfer)
      given += *value.transfer;
    else
      bytes += value.bytes.value;
  }
};

/// A lane of the NIC of a host, or of the port of a device inside its host; or
/// the link from device `owner` to device `number`.
struct Lane {
  enum Kind { OfNic, OfPort, ToPeer } kind;
  size_t owner, number;

  auto operator<=>(const Lane &) const = default;
};

/// Builds the channels of one plan.
class Channels {
public:
  Channels(const Problem &problem, const Network &network, const Plan &plan,
           const StageFacts &facts, PipelineModel &model)
      : problem(problem), network(network), plan(plan), facts(facts),
        model(model) {}

  void add();

private:
  void collectTraffic();
  std::set<int64_t> firstUsers(int64_t from,
                               const std::set<int64_t> &users) const;
  void carry(const LayerValue &value, int64_t from, int64_t to);
  /// Replicas, and their shares of a microbatch.
  struct Runners {
    std::vector<size_t> devices;
    std::vector<double> shares;
  };
  Runners runnersOf(int64_t stage, int64_t m) const;
  std::map<size_t, Runners> byHost(const Runners &runners) const;
  /// Senders and receivers of the forward values of a microbatch.
  using Sides = std::pair<Runners, Runners>;
  void addChannel(int64_t from, int64_t to, const Traffic &forward,
                  const Traffic &backward);
  void addChannel(int64_t from, int64_t to, const Traffic &forward,
                  const Traffic &backward, size_t lanes,
                  const std::vector<Sides> &sides);
  std::vector<size_t> sharedLinks(int64_t fromStage, int64_t toStage,
                                  const std::vector<size_t> &from,
                                  const std::vector<size_t> &to);
  std::vector<size_t> nicsOf(const std::vector<size_t> &from,
                             const std::vector<size_t> &to) const;
  size_t ownLink(const Runners &from, const Runners &to, int64_t bytes,
                 Seconds time);
  Seconds leastLatency(const Sides &sides) const;
  size_t linkOf(const Lane &lane, bool leaving);
  size_t addLink(double rate = 0) {
    if (model.sharing != LinkSharing::Turns) {
      model.linkRates.resize(model.numLinks, 0);
      model.linkRates.push_back(rate);
    }
    return model.numLinks++;
  }

  const Problem &problem;
  const Network &network;
  const Plan &plan;
  const StageFacts &facts;
  PipelineModel &model;
  /// By (from, to), from < to: the traffic from -> to, and back.
  std::map<std::pair<int64_t, int64_t>, std::pair<Traffic, Traffic>> traffic;
  std::map<int64_t, int64_t> partners; ///< By stage: number of its channels.
  std::map<std::pair<Lane, bool>, size_t> links;
};
} // namespace

/// One stage of `users` for each list of devices: the one nearest to `from`,
/// which is the first there to use a value of stage `from`. If there are users
/// on both sides of `from`, it is one of the earlier stages.
std::set<int64_t> Channels::firstUsers(int64_t from,
                                       const std::set<int64_t> &users) const {
  std::map<std::vector<size_t>, int64_t> first;
  auto distance = [&](int64_t stage) { return std::abs(stage - from); };
  for (int64_t user : users) {
    int64_t &nearest =
        first.try_emplace(plan.stages[size_t(user)].devices, user)
            .first->second;
    // Backwards run from late stages to early ones.
    if ((user < from) == (nearest < from) && distance(user) < distance(nearest))
      nearest = user;
  }
  std::set<int64_t> result;
  for (const auto &[devices, user] : first)
    result.insert(user);
  return result;
}

/// A value is sent once to each stage that uses it: directly if `directSkips`,
/// else from stage to stage, once over every cut on its way. Between shards it
/// is sent once to each device (pipeline-send-once).
void Channels::collectTraffic() {
  for (const LayerValue &value : problem.values) {
    int64_t from = facts.stageOf[value.producer.layer];
    std::set<int64_t> users;
    for (const LayerPhase &use : value.uses)
      if (facts.stageOf[use.layer] != from)
        users.insert(facts.stageOf[use.layer]);
    if (users.empty())
      continue;
    if (problem.model.directSkips) {
      for (int64_t to :
           problem.model.sharesRings ? firstUsers(from, users) : users)
        carry(value, from, to);
      continue;
    }
    for (int64_t s = from; s < *users.rbegin(); ++s)
      carry(value, s, s + 1);
    for (int64_t s = from; s > *users.begin(); --s)
      carry(value, s, s - 1);
  }
}

void Channels::carry(const LayerValue &value, int64_t from, int64_t to) {
  auto &[forward, backward] = traffic[{std::min(from, to), std::max(from, to)}];
  (from < to ? forward : backward).add(value);
}

size_t Channels::linkOf(const Lane &lane, bool leaving) {
  auto [entry, isNew] = links.try_emplace({lane, leaving}, model.numLinks);
  if (isNew)
    ++model.numLinks;
  return entry->second;
}

/// The lanes of NICs and ports on which a transfer between replicas of two
/// stages may have to wait: for other devices of the host, or for other
/// messages of the same stage (a shard of a layer sends to all others). Stages
/// with at most two channels, as in a chain, do not wait for their own
/// messages. In other stages, messages to the same device wait for each other
/// even if no lane is limited, since they use one link.
std::vector<size_t> Channels::sharedLinks(int64_t fromStage, int64_t toStage,
                                          const std::vector<size_t> &from,
                                          const std::vector<size_t> &to) {
  if (model.sharing != LinkSharing::Turns)
    return nicsOf(from, to);
  if (!problem.model.sharedNics)
    return {};
  constexpr int64_t kOfChain = 2;
  bool manyLeave = partners[fromStage] > kOfChain;
  bool manyEnter = partners[toStage] > kOfChain;
  std::set<Lane> leaving, entering;
  auto add = [&](size_t device, size_t peer, bool many, std::set<Lane> &lanes) {
    size_t host = network.hostOf(device);
    bool isInside = host == network.hostOf(peer);
    auto lane = network.lane(device, peer);
    if (lane && (many || (!isInside && network.sharesNic(host))))
      lanes.insert({isInside ? Lane::OfPort : Lane::OfNic,
                    isInside ? device : host, *lane});
    else if (!lane && many)
      lanes.insert({Lane::ToPeer, device, peer});
  };
  for (size_t u : from)
    for (size_t v : to)
      if (u != v) {
        add(u, v, manyLeave, leaving);
        add(v, u, manyEnter, entering);
      }
  std::vector<size_t> shared;
  for (const Lane &lane : leaving)
    shared.push_back(linkOf(lane, true));
  for (const Lane &lane : entering)
    shared.push_back(linkOf(lane, false));
  return shared;
}

/// The NICs that flows from devices `from` to devices `to` share.
std::vector<size_t> Channels::nicsOf(const std::vector<size_t> &from,
                                     const std::vector<size_t> &to) const {
  std::set<size_t> nics;
  for (size_t u : from)
    for (size_t v : to)
      if (size_t a = network.hostOf(u), b = network.hostOf(v); a != b)
        nics.insert({2 * a, 2 * b + 1});
  return {nics.begin(), nics.end()};
}

/// A link of its own for a flow of `bytes` per microbatch. Its rate is such
/// that the flow takes `time` if it is alone, so the flow never uses more of
/// the NICs than this rate.
size_t Channels::ownLink(const Runners &from, const Runners &to, int64_t bytes,
                         Seconds time) {
  double part = 0;
  for (size_t u = 0; u < from.devices.size(); ++u)
    for (size_t v = 0; v < to.devices.size(); ++v)
      if (from.devices[u] != to.devices[v])
        part += from.shares[u] * to.shares[v];
  return addLink(double(bytes) * part / time.value);
}

/// The runners on each host.
std::map<size_t, Channels::Runners>
Channels::byHost(const Runners &runners) const {
  std::map<size_t, Runners> hosts;
  for (size_t i = 0; i < runners.devices.size(); ++i) {
    Runners &own = hosts[network.hostOf(runners.devices[i])];
    own.devices.push_back(runners.devices[i]);
    own.shares.push_back(runners.shares[i]);
  }
  return hosts;
}

/// The min latency between devices of two sides.
Seconds Channels::leastLatency(const Sides &sides) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t u : sides.first.devices)
    for (size_t v : sides.second.devices)
      least = std::min(least, u == v ? 0 : network.latency(u, v));
  return Seconds(least);
}

/// The replicas of a stage that run microbatch `m`, and their shares of it.
Channels::Runners Channels::runnersOf(int64_t stage, int64_t m) const {
  const StagePlan &own = plan.stages[size_t(stage)];
  if (!takesTurns(problem, own))
    return {own.devices, facts.shares[size_t(stage)]};
  return {{own.devices[size_t(m) % own.devices.size()]}, {1}};
}

/// Adds the channel between two stages. If replicas take turns, each of n lanes
/// has the transfers of every n-th microbatch; all take the time of the
/// slowest. If flows share links, replicas that share every microbatch have a
/// channel for each pair of their hosts.
void Channels::addChannel(int64_t from, int64_t to, const Traffic &forward,
                          const Traffic &backward) {
  int64_t senders = turnsOf(problem, plan.stages[size_t(from)]),
          receivers = turnsOf(problem, plan.stages[size_t(to)]);
  std::vector<Sides> sides;
  for (int64_t m = 0; m < std::lcm(senders, receivers); ++m)
    sides.emplace_back(runnersOf(from, m), runnersOf(to, m));
  auto lanes = size_t(std::max(senders, receivers));
  if (model.sharing == LinkSharing::Turns || lanes > 1)
    return addChannel(from, to, forward, backward, lanes, sides);
  for (const auto &[a, here] : byHost(sides[0].first))
    for (const auto &[b, there] : byHost(sides[0].second))
      addChannel(from, to, forward, backward, 1, {{here, there}});
}

void Channels::addChannel(int64_t from, int64_t to, const Traffic &forward,
                          const Traffic &backward, size_t lanes,
                          const std::vector<Sides> &sides) {
  PipelineChannel channel;
  channel.from = size_t(from);
  channel.to = size_t(to);
  channel.hasForward = forward.any;
  channel.hasBackward = backward.any;
  channel.latency = Seconds(std::numeric_limits<double>::infinity());
  for (const Sides &some : sides)
    channel.latency = std::min(channel.latency, leastLatency(some));
  std::vector<std::set<size_t>> sent(lanes), returned(lanes);
  auto addAll = [](const std::vector<size_t> &links, std::set<size_t> &all) {
    all.insert(links.begin(), links.end());
  };
  for (size_t m = 0; m < sides.size(); ++m) {
    const auto &[here, there] = sides[m];
    auto seconds = [&](const Traffic &what) {
      return transferTime(network, here.devices, here.shares, there.devices,
                          there.shares, Bytes(what.bytes), what.given);
    };
    channel.forward = std::max(channel.forward, seconds(forward));
    channel.backward = std::max(channel.backward, seconds(backward));
    addAll(sharedLinks(from, to, here.devices, there.devices), sent[m % lanes]);
    addAll(sharedLinks(to, from, there.devices, here.devices),
           returned[m % lanes]);
  }
  bool areFlows = model.sharing != LinkSharing::Turns;
  for (auto [what, time, all] :
       {std::tuple(&forward, channel.forward, &sent),
        std::tuple(&backward, channel.backward, &returned)})
    for (size_t i = 0; areFlows && i < lanes; ++i)
      if (!(*all)[i].empty() && what->bytes > 0 && time > channel.latency)
        (*all)[i].insert(ownLink(sides[i].first, sides[i].second, what->bytes,
                                 time - channel.latency));
  for (size_t i = 0; i < lanes; ++i)
    channel.forwardLanes.push_back(addLink());
  if (problem.model.halfDuplex && !areFlows)
    channel.backwardLanes = channel.forwardLanes;
  else
    for (size_t i = 0; i < lanes; ++i)
      channel.backwardLanes.push_back(addLink());
  auto lists = [](const std::vector<std::set<size_t>> &all) {
    std::vector<std::vector<size_t>> shared;
    for (const std::set<size_t> &links : all)
      shared.emplace_back(links.begin(), links.end());
    bool isNone = std::all_of(all.begin(), all.end(),
                              [](const auto &links) { return links.empty(); });
    return isNone ? std::vector<std::vector<size_t>>() : shared;
  };
  channel.forwardShared = lists(sent);
  channel.backwardShared = lists(returned);
  model.channels.push_back(std::move(channel));
}

void Channels::add() {
  collectTraffic();
  for (const auto &[ends, both] : traffic) {
    ++partners[ends.first];
    ++partners[ends.second];
  }
  for (const auto &[ends, both] : traffic)
    addChannel(ends.first, ends.second, both.first, both.second);
}

void addChannels(const Problem &problem, const Network &network,
                 const Plan &plan, const StageFacts &facts,
                 PipelineModel &model) {
  Channels(problem, network, plan, facts, model).add();
}

} // namespace stagewright
