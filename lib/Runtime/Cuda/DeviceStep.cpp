//===- DeviceStep.cpp - a step that runs on GPUs --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceStep.h"

#include "Error.h"
#include "Execution.h"
#include "Prepare.h"
#include "Staging.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace stagewright::runtime::cuda {

namespace {
/// Seconds that a first step may take, and the least for a later one: loading
/// kernels and a busy machine are no hang.
constexpr double firstDeadline = 120, leastDeadline = 10;
/// How many times the slowest step before a step may take.
constexpr double patience = 20;
/// How long the end of a step is looked for without a pause: longer than steps
/// whose microseconds count.
constexpr int64_t eager = 2000000;
} // namespace

/// In the order of their making; what comes later needs what comes before.
struct DeviceStep::Resources {
  std::map<int, std::unique_ptr<Device>> devices;
  std::vector<const Device *> places; ///< by rank
  std::vector<RankMemory> sizes;
  GraphsByDevice graphs;
  std::vector<DeviceMemory> blocks;
  std::vector<DevicePointer> workspaces;
  Memory memory;
  Prepared prepared;
  std::optional<Staging> staging;
  std::optional<Execution> execution;

  int64_t planGraphs(const Device &device, const RankProgram &program);
};

/// Plans what a rank asks of the library of graphs, if it does; bytes of
/// workspace.
int64_t DeviceStep::Resources::planGraphs(const Device &device,
                                          const RankProgram &program) {
  if (program.attentions.empty() && program.convolutions.empty())
    return 0;
  std::unique_ptr<Graphs> &library = graphs[&device];
  if (!library)
    library = std::make_unique<Graphs>(device);
  int64_t workspace = 0;
  for (const Attention &it : program.attentions)
    workspace = std::max(workspace, library->prepare(it));
  for (const Convolution &it : program.convolutions)
    workspace = std::max(workspace, library->prepare(it));
  return workspace;
}

DeviceStep::DeviceStep(std::shared_ptr<const Artifact> source,
                       const StepOptions &options)
    : Runner(std::move(source), options), graph(options.graph),
      check(options.check), deadline(options.deadline),
      own(std::make_unique<Resources>()) {
  if (deadline < 0)
    raise("the deadline of a step is ", deadline,
          " seconds, expected at least 0");
  place(options);
  PlanOptions how;
  how.local.assign(layouts.size(), true);
  how.actions = options.trace || options.profile;
  how.nodes = options.profile;
  own->prepared = prepareStep(*artifact, own->memory, count, how);
  own->staging.emplace(manifest(), own->memory, count);
  own->execution.emplace(manifest(), own->memory, own->prepared.programs,
                         own->prepared.plan, own->places, own->workspaces,
                         own->graphs);
  fillConstants();
  if (std::string error = check ? checkPeaks() : ""; !error.empty())
    raise(error);
}

/// Memory that a lost device still uses cannot be given back: freeing it waits
/// for the device. It goes with the process.
DeviceStep::~DeviceStep() {
  if (!lost)
    return;
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::unique_ptr<Resources>>;
  std::lock_guard lock(mutex);
  kept.push_back(std::move(own));
}

/// Gives every rank its GPU and its memory there. How much is known after a dry
/// run, which needs no device.
void DeviceStep::place(const StepOptions &options) {
  size_t size = layouts.size();
  int present = 0;
  driver().deviceCount(&present);
  std::vector<int> numbers = placeRanks(options.devices, size, present);
  DryRun dry = dryRun(*artifact, layouts, routesOf(manifest(), numbers), count);
  for (size_t r = 0; r < size; ++r) {
    std::unique_ptr<Device> &device = own->devices[numbers[r]];
    if (!device) {
      device = std::make_unique<Device>(numbers[r]);
      device->load(artifact->deviceCode(), manifest());
    }
    own->places.push_back(device.get());
  }
  for (auto &[from, device] : own->devices)
    for (auto &[to, other] : own->devices)
      if (from != to)
        device->reach(*other); // Else copies go through the host's memory.
  own->sizes = dry.sizes;
  for (size_t r = 0; r < size; ++r)
    own->sizes[r].workspace =
        std::max(own->sizes[r].workspace,
                 own->planGraphs(*own->places[r], dry.prepared.programs[r]));
  std::vector<Address> bases;
  for (size_t r = 0; r < size; ++r) {
    own->blocks.emplace_back(*own->places[r], own->sizes[r].total());
    bases.push_back(own->blocks[r].base());
    own->workspaces.push_back(own->blocks[r].base() +
                              Address(own->sizes[r].arena) +
                              Address(own->sizes[r].senders));
  }
  own->memory = std::move(dry.memory);
  placeMemory(manifest(), own->memory, bases);
}

void DeviceStep::setInput(int64_t position, const sw_tensor &tensor) {
  HostArenas view = own->staging->tensors();
  size_t argument = findArgument(view, position, tensor);
  copyIn(view, argument, tensor);
  own->staging->changed(argument);
  given[argument] = true;
}

void DeviceStep::getOutput(int64_t position, const sw_tensor &tensor) {
  if (!ran)
    raise("there are no results: no step has run to its end");
  HostArenas view = own->staging->tensors();
  size_t result = findResult(view, position, tensor);
  for (size_t r = 0; r < layouts.size(); ++r) {
    own->places[r]->use();
    Stream stream = own->execution->stream(int64_t(r));
    own->staging->download(result, int64_t(r), stream);
    driver().streamSynchronize(stream);
  }
  copyOut(view, result, tensor);
}

void DeviceStep::run() {
  if (lost)
    raise("a step before has not ended on its device; start the program anew");
  requireInputs();
  ran = false;
  for (auto &record : records)
    record->begin();
  int64_t start = now();
  for (size_t r = 0; r < layouts.size(); ++r) {
    own->places[r]->use();
    if (own->staging->upload(int64_t(r), own->execution->stream(int64_t(r))))
      own->execution->follow(int64_t(r));
  }
  own->execution->start(graph);
  lastEnqueue = double(now() - start) * 1e-9;
  wait(start);
  int64_t end = now();
  lastSeconds = double(end - start) * 1e-9;
  slowest = std::max(slowest, lastSeconds);
  if (!records.empty())
    tell(start, end);
  ran = true;
}

/// Looks until the device has ended the step.
void DeviceStep::wait(int64_t start) {
  double limit = deadline > 0   ? deadline
                 : slowest == 0 ? firstDeadline
                                : std::max(leastDeadline, patience * slowest);
  try {
    while (!own->execution->finished()) {
      int64_t waited = now() - start;
      if (double(waited) * 1e-9 > limit)
        raise("the step did not end on its device within ", limit,
              " seconds; a longer deadline can be given");
      if (waited > eager)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } catch (...) {
    lost = true;
    throw;
  }
}

/// Tells the recorders what the stamps say, on the host's clock: the step began
/// on the device when the host began it, which is early by the time that it
/// takes to enqueue.
void DeviceStep::tell(int64_t start, int64_t end) {
  const Execution &execution = *own->execution;
  for (const Span &span : own->prepared.plan.spans) {
    int64_t first = start + execution.stampTime(span.first);
    int64_t last = start + execution.stampTime(span.last);
    Recorder &record = *records[span.rank];
    switch (span.kind) {
    case Span::Action:
      record.told({Event::Action, span.letter, span.id, span.m, first, last});
      break;
    case Span::Sent:
      record.told({Event::Send, 0, span.id, span.m, first, last});
      break;
    case Span::Received:
      record.told({Event::Receive, 0, span.id, span.m, first, last});
      break;
    case Span::Node:
      record.toldNode(span.id, double(last - first) * 1e-9);
      break;
    }
  }
  for (auto &record : records)
    record->endStep(start, end);
}

int64_t DeviceStep::peak(int64_t rank) const {
  return check ? own->prepared.programs[rank].livePeak : -1;
}

const Memory &DeviceStep::memory() const { return own->memory; }

const std::vector<RankProgram> &DeviceStep::programs() const {
  return own->prepared.programs;
}

const Execution &DeviceStep::execution() const { return *own->execution; }

const Device &DeviceStep::device(int64_t rank) const {
  return *own->places[rank];
}

int64_t DeviceStep::allocated(int64_t rank) const {
  return own->sizes[rank].total();
}

} // namespace stagewright::runtime::cuda
