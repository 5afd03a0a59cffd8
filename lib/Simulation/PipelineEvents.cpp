//===- PipelineEvents.cpp - event-driven execution orders -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block can start only at a time when it becomes ready, one of its resources
// becomes free, or the cap of its stage is lifted. So at each time only the
// queues and processors with such an event are examined.
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>
#include <bit>

namespace stagewright {

/// Orders the heap so that the earliest event is on top.
static constexpr auto kLater = [](const auto &a, const auto &b) {
  return a.time > b.time;
};

bool PipelineEngine::comesBefore(BlockId a, BlockId b) const {
  const PipelineRow &rowA = rows[a.row], &rowB = rows[b.row];
  if (rowA.backward != rowB.backward)
    return rowA.backward;
  if (a.microbatch != b.microbatch)
    return a.microbatch < b.microbatch;
  return a.row < b.row; // Rows are added in order of their numbers.
}

//===----------------------------------------------------------------------===//
// Ready queues
//===----------------------------------------------------------------------===//

/// The lowest microbatch of a non-empty queue.
uint32_t PipelineEngine::head(const ReadyQueue &queue) const {
  size_t word = queue.words + queue.first;
  while (bits[word] == 0)
    ++word;
  auto bit = static_cast<uint32_t>(std::countr_zero(bits[word]));
  auto number = static_cast<uint32_t>((word - queue.words) * 64 + bit);
  return number * queue.lanes + queue.lane;
}

/// Removes and returns the head of the queue.
BlockId PipelineEngine::take(ReadyQueue &queue) {
  uint32_t microbatch = head(queue), number = microbatch / queue.lanes;
  queue.first = number / 64;
  bits[queue.words + queue.first] &= ~(uint64_t(1) << (number % 64));
  --queue.count;
  return {queue.row, microbatch};
}

template <typename Visit>
void PipelineEngine::forResources(const ReadyQueue &queue, Visit visit) const {
  const PipelineRow &row = rows[queue.row];
  visit(rows.list(row.lanes)[queue.lane]);
  for (uint32_t shared : rows.list(row.shared))
    visit(shared);
}

bool PipelineEngine::isFree(const ReadyQueue &queue) const {
  const PipelineRow &row = rows[queue.row];
  if (busy[rows.list(row.lanes)[queue.lane]])
    return false;
  for (uint32_t shared : rows.list(row.shared))
    if (busy[shared])
      return false;
  return true;
}

/// Creates a queue for every lane of a transfer and, if compute runs by
/// priority, for every processor of a stage; also lists the queues of every
/// resource.
void PipelineEngine::layQueues() {
  queues.clear();
  firstQueue.assign(rows.size(), 0);
  queuesOf.assign(model->numProcessors + model->numLinks, {});
  size_t words = 0;
  uint32_t flags = 0;
  for (uint32_t number = 0; number < rows.size(); ++number) {
    const PipelineRow &row = rows[number];
    firstQueue[number] = static_cast<uint32_t>(queues.size());
    if (sequenced && !row.transfer)
      continue;
    uint32_t lanes = row.lanes.end - row.lanes.begin;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      queues.push_back({number, lane, lanes, words, 0, 0});
      words += (microbatches / lanes) / 64 + 1;
      queues.back().flags = flags;
      forResources(queues.back(), [&](uint32_t resource) {
        ++queuesOf[resource].end;
        ++flags;
      });
    }
  }
  bits.assign(words, 0);
  uint32_t next = 0;
  for (Part &part : queuesOf) {
    uint32_t count = part.end;
    part = {next, next};
    next += count;
  }
  queueNumbers.resize(next);
  for (uint32_t queue = 0; queue < queues.size(); ++queue)
    forResources(queues[queue], [&](uint32_t resource) {
      queueNumbers[queuesOf[resource].end++] = queue;
    });
  isCandidate.assign(queues.size(), 0);
  waiting.resize(queuesOf.size());
  for (std::vector<Waiting> &list : waiting)
    list.clear();
  isListed.assign(flags, 0);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

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

/// Called when all inputs of `block` are available.
void PipelineEngine::makeReady(BlockId block) {
  const PipelineRow &row = rows[block.row];
  uint32_t lane = laneOf(row, block.microbatch);
  if (!row.transfer)
    awaken(rows.list(row.lanes)[lane]);
  if (!row.transfer && sequenced)
    return;
  uint32_t number = firstQueue[block.row] + lane;
  ReadyQueue &queue = queues[number];
  uint32_t bit = block.microbatch / queue.lanes, word = bit / 64;
  bits[queue.words + word] |= uint64_t(1) << (bit % 64);
  queue.first = queue.count++ == 0 ? word : std::min(queue.first, word);
  if (!row.transfer)
    return;
  if (queue.count == 1)
    list(number);
  if (!isCandidate[number]) {
    isCandidate[number] = 1;
    (row.duration == 0 ? zeroCandidates : candidates).push_back(number);
  }
}

void PipelineEngine::freeResource(uint32_t resource) {
  busy[resource] = 0;
  if (resource < model->numProcessors)
    return awaken(resource);
  std::vector<Waiting> &list = waiting[resource];
  for (size_t at = 0; at < list.size();) {
    auto [number, flag] = list[at];
    if (queues[number].count == 0) {
      isListed[flag] = 0;
      list[at] = list.back();
      list.pop_back();
      continue;
    }
    ++at;
    if (isCandidate[number])
      continue;
    isCandidate[number] = 1;
    (rows[queues[number].row].duration == 0 ? zeroCandidates : candidates)
        .push_back(number);
  }
}

/// Registers a transfer's non-empty queue with the resources that it needs.
void PipelineEngine::list(uint32_t number) {
  uint32_t flag = queues[number].flags;
  forResources(queues[number], [&](uint32_t resource) {
    if (!isListed[flag]) {
      isListed[flag] = 1;
      waiting[resource].push_back({number, flag});
    }
    ++flag;
  });
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
  for (uint32_t shared : rows.list(row.shared))
    busy[shared] = 1;
  events.push_back({end, block});
  std::push_heap(events.begin(), events.end(), kLater);
}

void PipelineEngine::startTransfers() {
  // Transfers of duration 0 occupy nothing, so their order does not matter.
  for (uint32_t number : zeroCandidates) {
    isCandidate[number] = 0;
    while (queues[number].count != 0 && isFree(queues[number]))
      start(take(queues[number]));
  }
  zeroCandidates.clear();

  if (candidates.size() > 1)
    std::sort(candidates.begin(), candidates.end(),
              [&](uint32_t a, uint32_t b) {
                return comesBefore({queues[a].row, head(queues[a])},
                                   {queues[b].row, head(queues[b])});
              });
  for (uint32_t number : candidates) {
    isCandidate[number] = 0;
    if (queues[number].count != 0 && isFree(queues[number]))
      start(take(queues[number]));
  }
  candidates.clear();
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

/// Starts blocks on idle processors. Returns true if it has to be called again
/// after the transfers, because a block of duration 0 has ended.
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
    if (row.freedBy != kNoRow)
      for (uint32_t m = row.freedSlots; m < microbatches; ++m)
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
    if (cut || events.empty())
      break;
    now = events.front().time;
    while (!events.empty() && events.front().time == now) {
      BlockId block = events.front().block;
      std::pop_heap(events.begin(), events.end(), kLater);
      events.pop_back();
      const PipelineRow &row = rows[block.row];
      freeResource(resourceOf(row, block.microbatch));
      for (uint32_t shared : rows.list(row.shared))
        freeResource(shared);
      complete(block);
    }
  }
  return cut ? kNever : finish();
}

} // namespace stagewright
