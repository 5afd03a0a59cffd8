//===- Prepare.cpp - from an artifact to a verified plan ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"

#include "Contraction.h"
#include "Error.h"
#include "Verify.h"

#include <charconv>
#include <sstream>

namespace stagewright::runtime::cuda {

std::vector<Route> routesOf(const Manifest &manifest,
                            const std::vector<int> &devices) {
  std::vector<Route> routes;
  routes.reserve(manifest.channels.size());
  for (const Channel &channel : manifest.channels)
    routes.push_back(devices[channel.from] == devices[channel.to]
                         ? Route::HandOff
                         : Route::Copy);
  return routes;
}

RankMemory memoryOf(const Manifest &manifest, const Memory &memory,
                    int64_t rank, bool contracts) {
  RankMemory it;
  it.arena = memory.layouts[rank].total;
  for (size_t c = 0; c < manifest.channels.size(); ++c)
    if (manifest.channels[c].from == rank && memory.routes[c] != Route::HandOff)
      it.senders += memory.layouts[manifest.channels[c].to].channels[c].bytes();
  it.workspace = contracts ? libraryWorkspace : 0;
  return it;
}

void placeMemory(const Manifest &manifest, Memory &memory,
                 const std::vector<Address> &bases) {
  memory.arenas = bases;
  memory.senders.assign(manifest.channels.size(), 0);
  std::vector<Address> next;
  for (size_t r = 0; r < bases.size(); ++r)
    next.push_back(bases[r] + Address(memory.layouts[r].total));
  for (size_t c = 0; c < manifest.channels.size(); ++c) {
    if (memory.routes[c] == Route::HandOff)
      continue;
    const Channel &channel = manifest.channels[c];
    memory.senders[c] = next[channel.from];
    next[channel.from] +=
        Address(memory.layouts[channel.to].channels[c].bytes());
  }
}

Prepared prepareStep(const Artifact &artifact, const Memory &memory,
                     int64_t microbatches, const PlanOptions &options) {
  const Manifest &manifest = artifact.manifest();
  Prepared it;
  it.programs = recordProgram(artifact, memory, microbatches);
  auto order = orderProgram(manifest, memory, it.programs);
  it.plan = planStep(manifest, memory, it.programs, order, options);
  std::vector<int64_t> sizes;
  for (size_t r = 0; r < it.programs.size(); ++r)
    sizes.push_back(memoryOf(manifest, memory, int64_t(r),
                             !it.programs[r].contractions.empty())
                        .total());
  verifyPlan(manifest, memory, it.programs, it.plan, sizes);
  return it;
}

DryRun dryRun(const Artifact &artifact, const std::vector<Layout> &layouts,
              const std::vector<int> &devices, int64_t microbatches) {
  const Manifest &manifest = artifact.manifest();
  DryRun it;
  it.memory.layouts = layouts;
  it.memory.routes = routesOf(manifest, devices);
  // Far apart, and nothing that a program could take for a number of its own.
  constexpr Address first = Address(1) << 56, distance = Address(1) << 49;
  std::vector<Address> bases;
  for (size_t r = 0; r < layouts.size(); ++r)
    bases.push_back(first + r * distance);
  placeMemory(manifest, it.memory, bases);
  PlanOptions options;
  options.local.assign(layouts.size(), true);
  it.prepared = prepareStep(artifact, it.memory, microbatches, options);
  for (size_t r = 0; r < layouts.size(); ++r)
    it.sizes.push_back(memoryOf(manifest, it.memory, int64_t(r),
                                !it.prepared.programs[r].contractions.empty()));
  return it;
}

std::vector<int> placeRanks(const std::string &list, size_t ranks, int count) {
  std::vector<int> devices;
  if (list.empty()) {
    for (size_t r = 0; r < ranks; ++r)
      devices.push_back(
          size_t(count) >= ranks ? int(r) : int(r * size_t(count) / ranks));
    return devices;
  }
  const char *end = list.data() + list.size();
  for (const char *at = list.data(); at <= end;) {
    int number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next != end && *next != ','))
      raise("the list of devices is '", list,
            "', expected numbers with commas, as in 0,0,1,1");
    devices.push_back(number);
    at = next + 1;
  }
  if (devices.size() != ranks)
    raise("the list of devices '", list, "' has ", devices.size(),
          " entries, expected one for each of ", ranks, " ranks");
  return devices;
}

namespace {
std::string describePlan(const Manifest &manifest, const Prepared &prepared) {
  int64_t kinds[4] = {}, copies = 0, messages = 0, actions = 0;
  for (const Operation &it : prepared.plan.operations) {
    if (it.kind == Operation::Work)
      ++kinds[prepared.programs[it.rank].commands[it.number].kind];
    copies += it.kind == Operation::CopyTo;
    messages += it.kind == Operation::SendTo || it.kind == Operation::TakeFrom;
    actions += it.kind == Operation::Begin;
  }
  std::ostringstream out;
  out << "ranks        " << prepared.programs.size() << "\n"
      << "streams      " << prepared.plan.streams.size() << "\n"
      << "events       " << prepared.plan.events << "\n"
      << "actions      " << actions << "\n"
      << "launches     " << kinds[Command::Launch] << " of "
      << manifest.kernels.size() << " kernels\n"
      << "contractions " << kinds[Command::Contract] << "\n"
      << "fills        " << kinds[Command::Fill] << "\n"
      << "copies       " << kinds[Command::Copy] << "\n"
      << "transfers    " << copies << " between devices, " << messages
      << " ends of messages between processes\n"
      << "under way    at most " << prepared.plan.concurrentTransfers
      << " transfers that wait for a partner on one device at once\n"
      << "verified     events in order, slots never shared, addresses held\n";
  return out.str();
}

} // namespace

std::string proveStep(const Artifact &artifact, int64_t microbatches,
                      const std::string &devices) {
  const Manifest &manifest = artifact.manifest();
  if (!manifest.cuda)
    raise("the artifact's target is the processor; there is nothing to prove "
          "without running it");
  int64_t count = microbatches > 0 ? microbatches : manifest.microbatches;
  size_t ranks = manifest.ranks.size();
  std::vector<Layout> layouts;
  for (size_t r = 0; r < ranks; ++r)
    layouts.push_back(layOut(manifest, int64_t(r), count));
  return describePlan(
      manifest,
      dryRun(artifact, layouts, placeRanks(devices, ranks, int(ranks)), count)
          .prepared);
}

} // namespace stagewright::runtime::cuda
