//===- Profile.cpp - profiles as JSON -------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recording/Recorder.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stagewright::runtime {

using json = nlohmann::json;

namespace {

template <typename Samples> double median(Samples values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Adds the median of `samples`, if there are any.
void addMedian(json &table, const std::string &name,
               std::span<const float> samples) {
  if (!samples.empty())
    table[name] = median(std::vector<float>(samples.begin(), samples.end()));
}

/// Median seconds from a send to the end of its receive, if the receiver waited
/// for it; for every pair of ranks, of its slowest channel.
json hopsOf(const Manifest &manifest,
            const std::vector<const Recorder *> &ranks) {
  std::map<std::pair<int64_t, int64_t>, int64_t> sent; // By channel and m.
  std::map<int64_t, std::vector<double>> ways;         // By channel.
  for (const Recorder *rank : ranks)
    for (const Event &event : rank->events())
      if (event.type == Event::Send)
        sent[{event.id, event.m}] = event.end;
  for (const Recorder *rank : ranks)
    for (const Event &event : rank->events()) {
      auto found = sent.find({event.id, event.m});
      if (event.type == Event::Receive && found != sent.end() &&
          event.begin < found->second)
        ways[event.id].push_back(double(event.end - found->second) * 1e-9);
    }
  json hops = json::object();
  for (auto &[channel, seconds] : ways) {
    const Channel &between = manifest.channels[channel];
    std::string name =
        std::to_string(between.from) + ">" + std::to_string(between.to);
    hops[name] = std::max(hops.value(name, 0.0), median(seconds));
  }
  return hops;
}

/// Median seconds of a step, and of its parts before the first and after the
/// last action of all ranks.
json stepOf(const std::vector<const Recorder *> &ranks) {
  std::vector<double> seconds, before, after;
  for (size_t i = 0; i < ranks[0]->steps().size(); ++i) {
    Recorder::StepTimes all = ranks[0]->steps()[i];
    for (const Recorder *rank : ranks) {
      all.first = std::min(all.first, rank->steps()[i].first);
      all.last = std::max(all.last, rank->steps()[i].last);
    }
    seconds.push_back(double(all.end - all.start) * 1e-9);
    // By a device's clock an action may end after the step.
    before.push_back(double(std::max<int64_t>(0, all.first - all.start)) *
                     1e-9);
    after.push_back(double(std::max<int64_t>(0, all.end - all.last)) * 1e-9);
  }
  if (seconds.empty())
    return nullptr;
  return {{"seconds", median(seconds)},
          {"before", median(before)},
          {"after", median(after)}};
}

} // namespace

std::string profileJson(const Manifest &manifest,
                        const std::vector<const Recorder *> &ranks) {
  json nodes = json::object(), actions = json::object();
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankManifest &rank = manifest.ranks[r];
    for (size_t n = 0; n < rank.nodes.size(); ++n)
      addMedian(nodes, rank.nodes[n], ranks[r]->samples(int64_t(n)));
    // A stage may be on several ranks (twin placement, replicas): the entry of
    // the last one remains.
    for (size_t s = 0; s < rank.stages.size(); ++s)
      for (size_t k = 0; k < Recorder::actionKinds.size(); ++k)
        addMedian(actions,
                  std::to_string(rank.stages[s]) + Recorder::actionKinds[k],
                  ranks[r]->samples(s, k));
  }
  return json{{"device_class", manifest.cuda ? "cuda" : "cpu-core"},
              {"nodes", nodes},
              {"actions", actions},
              {"hops", hopsOf(manifest, ranks)},
              {"step", stepOf(ranks)}}
             .dump(1) +
         "\n";
}

} // namespace stagewright::runtime
