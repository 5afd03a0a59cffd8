//===- LinkFlows.cpp - transfers that share links at once -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkFlows.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

void LinkFlows::reset(LinkSharing sharing, const std::vector<double> &rates,
                      size_t connections) {
  this->sharing = sharing;
  capacity = rates;
  degree.assign(rates.size(), 0);
  used.clear();
  this->connections.assign(connections, {});
  flows.clear();
  changed = false;
}

void LinkFlows::connect(uint32_t connection, std::span<const uint32_t> links,
                        uint32_t firstLink) {
  Connection &own = connections[connection];
  own.alone = std::numeric_limits<double>::infinity();
  for (uint32_t link : links) {
    own.links.push_back(link - firstLink);
    own.alone = std::min(own.alone, capacity[link - firstLink]);
    if (degree[link - firstLink]++ == 0)
      used.push_back(link - firstLink);
  }
}

void LinkFlows::start(BlockId block, uint32_t connection, Ticks length,
                      Ticks now) {
  flows.push_back(
      {block, &connections[connection], double(length), 0, now, kNever});
  changed = true;
}

double LinkFlows::guaranteed(const Connection &connection) const {
  double rate = std::numeric_limits<double>::infinity();
  for (uint32_t link : connection.links)
    rate = std::min(rate, capacity[link] / degree[link]);
  return rate;
}

/// Max-min water-filling: all rates rise by the same amount; those on the link
/// that is full first are final.
void LinkFlows::raiseEqually() {
  rising.assign(capacity.size(), 0);
  isFixed.assign(flows.size(), 0);
  for (const Flow &flow : flows)
    for (uint32_t link : flow.connection->links)
      ++rising[link];
  for (;;) {
    double rise = std::numeric_limits<double>::infinity();
    size_t full = capacity.size();
    for (uint32_t link : used)
      if (rising[link] > 0 && left[link] / rising[link] < rise) {
        rise = left[link] / rising[link];
        full = link;
      }
    if (full == capacity.size())
      return;
    for (uint32_t link : used)
      left[link] = std::max(0.0, left[link] - rise * rising[link]);
    left[full] = 0; // Without an error of rounding.
    for (size_t i = 0; i < flows.size(); ++i) {
      if (isFixed[i])
        continue;
      rates[i] += rise;
      const std::vector<uint32_t> &links = flows[i].connection->links;
      isFixed[i] = std::any_of(links.begin(), links.end(),
                               [&](uint32_t link) { return left[link] == 0; });
      for (uint32_t link : links)
        rising[link] -= isFixed[i];
    }
  }
}

/// A rest of less than this part of a link's rate is a rounding error, and
/// counts as nothing.
constexpr double kRateRounding = 1e-12;

/// Each transfer takes all that earlier ones leave.
void LinkFlows::giveInOrder() {
  for (size_t i = 0; i < flows.size(); ++i) {
    const std::vector<uint32_t> &links = flows[i].connection->links;
    rates[i] = flows[i].connection->alone;
    for (uint32_t link : links)
      rates[i] = std::min(rates[i], left[link]);
    for (uint32_t link : links) {
      left[link] -= rates[i];
      if (left[link] < kRateRounding * capacity[link])
        left[link] = 0;
    }
  }
}

void LinkFlows::share(Ticks now) {
  if (!changed)
    return;
  changed = false;
  left = capacity;
  rates.assign(flows.size(), 0);
  if (sharing == LinkSharing::Oes || sharing == LinkSharing::Guaranteed)
    for (size_t i = 0; i < flows.size(); ++i) {
      rates[i] = guaranteed(*flows[i].connection);
      for (uint32_t link : flows[i].connection->links)
        left[link] = std::max(0.0, left[link] - rates[i]);
    }
  if (sharing == LinkSharing::Oes || sharing == LinkSharing::Fair)
    raiseEqually();
  if (sharing == LinkSharing::Fifo)
    giveInOrder();
  for (size_t i = 0; i < flows.size(); ++i) {
    Flow &flow = flows[i];
    double alone = flow.connection->alone;
    double rate = std::min(rates[i], alone);
    if (rate == flow.rate) // Its end is known; computing it again rounds.
      continue;
    flow.left -= double(now - flow.since) * (flow.rate / alone);
    flow.since = now;
    flow.rate = rate;
    // If the rate is so low that the end does not fit into Ticks, the rate will
    // change before the transfer ends.
    double rest = std::max(0.0, flow.left) * (alone / rate);
    flow.end = rate > 0 && rest < double(kNever - now) / 2
                   ? now + std::llround(rest)
                   : kNever;
  }
}

Ticks LinkFlows::next() const {
  Ticks first = kNever;
  for (const Flow &flow : flows)
    first = std::min(first, flow.end);
  return first;
}

bool LinkFlows::takeEnded(Ticks now, BlockId &block) {
  auto ended = std::find_if(flows.begin(), flows.end(),
                            [&](const Flow &flow) { return flow.end == now; });
  if (ended == flows.end())
    return false;
  block = ended->block;
  flows.erase(ended);
  changed = true;
  return true;
}

} // namespace stagewright
