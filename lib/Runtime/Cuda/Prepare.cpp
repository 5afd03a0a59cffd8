//===- Prepare.cpp - from an artifact to a verified plan ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"

#include "Constants.h"
#include "Contraction.h"
#include "ProcessSums.h"
#include "Verify.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <charconv>
#include <set>
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

int64_t RankMemory::workspaceOffset() const {
  return alignUp(arena + senders + constants, workspaceAlignment);
}

int64_t RankMemory::total() const {
  return workspace > 0 ? workspaceOffset() + workspace
                       : arena + senders + constants;
}

RankMemory memoryOf(const Manifest &manifest, const Memory &memory,
                    int64_t rank, bool contracts) {
  RankMemory it;
  it.arena = memory.layouts[rank].total;
  for (size_t c = 0; c < manifest.channels.size(); ++c)
    if (manifest.channels[c].from == rank && memory.routes[c] != Route::HandOff)
      it.senders += memory.layouts[manifest.channels[c].to].channels[c].bytes();
  it.constants = constantBytes(manifest);
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
  memory.constants = std::move(next);
}

namespace {
/// Plans recorded programs on the streams of one process, and verifies the
/// plan.
Plan verifiedPlan(const Manifest &manifest, const Memory &memory,
                  const std::vector<RankProgram> &programs,
                  const std::vector<OrderedCommand> &order,
                  const PlanOptions &options) {
  Plan plan = planStep(manifest, memory, programs, order, options);
  std::vector<int64_t> sizes;
  for (size_t r = 0; r < programs.size(); ++r)
    sizes.push_back(memoryOf(manifest, memory, int64_t(r),
                             !programs[r].contractions.empty())
                        .total());
  verifyPlan(manifest, memory, programs, plan, sizes);
  return plan;
}

/// Fictitious addresses: far apart, and different from all other numbers in a
/// program.
Memory madeUp(const Manifest &manifest, const std::vector<Layout> &layouts,
              const std::vector<Route> &routes) {
  constexpr Address first = Address(1) << 56, distance = Address(1) << 49;
  Memory memory;
  memory.layouts = layouts;
  memory.routes = routes;
  std::vector<Address> bases;
  for (size_t r = 0; r < layouts.size(); ++r)
    bases.push_back(first + r * distance);
  for (size_t r = 0; r < layouts.size(); ++r)
    memory.hosts.push_back((Address(1) << 62) + r * distance);
  placeMemory(manifest, memory, bases);
  return memory;
}
} // namespace

Prepared prepareStep(const Artifact &artifact, const Memory &memory,
                     int64_t microbatches, const PlanOptions &options) {
  const Manifest &manifest = artifact.manifest();
  Prepared it;
  it.programs = recordProgram(artifact, memory, microbatches);
  auto order = orderProgram(manifest, memory, it.programs);
  it.plan = verifiedPlan(manifest, memory, it.programs, order, options);
  return it;
}

DryRun dryRun(const Artifact &artifact, const std::vector<Layout> &layouts,
              const std::vector<Route> &routes, int64_t microbatches,
              const std::vector<bool> &local) {
  DryRun it;
  it.memory = madeUp(artifact.manifest(), layouts, routes);
  PlanOptions options;
  options.local = local;
  it.prepared = prepareStep(artifact, it.memory, microbatches, options);
  for (size_t r = 0; r < layouts.size(); ++r)
    it.sizes.push_back(memoryOf(artifact.manifest(), it.memory, int64_t(r),
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
/// Whether NCCL needs a host thread for a message or sum, as it does between
/// hosts. In a captured graph each such message or sum then has a host node
/// before its kernel. Source: NCCL 2.18 to 2.28, `ncclLaunchPrepare` in
/// src/enqueue.cc (plans with proxy operations).
bool callsHost(const Manifest &manifest, const Operation &it) {
  auto hostOf = [&](int64_t rank) { return manifest.ranks[size_t(rank)].host; };
  switch (it.kind) {
  case Operation::SendTo:
  case Operation::TakeFrom: {
    const Channel &channel = manifest.channels[it.number];
    return hostOf(channel.from) != hostOf(channel.to);
  }
  case Operation::Sum: {
    const std::vector<Bucket> &buckets =
        manifest.collectives[it.number].buckets;
    return std::any_of(buckets.begin(), buckets.end(), [&](const Bucket &one) {
      return hostOf(one.rank) != hostOf(buckets.front().rank);
    });
  }
  default:
    return false;
  }
}

/// Summarizes the plans of all processes.
std::string describe(const Manifest &manifest,
                     const std::vector<RankProgram> &programs,
                     const std::vector<Plan> &plans) {
  int64_t epilogues = 0, tf32 = 0, instead = 0;
  int64_t kinds[6] = {}, copies = 0, messages = 0, maxTransfers = 0, sums = 0;
  int64_t offloads = 0, fetches = 0, hostCalls = 0;
  std::set<std::pair<int32_t, size_t>> actions; // By rank and command.
  size_t streams = 0, events = 0;
  for (const Plan &plan : plans) {
    streams += plan.streams.size();
    events += plan.events;
    maxTransfers = std::max(maxTransfers, plan.concurrentTransfers);
    for (const Operation &it : plan.operations) {
      if (it.kind == Operation::Work) {
        const RankProgram &program = programs[it.rank];
        const Command &command = program.commands[it.number];
        instead += command.instead >= 0;
        ++kinds[command.kind];
        if (command.kind == Command::Contract) {
          const sw_contraction_desc &desc =
              program.contractions[command.id].desc;
          epilogues += desc.epilogue != SW_EPILOGUE_NONE;
          tf32 += desc.tf32;
        }
      }
      copies += it.kind == Operation::CopyTo;
      hostCalls += callsHost(manifest, it);
      sums += it.kind == Operation::Sum;
      offloads += it.kind == Operation::Offload;
      fetches += it.kind == Operation::Fetch;
      messages +=
          it.kind == Operation::SendTo || it.kind == Operation::TakeFrom;
      if (it.kind == Operation::Begin)
        actions.emplace(it.rank, it.number);
    }
  }
  std::ostringstream out;
  out << "ranks        " << programs.size() << "\n"
      << "streams      " << streams << "\n"
      << "events       " << events << "\n"
      << "actions      " << actions.size() << "\n"
      << "launches     " << kinds[Command::Launch] - instead << " of "
      << manifest.kernels.size() << " kernels\n"
      << "contractions " << kinds[Command::Contract] << ", " << epilogues
      << " with an epilogue, " << tf32 << " in TF32\n"
      << "attentions   " << kinds[Command::Attend] << "\n"
      << "convolutions " << kinds[Command::Convolve] << "\n"
      << "fallbacks    " << instead
      << " launches, run only if a library has no algorithm\n"
      << "fills        " << kinds[Command::Fill] << "\n"
      << "copies       " << kinds[Command::Copy] << "\n"
      << "transfers    " << copies << " between devices, " << messages
      << " ends of messages between processes\n"
      << (messages + sums > 0
              ? "host calls   " + std::to_string(hostCalls) +
                    " by NCCL, for messages and sums between hosts\n"
              : "")
      << (sums > 0 ? "sums         " + std::to_string(sums) +
                         " parts of sums over ranks\n"
                   : "")
      << (offloads > 0 ? "stashes      " + std::to_string(offloads) +
                             " copies to the host, " + std::to_string(fetches) +
                             " back\n"
                       : "")
      << "waiting      at most " << maxTransfers
      << " transfers on one device wait for the other side at the same time\n"
      << "verified     awaited events are recorded before, live buffers never "
         "overlap, addresses are in buffers that the rank holds\n";
  return out.str();
}
} // namespace

std::vector<RankProgram> recordStep(const Artifact &artifact,
                                    int64_t microbatches) {
  const Manifest &manifest = artifact.manifest();
  if (!manifest.cuda)
    raise("the artifact's target is the processor, so it has no GPU kernels; "
          "compile for a device, for example with --target=cuda:sm_90a");
  int64_t count = microbatches > 0 ? microbatches : manifest.microbatches;
  std::vector<Route> routes(manifest.channels.size(), Route::Network);
  Memory memory = madeUp(manifest, layOut(manifest, count), routes);
  return recordProgram(artifact, memory, count);
}

std::string proveStep(const Artifact &artifact, int64_t microbatches,
                      const std::string &devices, bool processes) {
  const Manifest &manifest = artifact.manifest();
  if (!manifest.cuda)
    raise("the artifact's target is the processor; a dry run needs an artifact "
          "for a device, compiled for example with --target=cuda:sm_90a");
  int64_t count = microbatches > 0 ? microbatches : manifest.microbatches;
  size_t ranks = manifest.ranks.size();
  std::vector<Layout> layouts = layOut(manifest, count);
  std::vector<int> numbers = placeRanks(devices, ranks, int(ranks));
  std::vector<Route> routes = routesOf(manifest, numbers);
  if (processes)
    std::fill(routes.begin(), routes.end(), Route::Network);
  else
    requireOwnDevices(manifest, numbers);
  Memory memory = madeUp(manifest, layouts, routes);
  auto programs = recordProgram(artifact, memory, count);
  auto order = orderProgram(manifest, memory, programs);
  std::vector<Plan> plans;
  for (size_t p = 0; p < (processes ? ranks : 1); ++p) {
    PlanOptions options;
    options.local.assign(ranks, !processes);
    options.local[p] = true;
    plans.push_back(verifiedPlan(manifest, memory, programs, order, options));
  }
  return describe(manifest, programs, plans);
}

} // namespace stagewright::runtime::cuda
