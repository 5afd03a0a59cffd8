//===- Report.cpp - traces and profiles as JSON ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stagewright::runtime {

using json = nlohmann::json;

namespace {

/// Tracks of a rank: 0 for its actions, then one per channel end. A claim for
/// one channel may overlap one for another, and Chrome wants the bars of one
/// track nested.
int64_t track(const Event &event) {
  return event.type == Event::Action ? 0 : 1 + event.id;
}

json metadata(const char *what, int64_t rank, int64_t thread,
              const std::string &name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", rank},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

std::string title(const Event &event) {
  std::string m = std::to_string(event.m);
  switch (event.type) {
  case Event::Action:
    return std::to_string(event.id) + char(event.kind) + m;
  case Event::Send:
    return "send " + m;
  case Event::Receive:
    return "receive " + m;
  }
  return m;
}

const char *category(const Event &event) {
  switch (event.type) {
  case Event::Action:
    return "action";
  case Event::Send:
    return "send";
  case Event::Receive:
    return "receive";
  }
  return "";
}

/// Microseconds since the trace began, as the format wants them.
double micros(int64_t time, int64_t origin) {
  return double(time - origin) * 1e-3;
}

void addFlow(json &out, const Event &event, int64_t rank, int64_t origin,
             int64_t microbatches) {
  if (event.type == Event::Action)
    return;
  bool sends = event.type == Event::Send;
  json flow = {{"ph", sends ? "s" : "f"},
               {"cat", "message"},
               {"name", "message"},
               {"id", event.id * (microbatches + 1) + event.m},
               {"pid", rank},
               {"tid", track(event)},
               {"ts", micros(event.end, origin)}};
  if (!sends)
    flow["bp"] = "e"; // bind to the bar around the end of the receive
  out.push_back(std::move(flow));
}

int64_t firstTime(const std::vector<const Recorder *> &ranks) {
  int64_t origin = INT64_MAX;
  for (const Recorder *rank : ranks)
    for (const Event &event : rank->events())
      origin = std::min(origin, event.begin);
  return origin;
}

} // namespace

std::string traceJson(const Manifest &manifest,
                      const std::vector<const Recorder *> &ranks) {
  int64_t origin = firstTime(ranks), most = manifest.microbatches;
  for (const Recorder *rank : ranks)
    for (const Event &event : rank->events())
      most = std::max(most, event.m);

  json events = json::array();
  for (size_t r = 0; r < ranks.size(); ++r) {
    events.push_back(metadata("process_name", int64_t(r), 0,
                              "rank " + std::to_string(r) + " (" +
                                  manifest.ranks[r].device + ")"));
    events.push_back(metadata("thread_name", int64_t(r), 0, "actions"));
    for (size_t c = 0; c < manifest.channels.size(); ++c) {
      const Channel &channel = manifest.channels[c];
      if (channel.from == int64_t(r) || channel.to == int64_t(r))
        events.push_back(
            metadata("thread_name", int64_t(r), 1 + int64_t(c),
                     (channel.from == int64_t(r) ? "send " : "receive ") +
                         channel.name));
    }
    for (const Event &event : ranks[r]->events()) {
      events.push_back({{"ph", "X"},
                        {"name", title(event)},
                        {"cat", category(event)},
                        {"pid", r},
                        {"tid", track(event)},
                        {"ts", micros(event.begin, origin)},
                        {"dur", micros(event.end, event.begin)},
                        {"args", {{"microbatch", event.m}}}});
      addFlow(events, event, int64_t(r), origin, most);
    }
  }
  int64_t lost = 0;
  for (const Recorder *rank : ranks)
    lost += rank->lost();
  return json{{"displayTimeUnit", "ms"},
              {"otherData", {{"lost_events", lost}}},
              {"traceEvents", events}}
             .dump(1) +
         "\n";
}

std::string profileJson(const Manifest &manifest,
                        const std::vector<const Recorder *> &ranks) {
  json nodes = json::object();
  for (size_t r = 0; r < ranks.size(); ++r)
    for (size_t n = 0; n < manifest.ranks[r].nodes.size(); ++n) {
      auto samples = ranks[r]->samples(int64_t(n));
      if (samples.empty())
        continue;
      std::vector<float> sorted(samples.begin(), samples.end());
      auto middle = sorted.begin() + sorted.size() / 2;
      std::nth_element(sorted.begin(), middle, sorted.end());
      nodes[manifest.ranks[r].nodes[n]] = *middle;
    }
  return json{{"device_class", "cpu-core"}, {"nodes", nodes}}.dump(1) + "\n";
}

} // namespace stagewright::runtime
