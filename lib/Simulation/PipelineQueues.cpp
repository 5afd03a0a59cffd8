//===- PipelineQueues.cpp - blocks that are ready, and what they wait for -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Microbatches of a row that are ready wait in a queue for their resources. A
// transfer's queue is listed with each of its links and NICs while it is not
// empty, so that freeing one of thousands of links examines few queues.
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>
#include <bit>

namespace stagewright {

bool PipelineEngine::comesBefore(BlockId a, BlockId b) const {
  const PipelineRow &rowA = rows[a.row], &rowB = rows[b.row];
  if (rowA.backward != rowB.backward)
    return rowA.backward;
  if (a.microbatch != b.microbatch)
    return a.microbatch < b.microbatch;
  // Rows are added in order of their numbers. In backwards, a message of a
  // later stage was ready first, and earlier stages wait for it.
  bool isLaterFirst = rowA.backward && rowA.transfer && rowB.transfer;
  return isLaterFirst ? a.row > b.row : a.row < b.row;
}

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
  if (sharesRates())
    return;
  for (uint32_t shared : rows.shared(row, queue.lane))
    visit(shared);
}

bool PipelineEngine::isFree(const ReadyQueue &queue) const {
  const PipelineRow &row = rows[queue.row];
  if (busy[rows.list(row.lanes)[queue.lane]])
    return false;
  if (sharesRates())
    return true;
  for (uint32_t shared : rows.shared(row, queue.lane))
    if (busy[shared])
      return false;
  return true;
}

/// Creates a queue for every lane of a transfer and, if compute runs by
/// priority, for every processor of a stage; also lists the queues of every
/// processor.
void PipelineEngine::layQueues() {
  queues.clear();
  firstQueue.assign(rows.size(), 0);
  queuesOf.assign(model->numProcessors, {});
  size_t words = 0;
  uint32_t flags = 0;
  for (uint32_t number = 0; number < rows.size(); ++number) {
    const PipelineRow &row = rows[number];
    firstQueue[number] = static_cast<uint32_t>(queues.size());
    if (sequenced && !row.transfer)
      continue;
    uint32_t lanes = row.lanes.end - row.lanes.begin;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      queues.push_back({number, lane, lanes, words, 0, 0, flags});
      words += (microbatches / lanes) / 64 + 1;
      if (row.transfer)
        forResources(queues.back(), [&](uint32_t) { ++flags; });
      else
        ++queuesOf[rows.list(row.lanes)[lane]].end;
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
  for (uint32_t number = 0; number < queues.size(); ++number) {
    const PipelineRow &row = rows[queues[number].row];
    if (!row.transfer)
      queueNumbers[queuesOf[rows.list(row.lanes)[queues[number].lane]].end++] =
          number;
  }
  isCandidate.assign(queues.size(), 0);
  waiting.resize(model->numProcessors + model->numLinks);
  for (std::vector<Waiting> &list : waiting)
    list.clear();
  isListed.assign(flags, 0);
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
  addCandidate(number);
}

/// Has startTransfers() look at a queue that is not empty.
void PipelineEngine::addCandidate(uint32_t number) {
  if (isCandidate[number])
    return;
  isCandidate[number] = 1;
  (rows[queues[number].row].duration == 0 ? zeroCandidates : candidates)
      .push_back(number);
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
    addCandidate(number);
    ++at;
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

} // namespace stagewright
