//===- Verify.cpp - proves that a plan has no races -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

#include "Constants.h"
#include "Extents.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <map>

namespace stagewright::runtime::cuda {

namespace {

using Clock = std::vector<uint32_t>; ///< by stream

/// A range of bytes that a rank may use. `used`: clock of the last use if other
/// streams use it too, else null.
struct HeldRange {
  Address end = 0;
  Clock *used = nullptr;
};
using HeldRanges = std::map<Address, HeldRange>; ///< by their first address

/// The range that contains `address`; ranges of one map do not overlap.
const HeldRange *find(const HeldRanges &ranges, Address address) {
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin() || address >= std::prev(after)->second.end)
    return nullptr;
  return &std::prev(after)->second;
}

class Verification {
public:
  Verification(const Manifest &manifest, const Memory &memory,
               const std::vector<RankProgram> &programs, const Plan &plan,
               const std::vector<int64_t> &sizes)
      : manifest(manifest), memory(memory), programs(programs), plan(plan),
        sizes(sizes), clocks(plan.streams.size(), Clock(plan.streams.size())),
        recorded(plan.events), next(programs.size(), 0),
        always(programs.size()), held(programs.size()) {
    for (size_t r = 0; r < programs.size(); ++r)
      for (size_t b = 0; b < manifest.ranks[r].buffers.size(); ++b)
        if (manifest.ranks[r].buffers[b].kind != BufferKind::Stash)
          keep(r, memory.layouts[r].buffers[b]);
    for (size_t r = 0; r < programs.size(); ++r)
      if (int64_t bytes = constantBytes(manifest))
        always[r][memory.constants[r]] = {memory.constants[r] + Address(bytes),
                                          nullptr};
    for (size_t r = 0; r < programs.size(); ++r) {
      copied.emplace_back(manifest.ranks[r].buffers.size(), false);
      for (const Command &command : programs[r].commands)
        if (command.kind == Command::Offload || command.kind == Command::Fetch)
          copied[r][size_t(command.id)] = true;
    }
    // Buckets are also used by the stream of messages.
    for (const Collective &sum : manifest.collectives)
      for (const Bucket &bucket : sum.buckets)
        if (sum.gathers)
          copied[size_t(bucket.rank)][size_t(bucket.first)] = true;
        else
          forBuffers(bucket, [&](Address address, int64_t) {
            always[bucket.rank][address].used = slotClock(address);
          });
  }

  void run();

private:
  void keep(size_t rank, const Ring &ring) {
    Address begin = memory.arenas[rank] + Address(ring.offset);
    if (ring.bytes() > 0)
      always[rank][begin] = {begin + Address(ring.bytes()), nullptr};
  }
  template <typename Visit>
  void forBuffers(const Bucket &bucket, Visit visit) const {
    const Layout &layout = memory.layouts[bucket.rank];
    for (int64_t b = bucket.first; b < bucket.first + bucket.count; ++b)
      if (int64_t bytes = layout.buffers[b].bytes(); bytes > 0)
        visit(memory.arenas[bucket.rank] + Address(layout.buffers[b].offset),
              bytes);
  }
  void hold(size_t rank, Address begin, int64_t bytes, Clock *used) {
    if (bytes > 0)
      held[rank][begin] = {begin + Address(bytes), used};
  }
  int64_t strideOf(int64_t channel) const {
    return memory.layouts[manifest.channels[channel].to]
        .channels[channel]
        .stride;
  }
  Clock *slotClock(Address slot) {
    return &slots.try_emplace(slot, Clock(plan.streams.size())).first->second;
  }
  void advance(size_t rank, size_t command);
  void follow(size_t rank, const Command &command);
  void work(const Operation &operation);
  void touch(const Operation &operation, Address address, int64_t bytes);
  void copy(const Operation &operation);
  void use(const Operation &operation, Clock &used, Address address);
  bool isAddress(uint64_t value) const;
  std::string nameOf(Address address) const;

  const Manifest &manifest;
  const Memory &memory;
  const std::vector<RankProgram> &programs;
  const Plan &plan;
  const std::vector<int64_t> &sizes;
  std::vector<Clock> clocks;      ///< by stream
  std::vector<Clock> recorded;    ///< by event; empty: not yet
  std::vector<size_t> next;       ///< by rank: the first command not followed
  std::vector<HeldRanges> always; ///< by rank: all but stashes and channels
  std::vector<HeldRanges> held;   ///< by rank: stash and channel slots held now
  /// Last uses of slots of channels, buckets and stashes that are copied or
  /// gathered, by address.
  std::map<Address, Clock> slots;
  /// By rank and buffer: stashes that other streams use, too.
  std::vector<std::vector<bool>> copied;
};

/// Updates what a rank holds up to (not including) one of its commands.
void Verification::advance(size_t rank, size_t command) {
  for (; next[rank] < command; ++next[rank])
    follow(rank, programs[rank].commands[next[rank]]);
}

void Verification::follow(size_t rank, const Command &command) {
  int64_t id = command.id, m = command.m;
  switch (command.kind) {
  case Command::Acquire:
    return hold(rank, command.to, memory.layouts[rank].buffers[id].stride,
                copied[rank][size_t(id)] ? slotClock(command.to) : nullptr);
  case Command::Fetch:
    return hold(rank, command.to, command.bytes, slotClock(command.to));
  case Command::Offload:
    held[rank].erase(command.from);
    return;
  case Command::Release: {
    held[rank].erase(memory.arenas[rank] +
                     Address(memory.layouts[rank].buffers[id].at(m)));
    return;
  }
  case Command::Claim:
  case Command::Receive:
    return hold(rank, command.to, strideOf(id), slotClock(command.to));
  case Command::Send:
    held[rank].erase(memory.sent(manifest, id, m));
    return;
  case Command::GiveBack:
    held[rank].erase(memory.received(manifest, id, m));
    return;
  default:
    return;
  }
}

bool Verification::isAddress(uint64_t value) const {
  for (size_t r = 0; r < sizes.size(); ++r)
    if (value >= memory.arenas[r] &&
        value < memory.arenas[r] + Address(sizes[r]))
      return true;
  return false;
}

/// The name of the buffer or channel that contains this address.
std::string Verification::nameOf(Address address) const {
  for (size_t r = 0; r < programs.size(); ++r) {
    auto inside = [&](const Ring &ring) {
      Address base = memory.arenas[r];
      if (ring.onHost)
        base = memory.hosts[r] - Address(memory.layouts[r].total);
      return address >= base && ring.has(int64_t(address - base));
    };
    const Layout &layout = memory.layouts[r];
    for (size_t b = 0; b < layout.buffers.size(); ++b)
      if (inside(layout.buffers[b]))
        return "'" + manifest.ranks[r].buffers[b].name + "' of rank " +
               std::to_string(r);
    for (size_t c = 0; c < layout.channels.size(); ++c)
      if (inside(layout.channels[c]))
        return "channel '" + manifest.channels[c].name + "'";
  }
  return "no buffer";
}

/// One use of shared memory: all uses by other streams must happen before it.
void Verification::use(const Operation &operation, Clock &used,
                       Address address) {
  const Clock &now = clocks[operation.stream];
  for (size_t s = 0; s < used.size(); ++s)
    if (used[s] > now[s])
      raise("rank ", operation.rank, ": ", nameOf(address),
            " is used while another stream may still use it");
  used[operation.stream] = now[operation.stream];
}

void Verification::touch(const Operation &operation, Address address,
                         int64_t bytes) {
  // Stashes first: they may be inside the workspace, which is always held.
  const HeldRange *found = find(held[operation.rank], address);
  if (!found)
    found = find(always[operation.rank], address);
  if (!found)
    raise("rank ", operation.rank, ": an address of ", nameOf(address),
          " is used, which the rank does not hold then");
  const HeldRange &range = *found;
  if (address + Address(bytes) > range.end)
    raise("rank ", operation.rank, ": ", bytes, " bytes of ", nameOf(address),
          " are used, but there are ", range.end - address);
  if (range.used)
    use(operation, *range.used, address);
}

void Verification::work(const Operation &operation) {
  const RankProgram &program = programs[operation.rank];
  const Command &command = program.commands[operation.number];
  switch (command.kind) {
  case Command::Launch: {
    const Kernel &kernel = manifest.kernels[command.id];
    for (int64_t i = 0; i < command.bytes; ++i)
      if (uint64_t value = program.values[command.to + Address(i)];
          isAddress(value))
        touch(operation, value,
              kernel.bytes.empty() ? 0 : kernel.bytes[size_t(i)]);
      else if (isHostAddress(value))
        raise("rank ", operation.rank, ": kernel '", kernel.name,
              "' is given an address of the host's memory as argument ", i);
    return;
  }
  case Command::Copy:
    touch(operation, command.from, command.bytes);
    touch(operation, command.to, command.bytes);
    return;
  case Command::Fill:
    return touch(operation, command.to, command.bytes);
  case Command::Contract: {
    const Contraction &it = program.contractions[command.id];
    for (Address address : {it.a, it.b, it.c, it.bias, it.aux})
      if (address)
        touch(operation, address, 0);
    return;
  }
  case Command::Attend:
    for (const Extent &it : extentsOf(program.attentions[command.id]))
      touch(operation, it.address, it.bytes);
    return;
  case Command::Convolve:
    for (const Extent &it : extentsOf(program.convolutions[command.id]))
      touch(operation, it.address, it.bytes);
    return;
  default:
    return;
  }
}

/// Checks a copy of a stash. Offload reads a slot that the rank still holds,
/// Fetch writes one that it holds from then on.
void Verification::copy(const Operation &operation) {
  auto rank = size_t(operation.rank);
  bool leaves = operation.kind == Operation::Offload;
  const Command &command = programs[rank].commands[operation.number];
  Address host = leaves ? command.to : command.from;
  Address first = memory.hosts[rank];
  if (host < first || host + Address(command.bytes) >
                          first + Address(memory.layouts[rank].host))
    raise("rank ", rank, ": ", command.bytes, " bytes of stash '",
          manifest.ranks[rank].buffers[size_t(command.host)].name,
          "' lie outside of its memory on the host");
  advance(rank, operation.number + (leaves ? 0 : 1));
  touch(operation, leaves ? command.from : command.to, command.bytes);
  use(operation, *slotClock(host), host);
}

void Verification::run() {
  for (const Operation &it : plan.operations) {
    Clock &clock = clocks[it.stream];
    ++clock[it.stream];
    switch (it.kind) {
    case Operation::Record:
      recorded[it.number] = clock;
      break;
    case Operation::Wait: {
      const Clock &other = recorded[it.number];
      if (other.empty())
        raise("rank ", it.rank, ": event ", it.number,
              " is waited for before it is recorded");
      for (size_t s = 0; s < clock.size(); ++s)
        clock[s] = std::max(clock[s], other[s]);
      break;
    }
    case Operation::Work:
      advance(size_t(it.rank), it.number);
      work(it);
      break;
    case Operation::Offload:
    case Operation::Fetch:
      copy(it);
      break;
    case Operation::CopyTo:
    case Operation::SendTo:
    case Operation::TakeFrom: {
      auto channel = int64_t(it.number);
      Address from = memory.sent(manifest, channel, it.m);
      Address to = memory.received(manifest, channel, it.m);
      if (it.kind != Operation::TakeFrom)
        use(it, *slotClock(from), from);
      if (it.kind != Operation::SendTo)
        use(it, *slotClock(to), to);
      break;
    }
    case Operation::Sum: {
      const Collective &sum = manifest.collectives[it.number];
      if (sum.gathers)
        touch(it, memory.bucket(manifest, int64_t(it.number), it.rank),
              sum.bytes() * sum.parts());
      else
        forBuffers(
            sum.buckets[sum.placeOf(it.rank)],
            [&](Address address, int64_t bytes) { touch(it, address, bytes); });
      break;
    }
    default:
      break;
    }
  }
}

} // namespace

void verifyPlan(const Manifest &manifest, const Memory &memory,
                const std::vector<RankProgram> &programs, const Plan &plan,
                const std::vector<int64_t> &sizes) {
  Verification(manifest, memory, programs, plan, sizes).run();
}

} // namespace stagewright::runtime::cuda
