//===- Trace.cpp - traces as JSON -----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows, names and categories are those of a simulated trace
// (Simulation/WriteTrace.h), so that the two can be compared.
//
//===----------------------------------------------------------------------===//

#include "Recording/Recorder.h"

#include "stagewright/Support/TraceEvents.h"
#include <algorithm>

namespace stagewright::runtime {

using Json = TraceEvents::Json;

namespace {

/// The processes of a trace.
enum Process { Devices, Channels, Sums };

/// A bar: an action, from when all its messages have arrived, or a transfer at
/// one end of its channel.
struct Bar {
  int64_t begin = 0, end = 0;
  TraceEvents::Row row;

  double micros() const { return double(end - begin) * 1e-3; }
  int64_t middle() const { return begin + (end - begin) / 2; }
};

class Trace {
public:
  Trace(const Manifest &manifest, const std::vector<const Recorder *> &ranks)
      : manifest(manifest), ranks(ranks) {}

  std::string write();

private:
  void addNames();
  void addStep(size_t step);
  void addActions(size_t rank, size_t step);
  void addChoice(const Event &event, const RankManifest &rank,
                 std::vector<int64_t> &ran, Json &args) const;
  void addTransfer(const Event &event);
  void addSum(const Event &event, size_t rank);
  void addArrow(const Event &sent, const Event &received);
  void point(char phase, const Bar &bar, int64_t time, size_t id);
  Bar barOf(const Event &transfer) const;
  double micros(int64_t time) const { return double(time - origin) * 1e-3; }

  const Manifest &manifest;
  const std::vector<const Recorder *> &ranks;
  std::vector<std::vector<Bar>> actions; ///< Of a step, by rank, in order.
  int64_t origin = INT64_MAX;
  size_t arrows = 0;
  TraceEvents events;
};

std::string title(const Event &event) {
  return std::to_string(event.id) + char(event.kind) +
         (event.kind == 'U' ? "" : std::to_string(event.m));
}

const char *category(const Event &event) {
  switch (event.kind) {
  case 'F':
    return "forward";
  case 'B':
    return "backward";
  case 'I':
    return "input gradient";
  case 'W':
    return "weight gradient";
  case 'R':
    return "recompute";
  default:
    return "update";
  }
}

} // namespace

void Trace::addNames() {
  events.nameProcess(Devices, "devices");
  for (size_t r = 0; r < ranks.size(); ++r)
    events.nameThread({Devices, r}, "rank " + std::to_string(r) + " (" +
                                        manifest.ranks[r].device + ")");
  if (!manifest.channels.empty())
    events.nameProcess(Channels, "channels");
  for (size_t c = 0; c < manifest.channels.size(); ++c) {
    const Channel &channel = manifest.channels[c];
    std::string hop = std::to_string(channel.from) + " → " +
                      std::to_string(channel.to) + " " + channel.name;
    events.nameThread({Channels, 2 * c}, hop + ", send");
    events.nameThread({Channels, 2 * c + 1}, hop + ", receive");
  }
  if (manifest.collectives.empty())
    return;
  events.nameProcess(Sums, "sums over ranks");
  for (size_t r = 0; r < ranks.size(); ++r)
    events.nameThread({Sums, r}, "rank " + std::to_string(r));
}

/// Adds the rows that were ready when the rank chose this action, as far as
/// they are in its first 64 lanes, and what it waited for. `ran`: by lane, the
/// number of rows that have run before.
void Trace::addChoice(const Event &event, const RankManifest &rank,
                      std::vector<int64_t> &ran, Json &args) const {
  if (event.choice.row < 0)
    return;
  ran.resize(size_t(rank.rows.back().lane) + 1);
  Json ready = Json::array();
  std::vector<int64_t> seen(ran.size());
  for (const ReadyRow &row : rank.rows) {
    bool isNext = seen[size_t(row.lane)]++ == ran[size_t(row.lane)];
    bool isSeen = row.lane < 64 && (event.choice.lanes >> row.lane & 1) != 0;
    bool isChosen = &row == &rank.rows[size_t(event.choice.row)];
    if (isChosen || (isNext && isSeen))
      ready.push_back(row.name);
  }
  args["ready"] = std::move(ready);
  ++ran[size_t(rank.rows[size_t(event.choice.row)].lane)];
  if (!event.choice.waited)
    return;
  const Need &need = event.choice.awaited;
  args["waited_us"] = double(event.begin - event.chosenAt) * 1e-3;
  args["waited_for"] = (need.sends ? "a free slot for " : "") +
                       manifest.channels[size_t(need.channel)].describe(need.m);
}

/// The bar of an action begins when its last message has been received and its
/// last gather awaited, so that waiting shows as a gap.
void Trace::addActions(size_t rank, size_t step) {
  std::vector<int64_t> received;
  for (const Event &event : ranks[rank]->events(step))
    if (event.type == Event::Receive ||
        (event.type == Event::Sum &&
         manifest.collectives[size_t(event.id)].gathers))
      received.push_back(event.end);
  std::sort(received.begin(), received.end());
  std::vector<int64_t> ran; // By lane.
  for (const Event &event : ranks[rank]->events(step)) {
    if (event.type != Event::Action)
      continue;
    Bar bar = {event.begin, event.end, {Devices, rank}};
    auto next = std::upper_bound(received.begin(), received.end(), event.end);
    if (next != received.begin())
      bar.begin = std::max(bar.begin, *(next - 1));
    Json args = {{"stage", event.id}, {"microbatch", event.m}};
    addChoice(event, manifest.ranks[rank], ran, args);
    events.bar(title(event), category(event), bar.row, micros(bar.begin),
               bar.micros(), std::move(args));
    actions[rank].push_back(bar);
  }
}

Bar Trace::barOf(const Event &transfer) const {
  bool receives = transfer.type == Event::Receive;
  return {transfer.begin,
          transfer.end,
          {Channels, size_t(2 * transfer.id + (receives ? 1 : 0))}};
}

void Trace::addTransfer(const Event &event) {
  const Channel &channel = manifest.channels[event.id];
  Bar bar = barOf(event);
  events.bar(channel.name + " " + std::to_string(event.m), "transfer", bar.row,
             micros(bar.begin), bar.micros(),
             {{"channel", event.id},
              {channel.messages ? "message" : "microbatch", event.m}});
}

/// Adds a bar from when a rank begins a collective until its wait for it ends.
void Trace::addSum(const Event &event, size_t rank) {
  events.bar(manifest.collectives[size_t(event.id)].name, "sum", {Sums, rank},
             micros(event.begin), double(event.end - event.begin) * 1e-3,
             {{"collective", event.id}});
}

void Trace::point(char phase, const Bar &bar, int64_t time, size_t id) {
  events.point(phase, "message", id, bar.row, micros(time));
}

/// Adds an arrow from the action that sends, through the receive, to the action
/// that waits for it; viewers bind an arrow to the bar at its time. Without an
/// action before the send or after the receive, it starts or ends at the
/// transfer's bar.
void Trace::addArrow(const Event &sent, const Event &received) {
  const Channel &channel = manifest.channels[sent.id];
  Bar from = barOf(sent), to = barOf(received);
  const std::vector<Bar> &before = actions[channel.from];
  auto sender = std::upper_bound(
      before.begin(), before.end(), sent.end,
      [](int64_t time, const Bar &bar) { return time < bar.begin; });
  if (sender != before.begin())
    from = *(sender - 1);
  const std::vector<Bar> &after = actions[channel.to];
  auto receiver = std::lower_bound(
      after.begin(), after.end(), received.end,
      [](const Bar &bar, int64_t time) { return bar.begin < time; });
  if (receiver != after.end())
    to = *receiver;
  int64_t start = std::min(from.middle(), sent.end);
  int64_t way = std::max(barOf(received).middle(), start);
  size_t id = arrows++;
  point('s', from, start, id);
  point('t', barOf(received), way, id);
  point('f', to, std::max(to.middle(), way), id);
}

void Trace::addStep(size_t step) {
  std::vector<Event> sends, receives;
  for (const Recorder *rank : ranks)
    for (const Event &event : rank->events(step)) {
      if (event.type == Event::Send)
        sends.push_back(event);
      if (event.type == Event::Receive)
        receives.push_back(event);
    }
  actions.assign(ranks.size(), {});
  for (size_t r = 0; r < ranks.size(); ++r) {
    addActions(r, step);
    for (const Event &event : ranks[r]->events(step))
      if (event.type == Event::Sum)
        addSum(event, r);
  }
  auto before = [](const Event &a, const Event &b) {
    return std::pair(a.id, a.m) < std::pair(b.id, b.m);
  };
  std::sort(sends.begin(), sends.end(), before);
  std::sort(receives.begin(), receives.end(), before);
  for (const Event &event : sends)
    addTransfer(event);
  for (const Event &event : receives) {
    addTransfer(event);
    auto sent = std::lower_bound(sends.begin(), sends.end(), event, before);
    if (sent != sends.end() && !before(event, *sent))
      addArrow(*sent, event);
  }
}

std::string Trace::write() {
  int64_t lost = 0;
  size_t steps = ranks.empty() ? 0 : ranks[0]->kept();
  for (const Recorder *rank : ranks) {
    lost += rank->lost();
    for (size_t step = 0; step < steps; ++step)
      for (const Event &event : rank->events(step))
        origin = std::min(origin, event.begin);
  }
  addNames();
  for (size_t step = 0; step < steps; ++step)
    addStep(step);
  return events.text({{"lost_events", lost}});
}

std::string traceJson(const Manifest &manifest,
                      const std::vector<const Recorder *> &ranks) {
  return Trace(manifest, ranks).write();
}

} // namespace stagewright::runtime
