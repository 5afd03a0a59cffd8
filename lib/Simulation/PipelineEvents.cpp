//===- PipelineEvents.cpp - event-driven execution orders -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block can start only at a time when it becomes ready, one of its resources
// becomes free, or the number of microbatches in flight in its stage falls
// below the cap. So at each time only the queues and processors with such an
// event are examined.
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>

namespace stagewright {

/// Orders the heap so that the earliest event is on top.
static constexpr auto kLater = [](const auto &a, const auto &b) {
  return a.time > b.time;
};

int64_t PipelineEngine::capOf(const PipelineRow &row) const {
  int64_t all = caps[row.number];
  int64_t lanes = row.lanes.end - row.lanes.begin;
  return all / lanes + (all % lanes != 0);
}

void PipelineEngine::awaken(uint32_t processor) {
  if (isAwake[processor] || busy[processor])
    return;
  isAwake[processor] = 1;
  awake.push_back(processor);
}

/// Called when the block has ended and its resources are free.
void PipelineEngine::complete(BlockId block) {
  const PipelineRow &row = rows[block.row];
  latest = std::max(latest, now);
  for (uint32_t after : rows.list(row.after))
    if (--pending[at({after, block.microbatch})] == 0)
      makeReady({after, block.microbatch});
  if (row.makesFree != kNoRow &&
      block.microbatch + row.madeSlots < microbatches) {
    BlockId freed = {row.makesFree, block.microbatch + row.madeSlots};
    if (--pending[at(freed)] == 0)
      makeReady(freed);
  }
  if (!row.frees)
    return;
  endStay(row, now);
  uint32_t lane = laneOf(row, block.microbatch);
  if (inFlight[placeOf(row, lane)]-- == capOf(row))
    awaken(rows.list(row.lanes)[lane]);
}

/// Starts a block whose resources are free. If its duration is 0, it ends at
/// once.
void PipelineEngine::start(BlockId block) {
  const PipelineRow &row = rows[block.row];
  uint32_t resource = resourceOf(row, block.microbatch);
  Ticks end = now + row.duration;
  if (!row.transfer) {
    end = now + durationOf(row, block.microbatch, resource, now);
    workLeft[resource] -= row.duration;
    cut |= workLeft[resource] > limit - end;
    if (row.kind == BlockKind::Forward)
      ++inFlight[placeOf(row, laneOf(row, block.microbatch))];
  }
  if (recorded)
    record(at(block), now, end);
  if (end == now)
    return complete(block);
  busy[resource] = 1;
  std::span<const uint32_t> links = sharedOf(row, block.microbatch);
  bool usesLinks = !links.empty() && row.latency != row.duration;
  if (usesLinks && sharesRates()) {
    uint32_t connection = firstQueue[block.row] + laneOf(row, block.microbatch);
    return flows.start(block, connection, row.duration - row.latency, now);
  }
  addEvent({end, block});
  if (!usesLinks)
    return;
  for (uint32_t link : links)
    busy[link] = 1;
  if (row.latency != 0)
    addEvent({end - row.latency, block, /*isSent=*/true});
}

void PipelineEngine::addEvent(Event event) {
  events.push_back(event);
  std::push_heap(events.begin(), events.end(), kLater);
}

/// Declares the connections of all transfers: one for each lane of a row.
void PipelineEngine::layFlows() {
  flows.reset(model->sharing, model->linkRates,
              sharesRates() ? queues.size() : 0);
  for (uint32_t number = 0; sharesRates() && number < queues.size(); ++number) {
    const PipelineRow &row = rows[queues[number].row];
    if (row.transfer && row.duration != row.latency)
      flows.connect(number, rows.shared(row, queues[number].lane),
                    static_cast<uint32_t>(model->numProcessors));
  }
}

/// Ends the transfers whose last byte has left at `now`; it arrives after the
/// latency.
void PipelineEngine::endFlows() {
  for (BlockId block; flows.takeEnded(now, block);) {
    const PipelineRow &row = rows[block.row];
    Ticks end = now + row.latency;
    if (recorded)
      ends[at(block)] = end;
    if (end != now) {
      addEvent({end, block});
      continue;
    }
    freeResource(resourceOf(row, block.microbatch));
    complete(block);
  }
}

/// Frees what `event` no longer needs, and completes its block if it has ended.
void PipelineEngine::handle(const Event &event) {
  const PipelineRow &row = rows[event.block.row];
  uint32_t own = resourceOf(row, event.block.microbatch);
  if (event.isSent || row.latency == 0)
    for (uint32_t link : sharedOf(row, event.block.microbatch))
      if (link != own)
        freeResource(link);
  if (event.isSent)
    return;
  freeResource(own);
  complete(event.block);
}

/// Finds the block that an idle processor runs next; false if none can start.
bool PipelineEngine::pick(uint32_t processor, BlockId &best) const {
  bool found = false;
  auto offer = [&](BlockId block) {
    if (!found || comesBefore(block, best))
      best = block;
    found = true;
  };
  if (sequenced) {
    for (uint32_t number = sequencesOf[processor].begin;
         number < sequencesOf[processor].end; ++number) {
      const Sequence &sequence = sequences[number];
      if (sequence.begin != sequence.end &&
          pending[at(blocks[sequence.begin])] == 0)
        offer(blocks[sequence.begin]);
    }
    return found;
  }
  for (uint32_t at = queuesOf[processor].begin; at < queuesOf[processor].end;
       ++at) {
    const ReadyQueue &queue = queues[queueNumbers[at]];
    const PipelineRow &row = rows[queue.row];
    if (queue.count != 0 &&
        (row.backward || inFlight[placeOf(row, queue.lane)] < capOf(row)))
      offer({queue.row, head(queue)});
  }
  return found;
}

/// Removes the block that pick() chose from its queue or sequence, and starts
/// it.
void PipelineEngine::runPicked(uint32_t processor, BlockId block) {
  if (!sequenced) {
    take(queues[firstQueue[block.row] +
                laneOf(rows[block.row], block.microbatch)]);
    return start(block);
  }
  for (uint32_t number = sequencesOf[processor].begin;
       number < sequencesOf[processor].end; ++number) {
    Sequence &sequence = sequences[number];
    if (sequence.begin == sequence.end)
      continue;
    BlockId first = blocks[sequence.begin];
    if (first.row == block.row && first.microbatch == block.microbatch) {
      ++sequence.begin;
      break;
    }
  }
  start(block);
}

/// Starts blocks on idle processors. Returns true if a block of duration 0 has
/// ended: then startTransfers() and this have to be called again.
bool PipelineEngine::startComputes() {
  if (careful)
    return startComputesByPriority();
  // The choices of different processors are independent.
  BlockId block;
  for (uint32_t processor : awake) {
    isAwake[processor] = 0;
    if (pick(processor, block))
      runPicked(processor, block);
  }
  awake.clear();
  return false;
}

/// One block at a time, as a block of duration 0 makes others ready.
bool PipelineEngine::startComputesByPriority() {
  while (!awake.empty()) {
    size_t best = 0, kept = 0;
    BlockId block, bestBlock;
    for (uint32_t processor : awake) {
      isAwake[processor] = 0;
      if (!pick(processor, block))
        continue;
      isAwake[processor] = 1;
      if (kept == 0 || comesBefore(block, bestBlock)) {
        best = kept;
        bestBlock = block;
      }
      awake[kept++] = processor;
    }
    awake.resize(kept);
    if (kept == 0)
      return false;
    uint32_t processor = awake[best];
    awake.erase(awake.begin() + static_cast<std::ptrdiff_t>(best));
    isAwake[processor] = 0;
    runPicked(processor, bestBlock);
    if (!busy[processor]) {
      awaken(processor);
      return true;
    }
  }
  return false;
}

/// Initialises the state at time 0.
void PipelineEngine::layEvents() {
  events.clear();
  awake.clear();
  candidates.clear();
  zeroCandidates.clear();
  isAwake.assign(model->numProcessors, 0);
  busy.assign(model->numProcessors + model->numLinks, 0);
  firstPlace.clear();
  uint32_t places = 0;
  for (const PipelineStage &stage : model->stages) {
    firstPlace.push_back(places);
    places += static_cast<uint32_t>(stage.processors.size());
  }
  inFlight.assign(places, 0);
  pending.resize(rows.size() * size_t(microbatches));
  now = 0;
  cut = false;
  careful = split != nullptr; // Some blocks of a row may have duration 0.
  for (uint32_t number = 0; number < rows.size(); ++number) {
    const PipelineRow &row = rows[number];
    careful |= !row.transfer && row.duration == 0;
    uint32_t waits = row.before.end - row.before.begin;
    auto begin = pending.begin() +
                 static_cast<std::ptrdiff_t>(number * size_t(microbatches));
    std::fill(begin, begin + microbatches, static_cast<uint16_t>(waits));
    for (uint32_t freedBy : rows.list(row.freedBy))
      for (uint32_t m = rows[freedBy].madeSlots; m < microbatches; ++m)
        ++begin[m];
  }
  std::sort(sequences.begin(), sequences.end(),
            [](const Sequence &a, const Sequence &b) {
              return std::pair(a.processor, a.begin) <
                     std::pair(b.processor, b.begin);
            });
  sequencesOf.assign(model->numProcessors, {});
  for (uint32_t number = 0; number < sequences.size(); ++number) {
    Part &part = sequencesOf[sequences[number].processor];
    if (part.end == 0)
      part.begin = number;
    part.end = number + 1;
  }
  layQueues();
  layFlows();
  for (uint32_t number = 0; number < rows.size(); ++number)
    if (rows[number].before.begin == rows[number].before.end)
      for (uint32_t m = 0; m < microbatches; ++m)
        if (pending[at({number, m})] == 0)
          makeReady({number, m});
}

Ticks PipelineEngine::runEvents() {
  layEvents();
  for (;;) {
    do
      startTransfers();
    while (startComputes());
    if (cut)
      break;
    flows.share(now);
    Ticks first = events.empty() ? kNever : events.front().time;
    now = std::min(first, flows.next());
    if (now == kNever)
      break;
    endFlows();
    while (!events.empty() && events.front().time == now) {
      Event event = events.front();
      std::pop_heap(events.begin(), events.end(), kLater);
      events.pop_back();
      handle(event);
    }
  }
  return cut ? kNever : finish();
}

} // namespace stagewright
