//===- Annealing.cpp - moves nodes between devices ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/Annealing.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Moves tried in one restart: per pair of a node and a device, and the max.
static constexpr int64_t kTriesPerPair = 400;
static constexpr int64_t kMostTries = 2'000'000;
/// Power of a load in the energy. A higher one is closer to the max load; a
/// lower one gives more guidance far from the optimum.
static constexpr double kPower = 12;
/// Energy of a forward edge between two devices, so that there are few stages.
/// A device whose load is `scale` has energy 1.
static constexpr double kCutEnergy = 0.02;

double Annealing::energy(double load) const {
  return std::pow(load / scale, kPower);
}

std::vector<size_t> Annealing::randomStart() {
  std::vector<size_t> positionOf(graph.size());
  size_t position = random.pick(order.size());
  for (size_t &place : positionOf) {
    if (random.pick(4) == 0)
      position = random.pick(order.size());
    place = position;
  }
  return positionOf;
}

/// Moves a random node to another device; undoes the move if it is rejected.
bool Annealing::tryMove(LoadAssignment &loads, double temperature) {
  int node = int(random.pick(graph.size()));
  size_t from = loads.positionOf(node), to = random.pick(order.size());
  // In half of the cases, the device of a neighbour.
  if (!graph.netsOf[node].empty() && random.pick(2) == 0) {
    const std::vector<int> &net =
        graph.nets[graph.netsOf[node][random.pick(graph.netsOf[node].size())]];
    to = loads.positionOf(net[random.pick(net.size())]);
  }
  if (from == to || !loads.hasRoom(node, to))
    return false;
  double before = energy(loads.load(from)) + energy(loads.load(to));
  loads.move(node, to);
  double change = energy(loads.load(from)) + energy(loads.load(to)) - before;
  for (const std::vector<int> *next : {&graph.before[node], &graph.after[node]})
    for (int other : *next) {
      change -= kCutEnergy * double(loads.positionOf(other) == to);
      change += kCutEnergy * double(loads.positionOf(other) == from);
    }
  if (accepts(change, temperature, random))
    return true;
  loads.move(node, from);
  return false;
}

/// Applies the best move or exchange; false if none lowers the max load.
bool Annealing::climb(LoadAssignment &loads) const {
  auto value = [&] {
    return std::pair(loads.maxLoad() * (1 + 1e-9), loads.sumOfSquares());
  };
  auto best = value();
  best.first = loads.maxLoad() * (1 - 1e-9);
  std::vector<std::pair<int, size_t>> bestMoves;
  auto judge = [&](const std::vector<std::pair<int, size_t>> &moves) {
    if (value() >= best)
      return;
    best = value();
    bestMoves = moves;
  };
  for (int node = 0; node < int(graph.size()); ++node) {
    size_t from = loads.positionOf(node);
    for (size_t to = 0; to < order.size(); ++to) {
      if (to == from || !loads.hasRoom(node, to))
        continue;
      loads.move(node, to);
      judge({{node, to}});
      for (int other = node + 1; other < int(graph.size()); ++other)
        if (loads.positionOf(other) == to && loads.hasRoom(other, from)) {
          loads.move(other, from);
          judge({{node, to}, {other, from}});
          loads.move(other, to);
        }
      loads.move(node, from);
    }
  }
  for (auto [node, to] : bestMoves)
    loads.move(node, to);
  return !bestMoves.empty();
}

/// Moves a stage, or a node, to another device such that there are fewer stages
/// and no load exceeds `most`; false if there is no such move.
bool Annealing::join(LoadAssignment &loads, double most) const {
  auto stages = contiguousStages(graph, loads.all());
  size_t count = stages.size();
  for (int node = 0; node < int(graph.size()); ++node)
    stages.push_back({loads.positionOf(node), {node}});
  for (const auto &[from, nodes] : stages)
    for (size_t to = 0; to < order.size(); ++to) {
      size_t moved = 0;
      while (to != from && moved < nodes.size() &&
             loads.hasRoom(nodes[moved], to))
        loads.move(nodes[moved++], to);
      if (moved == nodes.size() && loads.maxLoad() <= most &&
          contiguousStages(graph, loads.all()).size() < count)
        return true;
      while (moved > 0)
        loads.move(nodes[--moved], from);
    }
  return false;
}

std::vector<size_t> Annealing::improve(std::vector<size_t> start, bool anneal) {
  LoadAssignment loads(problem, graph, order, start);
  std::vector<size_t> best = loads.all();
  double least = loads.maxLoad();
  int64_t tries =
      anneal ? std::min(kMostTries,
                        kTriesPerPair * int64_t(graph.size() * order.size()))
             : 0;
  for (int64_t i = 0; i < tries; ++i) {
    // From 1, the energy of a device with load `scale`, down to 0.001.
    double temperature = temperatureAt(double(i) / double(tries), 1, 1e-3);
    if (!tryMove(loads, temperature) || loads.maxLoad() >= least)
      continue;
    least = loads.maxLoad();
    best = loads.all();
  }
  LoadAssignment found(problem, graph, order, best);
  while (climb(found)) {
  }
  double most = found.maxLoad() * (1 + 1e-9);
  while (join(found, most)) {
  }
  return found.all();
}

} // namespace stagewright
