//===- Join.cpp - collectives before and after a step ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Join.h"

#include "Error.h"
#include "Processes/Placement.h"

#include <cstring>
#include <functional>

namespace stagewright::runtime {

void joinRanks(const Artifact &artifact, const StepOptions &options,
               Processes &processes) {
  Assembly &assembly = processes.assembly();
  // All that determines which messages the processes exchange.
  std::string common = artifact.text() + std::to_string(options.microbatches) +
                       (options.check ? "c" : "") + (options.graph ? "g" : "") +
                       (options.trace > 0 || options.profile ? "r" : "") +
                       std::to_string(options.trace);
  uint64_t mine = std::hash<std::string>()(common);
  std::vector<uint64_t> all(size_t(assembly.size()));
  assembly.gather(&mine, all.data(), sizeof(mine), Patience(0, 0));
  for (size_t p = 1; p < all.size(); ++p)
    if (all[p] != all[0])
      raise("process ", p,
            " has another artifact or other options than process "
            "0; give all of them the same");
  std::vector<int64_t> ranks =
      placeRanks(artifact.manifest(), processes.hosts(), options.anyHosts);
  assembly.renumber(ranks[size_t(assembly.self())]);
}

size_t findGathered(const Assembly &assembly, const HostArenas &view,
                    int64_t position, sw_tensor tensor) {
  if (assembly.self() != 0)
    tensor.data = &tensor; // Never written.
  return findResult(view, position, tensor);
}

/// Gathers a result whose buffers hold it whole or in slices. Each part is
/// received in place, unless it is not contiguous there.
static void gatherParts(Assembly &assembly, const HostArenas &view,
                        size_t result, const sw_tensor &tensor) {
  int64_t self = assembly.self();
  auto *data = static_cast<std::byte *>(tensor.data);
  std::vector<std::byte> received;
  auto visit = [&](size_t r, size_t b) {
    const Buffer &buffer = view.manifest.ranks[r].buffers[b];
    const std::byte *from = int64_t(r) == self ? lastSlot(view, r, b) : nullptr;
    if (buffer.bytes == 0 || (self != 0 && !from))
      return;
    if (self != 0)
      return assembly.sendNow(0, from, buffer.bytes);
    const Interface &whole = view.manifest.results[result];
    if (!from && whole.runs == 1) {
      forRuns(buffer, whole, [&](int64_t, int64_t place, int64_t size) {
        assembly.receiveNow(int64_t(r), data + place, size);
      });
      return;
    }
    if (!from) {
      received.resize(size_t(buffer.bytes));
      assembly.receiveNow(int64_t(r), received.data(), buffer.bytes);
      from = received.data();
    }
    forRuns(buffer, whole, [&](int64_t part, int64_t place, int64_t size) {
      std::memcpy(data + place, from + part, size_t(size));
    });
  };
  forBuffers(view.manifest, &Buffer::result, int64_t(result), visit);
}

void gatherResult(Assembly &assembly, const HostArenas &view, size_t result,
                  const sw_tensor &tensor) {
  if (view.manifest.results[result].combine != "concat")
    return gatherParts(assembly, view, result, tensor);
  int64_t self = assembly.self(), bytes = 0;
  std::vector<Layout> compact = view.layouts;
  auto place = [&](size_t r, size_t b) {
    compact[r].buffers[b].offset = bytes;
    bytes += compact[r].buffers[b].bytes();
  };
  forBuffers(view.manifest, &Buffer::result, int64_t(result), place);
  std::vector<std::byte> parts(self == 0 ? size_t(bytes) : 0);
  auto move = [&](size_t r, size_t b) {
    const Ring &from = view.layouts[r].buffers[b];
    std::byte *to = parts.data() + compact[r].buffers[b].offset;
    if (int64_t(r) != self && self == 0)
      assembly.receiveNow(int64_t(r), to, from.bytes());
    else if (int64_t(r) == self && self != 0)
      assembly.sendNow(0, view.bases[r] + from.offset, from.bytes());
    else if (self == 0)
      std::memcpy(to, view.bases[r] + from.offset, size_t(from.bytes()));
  };
  forBuffers(view.manifest, &Buffer::result, int64_t(result), move);
  if (self != 0)
    return;
  HostArenas put = {view.manifest, compact, {}, view.microbatches};
  put.bases.assign(view.manifest.ranks.size(), parts.data());
  copyOut(put, result, tensor);
}

namespace {
/// Nanoseconds to add to the clock of `rank` to get that of rank 0. Takes the
/// fastest of 16 round trips and assumes that `rank` reads its clock half way.
/// The error is at most half of that round trip.
int64_t clockShift(Assembly &assembly, int64_t rank) {
  int64_t best = INT64_MAX, shift = 0, there = 0;
  for (int i = 0; i < 16; ++i) {
    if (assembly.self() == rank) {
      assembly.receiveNow(0, &there, sizeof(there));
      there = now();
      assembly.sendNow(0, &there, sizeof(there));
      continue;
    }
    int64_t asked = now();
    assembly.sendNow(rank, &there, sizeof(there));
    assembly.receiveNow(rank, &there, sizeof(there));
    int64_t answered = now();
    if (answered - asked < best) {
      best = answered - asked;
      shift = asked + best / 2 - there;
    }
  }
  return shift;
}

} // namespace

std::vector<Traffic> gatherTraffic(Assembly &assembly,
                                   std::vector<Traffic> traffic) {
  int64_t self = assembly.self();
  if (self != 0) {
    assembly.sendNow(0, &traffic[size_t(self)], sizeof(Traffic));
    return {};
  }
  for (size_t r = 1; r < traffic.size(); ++r)
    assembly.receiveNow(int64_t(r), &traffic[r], sizeof(Traffic));
  return traffic;
}

bool gatherRecords(Processes &processes,
                   const std::vector<std::unique_ptr<Recorder>> &records) {
  Assembly &assembly = processes.assembly();
  int64_t self = assembly.self();
  std::vector<std::string> hosts = processes.hosts();
  for (size_t r = 1; r < records.size(); ++r) {
    if (self != 0 && self != int64_t(r))
      continue;
    int64_t shift = hosts[r] == hosts[0] ? 0 : clockShift(assembly, int64_t(r));
    std::vector<std::byte> packed;
    if (self != 0)
      packed = records[r]->pack();
    auto size = int64_t(packed.size());
    if (self == 0) {
      assembly.receiveNow(int64_t(r), &size, sizeof(size));
      packed.resize(size_t(size));
      assembly.receiveNow(int64_t(r), packed.data(), size);
      records[r]->unpack(packed, shift);
    } else {
      assembly.sendNow(0, &size, sizeof(size));
      assembly.sendNow(0, packed.data(), size);
    }
  }
  return self == 0;
}

} // namespace stagewright::runtime
