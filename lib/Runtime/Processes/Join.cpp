//===- Join.cpp - collectives before and after a step ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Join.h"

#include "Processes/Placement.h"
#include "Threads/Dilation.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <functional>

namespace stagewright::runtime {

void joinRanks(const Artifact &artifact, const StepOptions &options,
               Processes &processes) {
  ProcessGroup &group = processes.group();
  // All that determines which messages the processes exchange.
  std::string common = artifact.text() + std::to_string(options.microbatches) +
                       (options.check ? "c" : "") + (options.graph ? "g" : "") +
                       (options.trace > 0 || options.profile ? "r" : "") +
                       (Pace::parse(options.pace).sends ? "p" : "") +
                       std::to_string(options.trace);
  uint64_t mine = std::hash<std::string>()(common);
  std::vector<uint64_t> all(size_t(group.size()));
  group.gather(&mine, all.data(), sizeof(mine), PollTimeout(0, 0));
  for (size_t p = 1; p < all.size(); ++p)
    if (all[p] != all[0])
      raise("process ", p,
            " has an artifact or options that differ from those of process 0; "
            "give all the same");
  std::vector<int64_t> ranks =
      placeRanks(artifact.manifest(), processes.hosts(), options.anyHosts);
  // Even if no number changes, since this also separates the messages of this
  // step from receives that another step has posted with the same tags.
  group.renumber(ranks[size_t(group.self())]);
}

void gatherResult(ProcessGroup &group, const HostArenas &view, size_t result,
                  ByteRange range, std::byte *to, const ReadBuffer &read) {
  int64_t self = group.self();
  std::vector<std::byte> received;
  forParts(view, result, range, [&](const BufferPart &it) {
    bool mine = int64_t(it.rank) == self;
    if (self != 0 && !mine)
      return;
    const std::byte *data =
        mine ? read(it.rank, it.buffer, it.at, it.bytes) : nullptr;
    if (self != 0)
      return group.sendNow(0, data, it.bytes);
    if (!mine && it.weight == 0 && it.strips.size() == 1 &&
        it.strips.front().runs == 1) {
      // Contiguous in the result too.
      int64_t whole = it.strips.front().whole;
      return group.receiveNow(int64_t(it.rank),
                              to + std::max(whole - range.begin, int64_t(0)),
                              it.bytes);
    }
    if (!mine) {
      received.resize(size_t(it.bytes));
      group.receiveNow(int64_t(it.rank), received.data(), it.bytes);
      data = received.data();
    }
    it.copyOut(range, data, to);
  });
}

namespace {
/// Nanoseconds to add to the clock of `rank` to get that of rank 0. Takes the
/// fastest of 16 round trips and assumes that `rank` reads its clock half way.
/// The error is at most half of that round trip.
int64_t clockShift(ProcessGroup &group, int64_t rank) {
  int64_t best = INT64_MAX, shift = 0, there = 0;
  for (int i = 0; i < 16; ++i) {
    if (group.self() == rank) {
      group.receiveNow(0, &there, sizeof(there));
      there = now();
      group.sendNow(0, &there, sizeof(there));
      continue;
    }
    int64_t asked = now();
    group.sendNow(rank, &there, sizeof(there));
    group.receiveNow(rank, &there, sizeof(there));
    int64_t answered = now();
    if (answered - asked < best) {
      best = answered - asked;
      shift = asked + best / 2 - there;
    }
  }
  return shift;
}

} // namespace

std::vector<Traffic> gatherTraffic(ProcessGroup &group,
                                   std::vector<Traffic> traffic) {
  int64_t self = group.self();
  if (self != 0) {
    group.sendNow(0, &traffic[size_t(self)], sizeof(Traffic));
    return {};
  }
  for (size_t r = 1; r < traffic.size(); ++r)
    group.receiveNow(int64_t(r), &traffic[r], sizeof(Traffic));
  return traffic;
}

bool gatherRecords(Processes &processes,
                   const std::vector<std::unique_ptr<Recorder>> &records) {
  ProcessGroup &group = processes.group();
  int64_t self = group.self();
  std::vector<std::string> hosts = processes.hosts();
  for (size_t r = 1; r < records.size(); ++r) {
    if (self != 0 && self != int64_t(r))
      continue;
    int64_t shift = hosts[r] == hosts[0] ? 0 : clockShift(group, int64_t(r));
    std::vector<std::byte> packed;
    if (self != 0)
      packed = records[r]->pack();
    auto size = int64_t(packed.size());
    if (self == 0) {
      group.receiveNow(int64_t(r), &size, sizeof(size));
      packed.resize(size_t(size));
      group.receiveNow(int64_t(r), packed.data(), size);
      records[r]->unpack(packed, shift);
    } else {
      group.sendNow(0, &size, sizeof(size));
      group.sendNow(0, packed.data(), size);
    }
  }
  return self == 0;
}

} // namespace stagewright::runtime
