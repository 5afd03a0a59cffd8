//===- Recorder.cpp - times of actions, transfers and nodes ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recording/Recorder.h"

#include <algorithm>

namespace stagewright::runtime {

namespace {
/// Max number of samples kept of each node and of each kind of action of a
/// stage, and of steps: the last ones, enough for a stable median. Those of one
/// node take 16 KiB.
constexpr int64_t sampleLimit = 4096;

/// An upper bound of the events of one step.
size_t eventCount(const Manifest &manifest, int64_t rank,
                  int64_t microbatches) {
  size_t transfers = 0;
  for (const Channel &channel : manifest.channels)
    if (channel.from == rank || channel.to == rank)
      transfers += size_t(channel.count(microbatches) + 1);
  size_t actions = manifest.ranks[rank].stages.size() * 6;
  for (const Collective &collective : manifest.collectives)
    transfers += collective.gathers ? size_t(microbatches + 1) : 1;
  return actions * size_t(microbatches + 1) + transfers + 64;
}
} // namespace

void Recorder::Samples::add(double seconds) {
  ring[calls++ % sampleLimit] = float(seconds);
}

std::span<const float> Recorder::Samples::all() const {
  return {ring.data(), size_t(std::min(calls, sampleLimit))};
}

Recorder::Recorder(const Manifest &manifest, int64_t rank, int64_t microbatches,
                   int64_t trace, bool profile)
    : tracing(trace > 0), profiling(profile), keep(tracing ? size_t(trace) : 1),
      claims(manifest.channels.size()), sums(manifest.collectives.size()),
      stages(manifest.ranks[rank].stages) {
  log.resize(eventCount(manifest, rank, microbatches) * keep);
  starts.reserve(keep);
  nodes.resize(manifest.ranks[rank].nodes.size());
  actions.resize(stages.size() * actionKinds.size());
  if (!profile)
    return;
  for (std::vector<Samples> *each : {&nodes, &actions})
    for (Samples &samples : *each)
      samples.ring.resize(sampleLimit);
  stepTimes.reserve(sampleLimit);
}

void Recorder::begin() {
  dropped = 0;
  if (starts.size() == keep) {
    size_t gone = keep > 1 ? starts[1] : used;
    std::copy(log.begin() + std::ptrdiff_t(gone),
              log.begin() + std::ptrdiff_t(used), log.begin());
    used -= gone;
    starts.erase(starts.begin());
    for (size_t &start : starts)
      start -= gone;
  }
  starts.push_back(used);
}

std::span<const Event> Recorder::events(size_t step) const {
  size_t end = step + 1 < starts.size() ? starts[step + 1] : used;
  return {log.data() + starts[step], end - starts[step]};
}

void Recorder::add(const Event &event) {
  if (used < log.size())
    log[used++] = event;
  else
    ++dropped;
}

void Recorder::beginAction(int32_t kind, int64_t stage, int64_t m) {
  open = {Event::Action, kind, stage, m, now(), 0};
  open.choice = pending.choice, open.chosenAt = pending.chosenAt;
  pending.choice.row = -1; // Only the row's first action has the choice.
}

void Recorder::endAction() {
  open.end = now();
  add(open);
  Event busy = open;
  busy.begin = std::max(open.begin, lastReceive);
  if (profiling)
    sampleAction(busy);
}

void Recorder::addMeasured(const Event &event) {
  add(event);
  if (profiling && event.type == Event::Action)
    sampleAction(event);
}

void Recorder::addNodeTime(int64_t node, double seconds) {
  if (profiling)
    nodes[node].add(seconds);
}

/// Records the time of an action, which excludes waiting for messages.
void Recorder::sampleAction(const Event &action) {
  size_t kind = actionKinds.find(char(action.kind));
  auto stage = std::find(stages.begin(), stages.end(), action.id);
  if (kind == std::string_view::npos || stage == stages.end())
    return;
  size_t number = size_t(stage - stages.begin()) * actionKinds.size() + kind;
  actions[number].add(double(action.end - action.begin) * 1e-9);
}

/// Updates run once per step and count as time after its last action.
void Recorder::endStep(int64_t start, int64_t end) {
  StepTimes times = {start, end, start, end, 0};
  int64_t received = start;
  for (const Event &event : events()) {
    if (event.type == Event::Receive || event.type == Event::Sum)
      received = event.end;
    if (event.type != Event::Action)
      continue;
    times.busy += event.end - std::max(event.begin, received);
    if (event.kind == 'U')
      continue;
    times.first = std::min(times.first, event.begin);
    times.last = std::max(times.last, event.end);
  }
  lastTimes = times;
  if (!profiling)
    return;
  if (stepCount < sampleLimit)
    stepTimes.push_back(times);
  else
    stepTimes[size_t(stepCount % sampleLimit)] = times;
  ++stepCount;
}

/// By a device's clock a step may take less time than its actions, or none.
double Recorder::idleOf(const StepTimes &step) {
  return step.end > step.start
             ? std::max(0.0,
                        1 - double(step.busy) / double(step.end - step.start))
             : 0.0;
}

double Recorder::idleShare() const {
  std::vector<double> shares;
  for (const StepTimes &step : stepTimes)
    shares.push_back(idleOf(step));
  auto middle = shares.begin() + std::ptrdiff_t(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  return *middle;
}

void Recorder::sent(int64_t channel, int64_t m, int64_t end) {
  add({Event::Send, 0, channel, m, claims[channel], end});
}

void Recorder::received(int64_t channel, int64_t m, int64_t start) {
  lastReceive = now();
  add({Event::Receive, 0, channel, m, start, lastReceive});
}

void Recorder::summed(int64_t collective) {
  lastReceive = now();
  add({Event::Sum, 0, collective, 0, sums[collective], lastReceive});
}

void Recorder::endNode(int64_t node) {
  if (profiling)
    nodes[node].add(double(now() - nodeBegin) * 1e-9);
}

std::span<const float> Recorder::samples(int64_t node) const {
  return nodes[node].all();
}

std::span<const float> Recorder::samples(size_t stage, size_t kind) const {
  return actions[stage * actionKinds.size() + kind].all();
}

} // namespace stagewright::runtime
