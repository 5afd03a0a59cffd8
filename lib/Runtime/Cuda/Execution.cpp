//===- Execution.cpp - executes a plan on GPUs ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

Execution::Execution(const Manifest &manifest, const Memory &memory,
                     const std::vector<RankProgram> &programs, const Plan &plan,
                     const std::vector<const Device *> &devices,
                     const std::vector<DevicePointer> &workspaces,
                     const GraphsByDevice &graphs, const Messages *messages,
                     const ProcessSums *sums)
    : manifest(manifest), memory(memory), programs(programs), plan(plan),
      devices(devices), workspaces(workspaces), graphs(graphs),
      messages(messages), sums(sums), computing(programs.size(), 0),
      contractions(programs.size()) {
  for (size_t s = 0; s < plan.streams.size(); ++s) {
    const Device &device = deviceOf(int32_t(s));
    const StreamUse &use = plan.streams[s];
    // A message that waits for a free multiprocessor keeps another rank idle.
    streams.emplace_back(device,
                         use.moves() ? Priority::Highest : Priority::Usual);
    if (use.computes()) {
      computing[use.rank] = s;
      uploads.emplace_back(device, unsigned(eventDisableTiming));
    }
    if (plan.stamps > 0)
      bases.emplace_back(device, unsigned(eventDefault));
  }
  // An event belongs to the device of the stream that records it.
  std::vector<int32_t> owner(plan.events, 0);
  for (const Operation &it : plan.operations) {
    if (it.kind == Operation::Record)
      owner[it.number] = it.stream;
    if (it.kind != Operation::Stamp)
      continue;
    stamps.emplace_back(deviceOf(it.stream), unsigned(eventDefault));
    stampStreams.push_back(size_t(it.stream));
  }
  for (int32_t stream : owner)
    events.emplace_back(deviceOf(stream), unsigned(eventDisableTiming));
  end.emplace_back(deviceOf(0), unsigned(eventDisableTiming));
  prepareContractions();
}

Execution::~Execution() {
  if (executable)
    driver().graphExecDestroy.status(executable);
}

void Execution::prepareContractions() {
  for (const StreamUse &use : plan.streams) {
    const RankProgram &program = programs[use.rank];
    if (!use.computes() || program.contractions.empty())
      continue;
    std::unique_ptr<Contractions> &library = libraries[devices[use.rank]];
    if (!library)
      library = std::make_unique<Contractions>(*devices[use.rank]);
    for (const Contraction &it : program.contractions)
      contractions[use.rank].push_back(library->prepare(it));
  }
}

/// Ends the list of arguments with a null pointer. CUDA does not need it; tools
/// that record calls count the arguments by it.
void Execution::launch(const Command &command, const RankProgram &program,
                       const Device &device, Stream stream) const {
  const Kernel &kernel = manifest.kernels[command.id];
  void *arguments[Kernel::maxArguments + 1];
  for (int64_t i = 0; i < command.bytes; ++i)
    arguments[i] = const_cast<uint64_t *>(&program.values[command.to + i]);
  arguments[command.bytes] = nullptr;
  driver().launch(device.kernel(command.id), unsigned(kernel.grid[0]),
                  unsigned(kernel.grid[1]), unsigned(kernel.grid[2]),
                  unsigned(kernel.block[0]), unsigned(kernel.block[1]),
                  unsigned(kernel.block[2]), unsigned(kernel.shared), stream,
                  static_cast<void **>(arguments),
                  static_cast<void **>(nullptr));
}

bool Execution::leaves(int64_t rank, size_t number) const {
  const RankProgram &program = programs[rank];
  const Command &command = program.commands[number];
  const Device *device = devices[rank];
  if (command.kind == Command::Contract)
    return libraries.at(device)->leaves(contractions[rank][size_t(command.id)]);
  return graphs.at(device)->leaves(program.attentions[size_t(command.id)]);
}

void Execution::work(int64_t rank, size_t number, Stream stream) const {
  const RankProgram &program = programs[rank];
  const Command &command = program.commands[number];
  const Device &device = *devices[rank];
  switch (command.kind) {
  case Command::Launch:
    if (command.instead >= 0 && !leaves(rank, size_t(command.instead)))
      return;
    return launch(command, program, device, stream);
  case Command::Fill:
    return driver().fill(command.to, (unsigned char)command.from,
                         size_t(command.bytes), stream);
  case Command::Copy:
    return driver().copyOnDevice(command.to, command.from,
                                 size_t(command.bytes), stream);
  case Command::Contract:
    return libraries.at(&device)->call(contractions[rank][size_t(command.id)],
                                       workspaces[rank], stream);
  case Command::Attend:
    return graphs.at(&device)->call(program.attentions[size_t(command.id)],
                                    workspaces[rank], stream);
  case Command::Convolve:
    return graphs.at(&device)->call(program.convolutions[size_t(command.id)],
                                    workspaces[rank], stream);
  default:
    return;
  }
}

void Execution::issue(const Operation &it, bool capturing) {
  Stream stream = streams[it.stream].get();
  // Time stamps recorded in a graph but read outside it need this flag.
  unsigned outside = capturing ? eventRecordExternal : eventRecordDefault;
  switch (it.kind) {
  case Operation::Work:
    return work(it.rank, it.number, stream);
  case Operation::Record:
    return driver().eventRecord(events[it.number].get(), stream,
                                unsigned(eventRecordDefault));
  case Operation::Wait:
    return driver().streamWait(stream, events[it.number].get(), 0u);
  case Operation::Stamp:
    return driver().eventRecord(stamps[it.number].get(), stream, outside);
  case Operation::CopyTo: {
    auto channel = int64_t(it.number);
    const Channel &way = manifest.channels[channel];
    return driver().copyToPeer(
        memory.received(manifest, channel, it.m), devices[way.to]->handle(),
        memory.sent(manifest, channel, it.m), devices[way.from]->handle(),
        size_t(way.bytes), stream);
  }
  case Operation::SendTo:
    return messages->send(int64_t(it.number),
                          memory.sent(manifest, int64_t(it.number), it.m),
                          stream);
  case Operation::TakeFrom:
    return messages->receive(
        int64_t(it.number), memory.received(manifest, int64_t(it.number), it.m),
        stream);
  case Operation::Sum: {
    auto collective = int64_t(it.number);
    Address bucket = memory.bucket(manifest, collective, it.rank);
    return sums ? sums->sum(collective, it.rank, bucket, stream)
                : messages->sum(collective, bucket, stream);
  }
  case Operation::Offload: {
    const Command &copy = programs[it.rank].commands[it.number];
    return driver().copyToHost(reinterpret_cast<void *>(copy.to), copy.from,
                               size_t(copy.bytes), stream);
  }
  case Operation::Fetch: {
    const Command &copy = programs[it.rank].commands[it.number];
    return driver().copyToDevice(copy.to,
                                 reinterpret_cast<const void *>(copy.from),
                                 size_t(copy.bytes), stream);
  }
  case Operation::Tell:
    return messages->notifyHost(it.number, stream);
  case Operation::Begin: {
    const Command &command = programs[it.rank].commands[it.number];
    return beginRange(char(command.bytes), command.id, command.m);
  }
  case Operation::End:
    return endRange();
  }
}

void Execution::issue(bool capturing) {
  const Device *current = nullptr;
  unsigned outside = capturing ? eventRecordExternal : eventRecordDefault;
  size_t begun = 0; // Streams whose base event is recorded.
  for (const Operation &it : plan.operations) {
    const Device &device = deviceOf(it.stream);
    if (&device != current)
      device.use();
    current = &device;
    issue(it, capturing);
    // A plan begins with a fork, in the order of the streams: record the base
    // of a stream after its first operation.
    if (begun < bases.size() && size_t(it.stream) == begun)
      driver().eventRecord(bases[begun].get(), streams[begun].get(), outside),
          ++begun;
  }
}

void Execution::capture() {
  deviceOf(0).use();
  driver().captureBegin(streams[0].get(), int(captureRelaxed));
  Graph graph = nullptr;
  try {
    issue(true);
  } catch (...) {
    driver().captureEnd.status(streams[0].get(), &graph);
    if (graph)
      driver().graphDestroy.status(graph);
    throw;
  }
  driver().captureEnd(streams[0].get(), &graph);
  driver().graphNodes(graph, static_cast<GraphNode *>(nullptr), &nodes);
  int status = driver().graphInstantiate.status(&executable, graph,
                                                +graphUseNodePriority);
  driver().graphDestroy.status(graph);
  if (status)
    DriverErrors::fail(driver().graphInstantiate.symbol, status);
  driver().graphUpload(executable, streams[0].get());
}

Stream Execution::messageStream(int64_t rank) const {
  for (size_t s = 0; s < streams.size(); ++s)
    if (plan.streams[s].network && plan.streams[s].rank == rank)
      return streams[s].get();
  return nullptr;
}

void Execution::follow(int64_t rank) {
  size_t stream = computing[rank];
  if (stream == 0)
    return;
  driver().eventRecord(uploads[stream].get(), streams[stream].get(),
                       unsigned(eventRecordDefault));
  driver().streamWait(streams[0].get(), uploads[stream].get(), 0u);
}

void Execution::start(bool graph) {
  if (graph && !executable)
    capture();
  deviceOf(0).use();
  if (graph)
    driver().graphLaunch(executable, streams[0].get());
  else
    issue(false);
  extendStep();
}

void Execution::awaitStep(int64_t rank) const {
  if (computing[rank] != 0)
    driver().streamWait(stream(rank), end[0].get(), 0u);
}

void Execution::extendStep() const {
  deviceOf(0).use();
  driver().eventRecord(end[0].get(), streams[0].get(),
                       unsigned(eventRecordDefault));
}

bool Execution::finished() const {
  int status = driver().eventQuery.status(end[0].get());
  if (status == statusNotReady)
    return false;
  if (status)
    DriverErrors::fail(driver().eventQuery.symbol, status);
  return true;
}

int64_t Execution::stampTime(size_t stamp) const {
  float milliseconds = 0;
  driver().eventElapsed(&milliseconds, bases[stampStreams[stamp]].get(),
                        stamps[stamp].get());
  return int64_t(double(milliseconds) * 1e6);
}

} // namespace stagewright::runtime::cuda
