//===- HandWritten.cpp - a step's kernels in a graph by hand --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandWritten.h"

#include "stagewright/Runtime/Error.h"

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;

HandWritten::HandWritten(const DeviceStep &step, bool line)
    : source(step), device(step.device(0)), line(line),
      next(step.programs().size(), 0) {
  for (size_t r = 0; r < next.size(); ++r)
    if (&step.device(int64_t(r)) != &device)
      raise("rank ", r, " is on another GPU than rank 0, expected all on one");
  order();
  device.use();
  for (size_t r = 0; r < (line ? 1 : next.size()); ++r) {
    streams.emplace_back(device, Priority::Usual);
    joins.emplace_back(device, unsigned(eventDisableTiming));
  }
  for (size_t i = 0; i < sent.size() + given.size(); ++i)
    events.emplace_back(device, unsigned(eventDisableTiming));
  for (int i = 0; i < 2; ++i) // The fork, and the end.
    ends.emplace_back(device, unsigned(eventDisableTiming));
}

HandWritten::~HandWritten() {
  if (executable)
    driver().graphExecDestroy.status(executable);
}

/// Each rank goes on until it must wait for another.
void HandWritten::order() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < next.size(); ++rank)
      while (step(rank))
        moved = true;
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (next[rank] < source.programs()[rank].commands.size())
      raise("rank ", rank, " waits for a message that never comes");
}

size_t HandWritten::eventOf(std::map<Message, size_t> &list, Message message) {
  return list.try_emplace(message, sent.size() + given.size()).first->second;
}

/// Takes the next command of a rank; false where it must wait or there is none.
bool HandWritten::step(size_t rank) {
  const RankProgram &program = source.programs()[rank];
  if (next[rank] == program.commands.size())
    return false;
  const Command &it = program.commands[next[rank]];
  Message message = {it.id, it.m};
  switch (it.kind) {
  case Command::Receive:
    if (!sent.count(message))
      return false;
    calls.push_back({Call::Wait, rank, sent[message]});
    break;
  case Command::Send:
    calls.push_back({Call::Record, rank, eventOf(sent, message)});
    break;
  case Command::GiveBack:
    calls.push_back({Call::Record, rank, eventOf(given, message)});
    break;
  case Command::Claim: {
    const Channel &channel = source.manifest().channels[it.id];
    const Ring &ring = source.memory().layouts[channel.to].channels[it.id];
    Message slot = {it.id, it.m % ring.slots};
    auto holder = holders.find(slot);
    if (holder != holders.end()) {
      auto free = given.find({it.id, holder->second});
      if (free == given.end())
        return false;
      calls.push_back({Call::Wait, rank, free->second});
    }
    holders[slot] = it.m;
    break;
  }
  default:
    if (it.works())
      calls.push_back({Call::Work, rank, next[rank]});
    break;
  }
  ++next[rank];
  return true;
}

void HandWritten::issue() {
  auto record = [](const EventOwner &event, Stream stream) {
    driver().eventRecord(event.get(), stream, unsigned(eventRecordDefault));
  };
  record(ends[0], streams[0].get());
  for (size_t s = 1; s < streams.size(); ++s)
    driver().streamWait(streams[s].get(), ends[0].get(), 0u);
  for (const Call &call : calls) {
    Stream stream = streamOf(call.rank);
    if (call.kind == Call::Work)
      source.execution().work(int64_t(call.rank), call.number, stream);
    else if (line)
      continue; // The order is enough.
    else if (call.kind == Call::Record)
      record(events[call.number], stream);
    else
      driver().streamWait(stream, events[call.number].get(), 0u);
  }
  for (size_t s = 1; s < streams.size(); ++s) {
    record(joins[s], streams[s].get());
    driver().streamWait(streams[0].get(), joins[s].get(), 0u);
  }
}

void HandWritten::capture() {
  driver().captureBegin(streams[0].get(), int(captureRelaxed));
  issue();
  Graph graph = nullptr;
  driver().captureEnd(streams[0].get(), &graph);
  driver().graphNodes(graph, static_cast<GraphNode *>(nullptr), &graphNodes);
  driver().graphInstantiate(&executable, graph, 0ull);
  driver().graphDestroy.status(graph);
  driver().graphUpload(executable, streams[0].get());
}

void HandWritten::start(bool graph) {
  device.use();
  if (graph && !executable)
    capture();
  if (graph)
    driver().graphLaunch(executable, streams[0].get());
  else
    issue();
  driver().eventRecord(ends[1].get(), streams[0].get(),
                       unsigned(eventRecordDefault));
}

void HandWritten::wait() const {
  int status = statusNotReady;
  while (status == statusNotReady)
    status = driver().eventQuery.status(ends[1].get());
  if (status)
    DriverErrors::fail(driver().eventQuery.symbol, status);
}
