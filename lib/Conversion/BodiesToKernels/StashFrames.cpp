//===- StashFrames.cpp - place stash slots by lifetime --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StashFrames.h"

namespace stagewright::bodies {

StashFrames::StashFrames(rank::ProgramOp program)
    : isOnly(program.getOnly() && !program.isReadyFirst()) {
  if (!isOnly)
    return;
  for (auto buffer : program.getBody().getOps<rank::BufferOp>())
    if (buffer.getKind() == rank::BufferKind::Stash && !buffer.isDepthAll() &&
        !buffer.isCopied())
      held[buffer];
}

void StashFrames::read(const rank::RankEvents &events) {
  if (!isOnly)
    return;
  int64_t row = -1, microbatch = -1;
  Operation *action = nullptr;
  for (const rank::Event &event : events.events) {
    auto *op =
        const_cast<Operation *>(static_cast<const Operation *>(event.origin));
    auto parent = op->getParentOfType<rank::ActionOp>();
    if (row < 0 || parent != action || event.actionMicrobatch != microbatch) {
      ++row;
      action = parent;
      microbatch = event.actionMicrobatch;
    }
    bool begins = event.kind == rank::EventKind::Acquire;
    if (!begins && event.kind != rank::EventKind::Release)
      continue;
    auto *buffer = const_cast<Operation *>(
        static_cast<const Operation *>(events.stashes[event.object].origin));
    auto stash = held.find(buffer);
    if (stash == held.end())
      continue;
    if (begins)
      stash->second[event.microbatch] = {row, row};
    else
      stash->second[event.microbatch].last = row;
  }
}

std::optional<int64_t> StashFrames::bytes(LifePacker &packer) {
  for (auto &[op, lives] : held) {
    std::vector<int64_t> key;
    for (auto [m, life] : lives)
      key.insert(key.end(), {m, life.first, life.last});
    auto buffer = cast<rank::BufferOp>(op);
    Frame &frame = frames[key];
    frame.buffers.push_back(buffer);
    frame.bytes += rank::getSlotStride(buffer.getType());
  }
  for (auto &[key, frame] : frames) {
    frame.first = items.size();
    for (auto [m, life] : held[frame.buffers.front()])
      items.push_back({frame.bytes, {life}, 0});
  }
  if (items.empty())
    return std::nullopt;
  return packer.pack(items).total;
}

void StashFrames::place(int64_t first) {
  for (auto &[key, frame] : frames) {
    const Held &lives = held[frame.buffers.front()];
    if (lives.empty())
      continue;
    std::vector<int64_t> starts(size_t(lives.rbegin()->first) + 1, 0);
    size_t number = frame.first;
    for (auto [m, life] : lives)
      starts[size_t(m)] = items[number++].offset;
    int64_t place = first;
    for (rank::BufferOp buffer : frame.buffers) {
      buffer.setPlace(place);
      buffer.setStarts(starts);
      place += rank::getSlotStride(buffer.getType());
    }
  }
}

} // namespace stagewright::bodies
