//===- DeviceStep.cpp - a step that runs on GPUs --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceStep.h"

#include "Averaging.h"
#include "Constants.h"
#include "DelayedAverages.h"
#include "Execution.h"
#include "Peers.h"
#include "Prepare.h"
#include "Processes/Join.h"
#include "Staging.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

namespace stagewright::runtime::cuda {

namespace {
/// Nanoseconds for which the end of a step is polled without sleeping: longer
/// than the steps for which microseconds matter.
constexpr int64_t eager = 2000000;
/// Polls between checks of the other processes: a check costs a system
/// call.
constexpr int64_t thorough = 64;
} // namespace

/// In order of construction: later members use earlier ones.
struct DeviceStep::Resources {
  std::map<int, std::unique_ptr<Device>> devices;
  std::vector<const Device *> places; ///< by rank
  std::vector<RankMemory> sizes;
  GraphsByDevice graphs;
  std::vector<DeviceMemory> blocks;
  std::vector<PinnedMemory> hosts; ///< stashes on the host, by rank
  std::vector<DevicePointer> workspaces;
  Memory memory;
  Prepared prepared;
  std::optional<Messages> messages;
  std::optional<ProcessSums> sums;
  std::optional<Execution> execution;
  std::optional<Staging> staging;
  std::optional<Averages> averages;

  bool anyOrder = false; ///< sums need not be reproducible

  int64_t planGraphs(const Device &device, const RankProgram &program);
};

/// Makes the plans of the attentions and convolutions of a rank, if any.
/// Returns the bytes of workspace that they need.
int64_t DeviceStep::Resources::planGraphs(const Device &device,
                                          const RankProgram &program) {
  if (program.attentions.empty() && program.convolutions.empty())
    return 0;
  std::unique_ptr<Graphs> &library = graphs[&device];
  if (!library)
    library = std::make_unique<Graphs>(device, anyOrder);
  int64_t workspace = 0;
  for (const Attention &it : program.attentions)
    workspace = std::max(workspace, library->prepare(it));
  for (const Convolution &it : program.convolutions)
    workspace = std::max(workspace, library->prepare(it));
  return workspace;
}

DeviceStep::DeviceStep(std::shared_ptr<const Artifact> source,
                       const StepOptions &options, Processes *processes)
    : Runner(std::move(source), options), graph(options.graph),
      check(options.check), limit(options.deadline),
      resources(std::make_unique<Resources>()) {
  resources->anyOrder = options.anyOrder;
  if (options.deadline < 0)
    raise("the deadline of a step is ", options.deadline,
          " seconds, expected at least 0");
  if (processes) {
    joinRanks(*artifact, options, *processes);
    peers = std::make_unique<Peers>(*processes);
    own = {peers->self()};
    peers->together([&] { make(options); });
    peers->settleSharing(*resources->places[size_t(own[0])]);
    connect();
  } else {
    own.resize(layouts.size());
    std::iota(own.begin(), own.end(), 0);
    make(options);
  }
  fillConstants();
  if (std::string error = check ? checkPeaks() : ""; !error.empty())
    raise(error);
}

void DeviceStep::connect() {
  try {
    resources->messages->connect(resources->memory,
                                 *resources->places[size_t(own[0])],
                                 resources->execution->messageStream(own[0]));
  } catch (const std::exception &error) {
    // Without this the others, waiting for this rank, would report a timeout.
    peers->fail("rank " + std::to_string(own[0]) + ": " + error.what(),
                &*resources->messages, /*status=*/1);
  }
}

/// The part of the construction that needs no other process.
void DeviceStep::make(const StepOptions &options) {
  place(options);
  PlanOptions how;
  how.local.assign(layouts.size(), false);
  for (int64_t r : own)
    how.local[size_t(r)] = true;
  how.actions = options.trace > 0 || options.profile;
  how.nodes = options.profile;
  resources->prepared = prepareStep(*artifact, resources->memory, count, how);
  const Prepared &prepared = resources->prepared;
  if (peers)
    resources->messages.emplace(
        manifest(), prepared.programs[size_t(own[0])], prepared.plan,
        *resources->places[size_t(own[0])], peers->group());
  else if (!manifest().collectives.empty())
    resources->sums.emplace(manifest(), resources->places);
  resources->execution.emplace(
      manifest(), resources->memory, prepared.programs, prepared.plan,
      resources->places, resources->workspaces, resources->graphs,
      resources->messages ? &*resources->messages : nullptr,
      resources->sums ? &*resources->sums : nullptr);
  if (resources->sums) {
    std::vector<Stream> streams;
    for (int64_t r : own)
      streams.push_back(resources->execution->messageStream(r));
    resources->sums->connect(resources->memory, streams);
  }
  std::vector<Stream> streams(layouts.size(), nullptr);
  for (int64_t r : own)
    streams[size_t(r)] = resources->execution->stream(r);
  resources->staging.emplace(manifest(), resources->memory, count,
                             resources->places, streams);
  if (std::any_of(manifest().collectives.begin(), manifest().collectives.end(),
                  [](const Collective &it) { return it.carried; }))
    resources->averages.emplace(
        manifest(), resources->memory, resources->places, streams,
        [this](int64_t collective, int64_t rank, Address bucket,
               Stream stream) {
          if (peers)
            return resources->messages->sum(collective, bucket, stream);
          resources->sums->sum(collective, rank, bucket, stream);
        });
}

/// Leaks the resources if a device did not end its step: freeing memory would
/// wait for the device. They are freed when the process ends.
DeviceStep::~DeviceStep() {
  if (!lost)
    return;
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::unique_ptr<Resources>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(resources));
}

/// Assigns a GPU to every rank of this process and allocates its memory there.
/// A dry run, which needs no device, computes the sizes.
void DeviceStep::place(const StepOptions &options) {
  size_t size = layouts.size();
  int present = 0;
  driver().deviceCount(&present);
  std::vector<int> numbers(size, -1);
  if (peers) {
    numbers[size_t(own[0])] = peers->gpu(options.devices, present);
  } else {
    numbers = placeRanks(options.devices, size, present);
    requireOwnDevices(manifest(), numbers);
  }
  std::vector<Route> routes = routesOf(manifest(), numbers);
  if (peers)
    std::fill(routes.begin(), routes.end(), Route::Network);
  std::vector<bool> local(size, false);
  resources->places.resize(size);
  for (auto r : own) {
    local[size_t(r)] = true;
    std::unique_ptr<Device> &device = resources->devices[numbers[size_t(r)]];
    if (!device) {
      device = std::make_unique<Device>(numbers[size_t(r)]);
      device->load(artifact->deviceCode(), manifest());
    }
    resources->places[size_t(r)] = device.get();
  }
  DryRun dry = dryRun(*artifact, layouts, routes, count, local);
  for (auto &[from, device] : resources->devices)
    for (auto &[to, other] : resources->devices)
      if (from != to)
        device->reach(*other); // If not, copies go through host memory.
  resources->sizes = dry.sizes;
  resources->memory = std::move(dry.memory);
  resources->workspaces.resize(size);
  std::vector<Address> bases = resources->memory.arenas;
  for (int64_t r : own) {
    RankMemory &bytes = resources->sizes[size_t(r)];
    int64_t graphs = resources->planGraphs(*resources->places[size_t(r)],
                                           dry.prepared.programs[size_t(r)]);
    bytes.workspace = std::max(bytes.workspace, graphs);
    resources->blocks.emplace_back(*resources->places[size_t(r)],
                                   bytes.total());
    bases[size_t(r)] = resources->blocks.back().base();
    resources->workspaces[size_t(r)] =
        bases[size_t(r)] + Address(bytes.workspaceOffset());
  }
  for (size_t r = 0; r < size; ++r) {
    resources->hosts.emplace_back(local[r] ? layouts[r].host : 0);
    if (local[r])
      resources->memory.hosts[r] =
          reinterpret_cast<Address>(resources->hosts.back().base());
  }
  placeMemory(manifest(), resources->memory, bases);
  copyConstants();
}

void DeviceStep::copyConstants() {
  Constants constants(*artifact);
  for (int64_t r : own) {
    resources->places[size_t(r)]->use();
    Address base = resources->memory.constants[size_t(r)];
    constants.forAll([&](int64_t offset, int64_t bytes, const void *data) {
      driver().copyToDevice(base + Address(offset), data, size_t(bytes),
                            nullptr);
    });
    driver().streamSynchronize(nullptr);
  }
}

void DeviceStep::setInput(int64_t position, const sw_tensor &tensor) {
  if (lost)
    raise("an earlier step has not ended on its device; restart the program");
  size_t argument =
      findArgument(resources->staging->shapes(), position, tensor);
  if (resources->averages &&
      entersAverages(argument, resources->staging->shapes())) {
    settleAverages();
    if (manifest().arguments[argument].role == "parameter")
      resources->averages->restart();
    counted = false;
  }
  resources->staging->load(argument, tensor);
  given[argument] = true;
}

bool DeviceStep::receives() const { return !peers || own[0] == 0; }

void DeviceStep::read(size_t result, ByteRange part, std::byte *to) {
  static_assert(pieceBytes <= StagingBlocks::maxBytes);
  HostArenas shapes = resources->staging->shapes();
  ReadBuffer fetch = [this](size_t rank, size_t buffer, int64_t at,
                            int64_t bytes) {
    return resources->staging->fetch(rank, buffer, at, bytes);
  };
  if (resources->averages && manifest().results[result].averaging)
    settleAverages();
  if (peers)
    gatherResult(peers->group(), shapes, result, part, to, fetch);
  else
    copyOut(shapes, result, part, to, fetch);
}

void DeviceStep::run() {
  if (lost)
    raise("an earlier step has not ended on its device; restart the program");
  // Uploads, also those of other ranks, do not count against the first
  // deadline.
  auto load = [&] {
    requireInputs();
    if (!begun)
      resources->staging->settle();
  };
  if (peers && !begun)
    peers->together(load, Deadline::loading);
  else
    load();
  begun = true;
  ran = fresh = false;
  for (auto &record : records)
    record->begin();
  int64_t start = now();
  try {
    enqueue();
    lastEnqueue = double(now() - start) * 1e-9;
    wait(start);
  } catch (const std::exception &error) {
    if (peers)
      peers->fail("rank " + std::to_string(own[0]) + ": " + error.what(),
                  &*resources->messages);
    throw;
  }
  int64_t end = now();
  lastSeconds = double(end - start) * 1e-9;
  // A slow replica makes the others wait for several of its steps at once.
  limit.measured(lastSeconds * double(maxStepsBehind(manifest()) + 1));
  if (peers)
    peers->group().limitWaits(limit.seconds());
  if (!records.empty())
    recordTimes(start, end);
  ran = true;
}

void DeviceStep::enqueue() {
  if (peers)
    resources->messages->begin();
  for (int64_t r : own)
    if (resources->staging->takeLoaded(r)) {
      resources->places[size_t(r)]->use();
      resources->execution->follow(r);
    }
  if (!std::exchange(counted, true))
    resources->averages->readSteps([&](int64_t rank, int64_t buffer) {
      int64_t step = 0;
      std::memcpy(&step,
                  resources->staging->fetch(size_t(rank), size_t(buffer), 0,
                                            sizeof(step)),
                  sizeof(step));
      return step;
    });
  resources->execution->start(graph);
  if (!resources->averages)
    return;
  for (int64_t r : own) {
    resources->places[size_t(r)]->use();
    resources->execution->awaitStep(r);
  }
  resources->averages->endStep();
  endBehindRanks();
}

/// Makes the end of the step wait for all work on the streams of the ranks.
void DeviceStep::endBehindRanks() {
  for (int64_t r : own) {
    resources->places[size_t(r)]->use();
    resources->execution->follow(r);
  }
  resources->execution->extendStep();
}

/// Waits for averages that are under way.
void DeviceStep::settleAverages() {
  resources->averages->awaitSums();
  endBehindRanks();
  try {
    wait(now());
  } catch (const std::exception &error) {
    if (peers)
      peers->fail("rank " + std::to_string(own[0]) + ": " + error.what(),
                  &*resources->messages);
    throw;
  }
}

/// What the device has not done yet; empty if that is not known.
std::string DeviceStep::pending() const {
  std::string message = peers ? resources->messages->next() : "";
  if (message.empty() && resources->averages)
    if (auto sum = resources->averages->awaited())
      return "waits for the sum '" + *sum + "' over ranks";
  return peers && message.empty() ? "all its messages are done" : message;
}

/// Polls until the device has ended the step.
void DeviceStep::wait(int64_t start) {
  double longest = limit.seconds();
  try {
    for (int64_t looks = 1; !resources->execution->finished(); ++looks) {
      int64_t waited = now() - start;
      if (double(waited) * 1e-9 > longest)
        raise("the step did not end on its device within ", longest,
              " seconds; give a longer deadline");
      if (peers && looks % thorough == 0) {
        peers->look();
        resources->messages->look();
      }
      if (waited > eager)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } catch (const std::exception &error) {
    lost = true;
    if (std::string what = pending(); !what.empty())
      raise(what, ": ", error.what());
    throw;
  }
}

bool DeviceStep::gatherRecords() {
  return !peers || runtime::gatherRecords(peers->all(), records);
}

/// Counted from the plan, since every step runs the same operations. Averages
/// are not in the plan and do not count.
std::vector<Traffic> DeviceStep::gatherTraffic() {
  std::vector<Traffic> traffic(manifest().ranks.size());
  for (const Operation &it : resources->prepared.plan.operations)
    if (it.kind == Operation::CopyTo || it.kind == Operation::SendTo) {
      const Channel &channel = manifest().channels[it.number];
      traffic[size_t(channel.from)].add(channel);
    } else if (it.kind == Operation::Sum) {
      traffic[size_t(it.rank)].add(manifest().collectives[it.number]);
    }
  return peers
             ? runtime::gatherTraffic(peers->all().group(), std::move(traffic))
             : traffic;
}

/// Passes the device's time stamps to the recorders, on the host's clock. The
/// step is assumed to begin on the device when it begins on the host, so times
/// are too early by the time to enqueue.
void DeviceStep::recordTimes(int64_t start, int64_t end) {
  const Execution &execution = *resources->execution;
  for (const Span &span : resources->prepared.plan.spans) {
    int64_t first = start + execution.stampTime(span.first);
    int64_t last = start + execution.stampTime(span.last);
    Recorder &record = *records[span.rank];
    switch (span.kind) {
    case Span::Action:
      record.addMeasured(
          {Event::Action, span.letter, span.id, span.m, first, last});
      break;
    case Span::Sent:
      record.addMeasured({Event::Send, 0, span.id, span.m, first, last});
      break;
    case Span::Received:
      record.addMeasured({Event::Receive, 0, span.id, span.m, first, last});
      break;
    case Span::Summed:
      record.addMeasured({Event::Sum, 0, span.id, 0, first, last});
      break;
    case Span::Node:
      record.addNodeTime(span.id, double(last - first) * 1e-9);
      break;
    }
  }
  for (int64_t r : own)
    records[size_t(r)]->endStep(start, end);
}

int64_t DeviceStep::peak(int64_t rank) const {
  return check ? resources->prepared.programs[rank].livePeak : -1;
}

const Memory &DeviceStep::memory() const { return resources->memory; }

const std::vector<RankProgram> &DeviceStep::programs() const {
  return resources->prepared.programs;
}

const Execution &DeviceStep::execution() const { return *resources->execution; }

const Device &DeviceStep::device(int64_t rank) const {
  return *resources->places[rank];
}

int64_t DeviceStep::allocated(int64_t rank) const {
  return resources->sizes[rank].total();
}

} // namespace stagewright::runtime::cuda
