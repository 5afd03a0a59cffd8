//===- Streams.cpp - streams, events and graphs ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a stream is captured, its operations are added to the graph and not to
// the scheduler. A replay schedules copies of them.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <algorithm>

using namespace emulator;

namespace {

struct Event {
  int id;
  unsigned flags = 0;
  bool captured = false;
  Clock clock = {}; ///< empty: not recorded
  int64_t time = 0;
  Operations last = {};
};

struct Graph {
  int id;
  Operations nodes = {};              ///< each after its dependencies
  std::vector<Stream *> streams = {}; ///< that were captured
  int calls = 0;
};

int streams = 0, eventIds = 0, graphs = 0;
int64_t ticks = 0;
Graph *capture = nullptr; ///< the current one

void joinCapture(Stream &it) {
  it.capturing = true;
  capture->streams.push_back(&it);
}

/// A call in a stream.
void count(Stream &it) {
  ++it.clock[it.id];
  if (it.capturing)
    ++capture->calls;
}

} // namespace

Stream &emulator::streamOf(Stream *stream) {
  static auto &defaults = *new std::map<int, Stream>;
  if (stream)
    return *stream;
  int device = currentDevice();
  return defaults.try_emplace(device, Stream{-1, device}).first->second;
}

int emulator::enqueue(Stream *given, std::function<void()> work,
                      std::function<bool()> isComplete) {
  if (!error().empty())
    return launchFailed;
  Stream &stream = streamOf(given);
  if (stream.device != currentDevice())
    return invalidHandle;
  count(stream);
  auto operation = std::make_shared<Operation>(
      Operation{stream.device, stream.id, std::move(work),
                std::move(isComplete), stream.tail()});
  stream.tail() = {operation};
  if (stream.capturing)
    capture->nodes.push_back(operation);
  else
    schedule(operation);
  return success;
}

EMULATED int cuStreamCreateWithPriority(Stream **stream, unsigned,
                                        int priority) {
  std::lock_guard guard(lock());
  *stream = new Stream{streams++, currentDevice()};
  LOG("stream id=%d device=%d priority=%d", (*stream)->id, currentDevice(),
      priority);
  return success;
}
EMULATED int cuStreamDestroy_v2(Stream *stream) {
  std::lock_guard guard(lock());
  if (capture)
    std::erase(capture->streams, stream);
  return delete stream, 0;
}
EMULATED int cuStreamWaitEvent(Stream *given, Event *event, unsigned) {
  ENTER(given, event);
  Stream *stream = &streamOf(given);
  LOG("wait stream=%d event=%d%s", stream->id, event->id,
      event->clock.empty() ? " unrecorded" : "");
  if (capture && event->captured && !stream->capturing)
    joinCapture(*stream);
  if (stream->capturing && !event->captured)
    return captureIsolation;
  for (auto [id, count] : event->clock)
    stream->clock[id] = std::max(stream->clock[id], count);
  std::ranges::copy(event->last, std::back_inserter(stream->tail()));
  count(*stream);
  return success;
}
EMULATED int cuStreamSynchronize(Stream *stream) {
  std::lock_guard guard(lock());
  LOG("synchronize stream=%d", idOf(stream));
  if (capture)
    return captureUnsupported;
  return await(streamOf(stream).last) ? success : launchFailed;
}

EMULATED int cuEventCreate(Event **event, unsigned flags) {
  std::lock_guard guard(lock());
  return *event = new Event{eventIds++, flags}, 0;
}
EMULATED int cuEventDestroy_v2(Event *event) { return delete event, 0; }
EMULATED int cuEventRecordWithFlags(Event *event, Stream *given,
                                    unsigned flags) {
  ENTER(event, given, flags);
  Stream *stream = &streamOf(given);
  if (flags && !stream->capturing)
    return invalidValue;
  count(*stream);
  event->time = ++ticks;
  if (flags) // Records a time, adds no dependency.
    return LOG("stamp stream=%d event=%d", stream->id, event->id), 0;
  event->last = stream->tail();
  event->captured = stream->capturing;
  event->clock = stream->clock;
  return LOG("record stream=%d event=%d", stream->id, event->id), 0;
}
EMULATED int cuEventQuery(Event *event) {
  std::lock_guard guard(lock());
  if (event->captured)
    return captureUnsupported;
  bool reached = !setting("HANG", 0) && reach(event->last);
  if (!error().empty())
    return launchFailed;
  return reached ? success : notReady;
}
EMULATED int cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
  constexpr unsigned disableTiming = 2;
  if ((start->flags | end->flags) & disableTiming)
    return invalidHandle;
  *milliseconds = float(end->time - start->time) * 1e-3f;
  return success;
}

EMULATED int cuStreamBeginCapture_v2(Stream *stream, int mode) {
  std::lock_guard guard(lock());
  LOG("capture stream=%d mode=%d", stream->id, mode);
  capture = new Graph{++graphs};
  joinCapture(*stream);
  return success;
}
EMULATED int cuStreamEndCapture(Stream *stream, Graph **graph) {
  std::lock_guard guard(lock());
  bool joined = true;
  for (Stream *other : capture->streams) {
    joined &= stream->clock[other->id] >= other->clock[other->id];
    other->capturing = false;
    other->captured.clear();
  }
  LOG("captured calls=%d%s", capture->calls, joined ? "" : " unjoined");
  *graph = joined ? capture : nullptr;
  capture = nullptr;
  return joined ? success : captureUnjoined;
}
EMULATED int cuGraphGetNodes(Graph *graph, void **, size_t *count) {
  return *count = size_t(graph->calls), 0;
}
EMULATED int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph,
                                         unsigned long long flags) {
  LOG("instantiate flags=%llu", flags);
  *executable = new Graph(*graph);
  return failure("cuGraphInstantiateWithFlags");
}
EMULATED int cuGraphUpload(Graph *, Stream *) { return success; }
/// All operations of the graph run after earlier and before later operations of
/// the stream.
EMULATED int cuGraphLaunch(Graph *graph, Stream *stream) {
  std::lock_guard guard(lock());
  LOG("replay stream=%d graph=%d", stream->id, graph->id);
  std::map<const Operation *, std::shared_ptr<Operation>> copies;
  Operations before = stream->last;
  for (const auto &node : graph->nodes) {
    auto copy = std::make_shared<Operation>(*node);
    copy->after = before;
    for (const auto &it : node->after)
      if (auto found = copies.find(it.get()); found != copies.end())
        copy->after.push_back(found->second);
    copies[node.get()] = copy;
    stream->last.push_back(copy);
    schedule(copy);
  }
  return enqueue(stream, nullptr);
}
EMULATED int cuGraphExecDestroy(Graph *graph) { return delete graph, 0; }
EMULATED int cuGraphDestroy(Graph *graph) { return delete graph, 0; }
