//===- WriteTrace.cpp - a simulated step for trace viewers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/WriteTrace.h"
#include "BlockLook.h"
#include "stagewright/Support/TraceEvents.h"
#include <map>
#include <tuple>

namespace stagewright {

namespace {

/// The processes of a trace.
enum Process { Devices, Channels, Collectives };

class Trace {
public:
  Trace(const PipelineModel &model, const PipelineTimeline &timeline,
        const PipelineNames &names)
      : model(model), timeline(timeline), names(names) {}

  std::string write();

private:
  void addNames();
  void addBlock(const PipelineBlock &block, int process, size_t thread);
  void addFlow(const PipelineBlock &transfer);
  size_t threadOf(const PipelineBlock &transfer) const;
  double microseconds(Seconds seconds) const {
    return seconds.value * (names.plainTime ? 1e3 : 1e6);
  }
  std::string rowOf(size_t processor) const;

  /// By stage, microbatch and whether it is a forward: a compute block and its
  /// processor.
  using Place = std::pair<const PipelineBlock *, size_t>;
  std::map<std::tuple<size_t, int64_t, bool>, Place> places;
  const PipelineModel &model;
  const PipelineTimeline &timeline;
  const PipelineNames &names;
  TraceEvents events;
  size_t flows = 0;
};

} // namespace

/// Whether `link` connects a device and the memory of its host.
static bool isOfHost(const std::vector<PipelineBlock> &link) {
  return !link.empty() && (link.front().kind == BlockKind::Offload ||
                           link.front().kind == BlockKind::Fetch);
}

/// The thread of a transfer: one for each direction and lane of a channel, so
/// that blocks of a thread do not overlap.
size_t Trace::threadOf(const PipelineBlock &transfer) const {
  size_t thread = 0;
  for (size_t number = 0; number < transfer.number; ++number)
    thread += model.channels[number].forwardLanes.size() +
              model.channels[number].backwardLanes.size();
  const PipelineChannel &channel = model.channels[transfer.number];
  bool back = transfer.kind == BlockKind::SendBackward;
  size_t lanes =
      back ? channel.backwardLanes.size() : channel.forwardLanes.size();
  return thread + (back ? channel.forwardLanes.size() : 0) +
         size_t(transfer.microbatch) % lanes;
}

/// The name that a trace of a run uses: "rank 0 (d0)".
std::string Trace::rowOf(size_t processor) const {
  std::string rank = "rank " + std::to_string(processor);
  std::string name = names.ofProcessor(processor);
  bool isNamed = processor < names.processors.size() && name != rank;
  return isNamed ? rank + " (" + name + ")" : rank;
}

void Trace::addNames() {
  events.nameProcess(Devices, "devices");
  for (size_t p = 0; p < timeline.processors.size(); ++p)
    events.nameThread({Devices, p}, rowOf(p));
  if (!model.channels.empty())
    events.nameProcess(Channels, "channels");
  size_t thread = 0;
  for (const PipelineChannel &channel : model.channels) {
    std::string from = std::to_string(channel.from),
                to = std::to_string(channel.to);
    auto add = [&](const std::string &hop, size_t lanes) {
      for (size_t lane = 0; lane < lanes; ++lane)
        events.nameThread(
            {Channels, thread++},
            hop + (lanes > 1 ? " lane " + std::to_string(lane) : ""));
    };
    add(from + " → " + to, channel.forwardLanes.size());
    add(to + " → " + from, channel.backwardLanes.size());
  }
  for (const auto &blocks : timeline.links)
    if (isOfHost(blocks)) {
      std::string stage = std::to_string(blocks.front().number);
      bool leaves = blocks.front().kind == BlockKind::Offload;
      events.nameThread({Channels, thread++},
                        leaves ? stage + " → host" : "host → " + stage);
    }
  if (!timeline.collectives.empty())
    events.nameProcess(Collectives, "collectives");
  for (size_t c = 0; c < timeline.collectives.size(); ++c)
    events.nameThread({Collectives, c},
                      toString(timeline.collectives[c], model));
}

void Trace::addBlock(const PipelineBlock &block, int process, size_t thread) {
  TraceEvents::Json args;
  if (process != Collectives)
    args = {
        {process == Devices || !isTransfer(block.kind) ? "stage" : "channel",
         block.number},
        {"microbatch", block.microbatch}};
  events.bar(toString(block, model), lookOf(block.kind).category,
             {process, thread}, microseconds(block.start),
             microseconds(block.end - block.start), std::move(args));
}

/// Adds an arrow from the middle of the sender's block, through the transfer,
/// to the middle of the receiver's block: viewers attach each point of an arrow
/// to the block that runs at its time.
void Trace::addFlow(const PipelineBlock &transfer) {
  bool forward = transfer.kind == BlockKind::SendForward;
  const PipelineChannel &channel = model.channels[transfer.number];
  size_t from = forward ? channel.from : channel.to;
  size_t to = forward ? channel.to : channel.from;
  auto sender = places.find({from, transfer.microbatch, forward});
  auto receiver = places.find({to, transfer.microbatch, forward});
  if (sender == places.end() || receiver == places.end())
    return;
  auto add = [&](char phase, const PipelineBlock &block, TraceEvents::Row row) {
    events.point(phase, forward ? "activation" : "gradient", flows, row,
                 microseconds((block.start + block.end) * 0.5));
  };
  add('s', *sender->second.first, {Devices, sender->second.second});
  if (transfer.end > transfer.start)
    add('t', transfer, {Channels, threadOf(transfer)});
  add('f', *receiver->second.first, {Devices, receiver->second.second});
  ++flows;
}

std::string Trace::write() {
  addNames();
  for (size_t p = 0; p < timeline.processors.size(); ++p)
    for (const PipelineBlock &block : timeline.processors[p]) {
      addBlock(block, Devices, p);
      if (block.kind != BlockKind::WeightGradient &&
          block.kind != BlockKind::Recompute)
        places[{block.number, block.microbatch,
                block.kind == BlockKind::Forward}] = {&block, p};
    }
  for (const auto &blocks : timeline.channels)
    for (const PipelineBlock &block : blocks) {
      addBlock(block, Channels, threadOf(block));
      addFlow(block);
    }
  size_t thread = 0;
  for (const PipelineChannel &channel : model.channels)
    thread += channel.forwardLanes.size() + channel.backwardLanes.size();
  for (const auto &blocks : timeline.links)
    if (isOfHost(blocks)) {
      for (const PipelineBlock &block : blocks)
        addBlock(block, Channels, thread);
      ++thread;
    }
  for (size_t c = 0; c < timeline.collectives.size(); ++c)
    addBlock(timeline.collectives[c], Collectives, c);
  TraceEvents::Json about = {{"title", names.title}};
  if (names.plainTime)
    about["time"] = "a unit of time is shown as 1 ms";
  return events.text(about);
}

std::string writeTrace(const PipelineModel &model,
                       const PipelineTimeline &timeline,
                       const PipelineNames &names) {
  return Trace(model, timeline, names).write();
}

} // namespace stagewright
