//===- Recorder.cpp - what happened when ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recorder.h"

#include <algorithm>

namespace stagewright::runtime {

namespace {
/// Samples kept per node: enough for a stable median, 16 KiB.
constexpr int64_t sampleLimit = 4096;

/// An upper bound of the events of one step.
size_t eventCount(const Manifest &manifest, int64_t rank,
                  int64_t microbatches) {
  size_t ends = 0;
  for (const Channel &channel : manifest.channels)
    ends += (channel.from == rank) + (channel.to == rank);
  size_t actions = manifest.ranks[rank].stages.size() * 6;
  return (actions + ends) * size_t(microbatches + 1) + 64;
}
} // namespace

Recorder::Recorder(const Manifest &manifest, int64_t rank, int64_t microbatches,
                   bool trace, bool profile)
    : tracing(trace), profiling(profile), claims(manifest.channels.size()) {
  if (trace)
    log.resize(eventCount(manifest, rank, microbatches));
  size_t nodes = manifest.ranks[rank].nodes.size();
  calls.resize(nodes);
  times.resize(nodes);
  if (profile)
    for (auto &samples : times)
      samples.resize(sampleLimit);
}

void Recorder::add(const Event &event) {
  if (used < log.size())
    log[used++] = event;
  else
    ++dropped;
}

void Recorder::beginAction(int32_t kind, int64_t stage, int64_t m) {
  if (tracing)
    open = {Event::Action, kind, stage, m, now(), 0};
}

void Recorder::endAction() {
  if (!tracing)
    return;
  open.end = now();
  add(open);
}

void Recorder::sent(int64_t channel, int64_t m, int64_t end) {
  if (tracing)
    add({Event::Send, 0, channel, m, claims[channel], end});
}

void Recorder::received(int64_t channel, int64_t m, int64_t start) {
  if (tracing)
    add({Event::Receive, 0, channel, m, start, now()});
}

void Recorder::endNode(int64_t node) {
  if (!profiling)
    return;
  times[node][calls[node]++ % sampleLimit] =
      float(double(now() - nodeBegin) * 1e-9);
}

std::span<const float> Recorder::samples(int64_t node) const {
  return {times[node].data(), size_t(std::min(calls[node], sampleLimit))};
}

} // namespace stagewright::runtime
