//===- PiperStage.cpp - Piper's model of one stage ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Piper/PiperStage.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Seconds, for a whole sample, of the edges between `layer` and other stages,
/// in both directions.
static double edgeSeconds(const PiperModel &model, int64_t layer,
                          const PiperModel::Choice &choice,
                          const std::vector<bool> &isHere) {
  double seconds = 0;
  for (bool incoming : {true, false})
    for (const PiperModel::Edge &edge : model.edges(layer, incoming)) {
      if (isHere[edge.other])
        continue;
      double bytes = 0;
      if (choice.alternative) {
        const std::map<int64_t, double> &syncs =
            incoming ? choice.alternative->syncIn : choice.alternative->syncOut;
        if (auto found = syncs.find(edge.other); found != syncs.end())
          bytes = found->second;
      }
      seconds += 2 * (edge.seconds + bytes / model.bandwidth);
    }
  return seconds;
}

PiperStage::PiperStage(const PiperModel &model,
                       const std::vector<int64_t> &layers,
                       const std::vector<bool> &isHere, int64_t ways,
                       int64_t replicas)
    : model(model) {
  double d = double(replicas);
  for (int64_t layer : layers) {
    std::vector<Item> &list = items.emplace_back();
    size_t best = 0;
    for (const PiperModel::Choice &choice : model.choices(layer, ways)) {
      // Sending gradients to distributed parameter servers and back, once per
      // step of N samples (as in PipeDream's planner).
      double reduce = 4 * (d - 1) * choice.parameters / d /
                      double(model.microbatches) / model.bandwidth;
      double seconds =
          (choice.seconds + edgeSeconds(model, layer, choice, isHere)) / d +
          reduce;
      list.push_back({&choice, seconds});
      if (seconds < list[best].seconds)
        best = list.size() - 1;
    }
    if (list.empty()) {
      possible = false;
      return;
    }
    fastestOf.push_back(best);
    fastestSeconds += list[best].seconds;
  }
}

double PiperStage::bytesOf(const std::vector<size_t> &chosen,
                           int64_t inFlight) const {
  double bytes = 0;
  for (size_t i = 0; i < items.size(); ++i)
    bytes += items[i][chosen[i]].bytes(inFlight);
  return bytes;
}

double PiperStage::secondsOf(const std::vector<size_t> &chosen) const {
  double seconds = 0;
  for (size_t i = 0; i < items.size(); ++i)
    seconds += items[i][chosen[i]].seconds;
  return seconds;
}

std::vector<size_t> PiperStage::fill(int64_t inFlight) const {
  struct Swap {
    double secondsPerByte;
    size_t layer, to;
  };
  std::vector<Swap> swaps;
  double least = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    // Swaps of one layer by increasing seconds per byte saved, so that the
    // swaps of all layers can be sorted together.
    size_t now = fastestOf[i];
    for (;;) {
      size_t next = now;
      double best = kInfinity;
      for (size_t l = 0; l < items[i].size(); ++l) {
        double saved =
            items[i][now].bytes(inFlight) - items[i][l].bytes(inFlight);
        if (saved <= 1e-9)
          continue;
        double price = (items[i][l].seconds - items[i][now].seconds) / saved;
        if (price < best) {
          best = price;
          next = l;
        }
      }
      if (next == now)
        break;
      swaps.push_back({best, i, next});
      now = next;
    }
    least += items[i][now].bytes(inFlight);
  }
  if (least > model.memory)
    return {};
  std::stable_sort(swaps.begin(), swaps.end(),
                   [](const Swap &a, const Swap &b) {
                     return a.secondsPerByte < b.secondsPerByte;
                   });
  std::vector<size_t> chosen = fastestOf;
  double excess = bytesOf(chosen, inFlight) - model.memory;
  for (const Swap &swap : swaps) {
    if (excess < 1e-9)
      break;
    excess -= items[swap.layer][chosen[swap.layer]].bytes(inFlight) -
              items[swap.layer][swap.to].bytes(inFlight);
    chosen[swap.layer] = swap.to;
  }
  return chosen;
}

std::vector<double> PiperStage::secondsUpTo(int64_t most) const {
  std::vector<double> seconds(most + 1, kInfinity);
  double once = bytesOf(fastestOf, 0), each = bytesOf(fastestOf, 1) - once;
  for (int64_t y = 1; y <= most; ++y) {
    if (once + each * double(y) <= model.memory) {
      seconds[y] = fastestSeconds;
      continue;
    }
    std::vector<size_t> chosen = fill(y);
    if (chosen.empty())
      break;
    seconds[y] = secondsOf(chosen);
  }
  return seconds;
}

std::vector<double> PiperStage::bytesUpTo(int64_t most) const {
  std::vector<double> bytes(most + 1, 0);
  for (int64_t y = 1; y <= most; ++y)
    for (const std::vector<Item> &list : items) {
      double least = kInfinity;
      for (const Item &item : list)
        least = std::min(least, item.bytes(y));
      bytes[y] += least;
    }
  return bytes;
}

std::vector<const PiperModel::Choice *>
PiperStage::pick(int64_t inFlight) const {
  std::vector<const PiperModel::Choice *> picked;
  std::vector<size_t> chosen = fill(inFlight);
  for (size_t i = 0; i < chosen.size(); ++i)
    picked.push_back(items[i][chosen[i]].choice);
  return picked;
}

double PiperStage::secondsOf(const std::vector<size_t> &numbers,
                             int64_t inFlight) const {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t l = 0; l < items[i].size(); ++l)
      if (items[i][l].choice->number == numbers[i])
        chosen.push_back(l);
  if (chosen.size() != items.size() || bytesOf(chosen, inFlight) > model.memory)
    return kInfinity;
  return secondsOf(chosen);
}

} // namespace stagewright
