//===- ProcessStep.cpp - a step with a rank in each process ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/ProcessStep.h"

#include "Averaging.h"
#include "Processes/Join.h"
#include "Products/Blas.h"
#include "Threads/Processors.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime {

namespace {

/// A poll of a message costs as much as four polls of memory.
constexpr int looksOfMemory = 4;

} // namespace

ProcessStep::ProcessStep(std::shared_ptr<const Artifact> source,
                         const StepOptions &options, Processes &processes,
                         Processes::Neighbours neighbours)
    : Runner(std::move(source), options), processes(processes),
      messenger(processes.messenger()), self(messenger.self()),
      limit(options.deadline),
      spins(spinsFor(neighbours.count * options.threads) / looksOfMemory),
      arena(layouts[size_t(self)].total + layouts[size_t(self)].host),
      peaks(manifest().ranks.size(), options.check ? 0 : -1) {
  prepare(neighbours, options);
  const Layout &own = layouts[size_t(self)];
  if (options.check)
    checker.emplace(manifest().ranks[size_t(self)], own, arena.base());
  if (!checker)
    prepareToGoOn();
  Pace pace = Pace::parse(options.pace);
  transport.emplace(manifest(), layouts, arena.base(), count, options.check,
                    pace.sends, spins, messenger);
  rank.described = &manifest().ranks[size_t(self)];
  rank.index = self;
  rank.microbatches = count;
  rank.layout = &own;
  rank.arena = arena.base();
  rank.transport = &*transport;
  rank.checker = checker ? &*checker : nullptr;
  rank.recorder = records.empty() ? nullptr : records[size_t(self)].get();
  rank.pool = pool.get();
  injection = Injection::of(self);
  rank.injection = injection.get();
  if (pace.hop > 0)
    raise("pace has a 'hop', but only messages between threads can be delayed; "
          "use --transport=threads");
  dilation =
      Dilation::of(options.dilate, options.pace, self, int64_t(peaks.size()));
  rank.dilation = dilation.get();
  rank.chooser = choosers[size_t(self)].get();
  rank.where = &transport->place(self);
  rank.finite = options.finite ? &manifest() : nullptr;
  if (pool)
    pool->onEach(rank, warmUpBlas);
  else
    warmUpBlas();
  fillMicrobatchNumbers(tensors());
  fillConstants();
}

/// Replicas that average need not wait for each other in every step. No
/// transfer may be under way, because MPI sends messages to create a group.
void ProcessStep::prepareToGoOn() {
  int64_t delay = 1;
  for (const RankManifest &it : manifest().ranks)
    for (const Averaging &rule : it.averages)
      delay = std::max(delay, rule.delay);
  maxBehind = maxStepsBehind(manifest());
  if (goesOn())
    processes.prepareLater(delay);
}

HostArenas ProcessStep::tensors() const {
  HostArenas view = {manifest(), layouts, {}, count};
  view.bases.resize(manifest().ranks.size());
  view.bases[size_t(self)] = arena.base();
  return view;
}

ProcessStep::~ProcessStep() {
  try {
    // A sum may never end.
    if (goesOn() && (processes.hasFailed() || std::uncaught_exceptions() > 0))
      transport->abandon();
    if (!transport->stopped())
      settle();
  } catch (...) {
    transport->abandon();
  }
  messenger.setReporter(nullptr);
  if (transport->stopped())
    arena.leave(); // A message may still arrive.
}

/// Creates and pins threads, then touches the arena so that it is near them.
void ProcessStep::prepare(Processes::Neighbours neighbours,
                          const StepOptions &options) {
  int64_t first = neighbours.place * options.threads;
  reserveBlasBuffers(options.threads);
  if (options.threads > 1) {
    // Threads inherit the processors of the thread that creates them.
    if (options.pin)
      pinThread(first + 1, options.threads - 1);
    pool = std::make_unique<Pool>(
        options.threads, neighbours.count * options.threads <= processors());
  }
  if (options.pin)
    pinThread(first, 1);
  arena.populate();
}

void ProcessStep::setInput(int64_t position, const sw_tensor &tensor) {
  HostArenas view = tensors();
  size_t argument = findArgument(view, position, tensor);
  if (entersAverages(argument, view))
    settle();
  copyIn(view, argument, tensor);
  given[argument] = true;
}

/// Runs this rank's program; returns its error, or an empty string.
std::string ProcessStep::runProgram() {
  try {
    requireInputs();
    transport->reset();
    for (auto &record : records)
      record->begin();
    messenger.setReporter([this] { return transport->report(); });
    transport->limitWaits(limit.seconds());
    runRank(rank, artifact->entry(self));
    transport->startRest();
    std::string error = transport->result();
    if (!error.empty() || transport->stopped())
      return error;
    if (checker)
      checker->end();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

void ProcessStep::run() {
  ran = fresh = false;
  // Poisoning must not overwrite a message that has arrived: no process starts
  // before all have poisoned their memory.
  if (checker) {
    checker->begin();
    processes.agree("", 0, false, PollTimeout(spins, 0));
  }
  int64_t start = now();
  try {
    end(runProgram());
  } catch (...) {
    transport->abandon();
    throw;
  }
  int64_t stop = now();
  lastSeconds = double(stop - start) * 1e-9;
  // A slow replica makes the others wait for several of its steps at once.
  limit.measured(lastSeconds * double(maxBehind + 1));
  messenger.limitWaits(limit.seconds());
  if (!records.empty())
    records[size_t(self)]->endStep(start, stop);
  if (checker) {
    int64_t mine = checker->peak();
    messenger.gather(&mine, peaks.data(), sizeof(mine), PollTimeout(spins, 0));
    if (std::string wrong = checkPeaks(); !wrong.empty())
      raise(wrong);
  }
  ran = true;
}

/// Waits for the other processes; replicas that average go on, and wait some
/// steps later. A process that does not arrive in time has died or hangs, so
/// all are ended.
void ProcessStep::end(const std::string &error) {
  bool failed = !error.empty() || transport->stopped();
  PollTimeout timeout(spins, failed ? grace : limit.seconds());
  if (goesOn() && failed) // Others may be in a later step.
    messenger.sendStop();
  bool came = goesOn() ? processes.agreeLater(error, failed, now(), timeout)
                       : processes.agree(error, now(), false, timeout);
  if (!came)
    messenger.abort(faultStatus, "");
}

/// Waits for the end of the last step in the other processes.
void ProcessStep::complete() {
  try {
    if (goesOn() && !processes.settle(PollTimeout(spins, limit.seconds())))
      messenger.abort(faultStatus, "");
  } catch (...) {
    transport->abandon();
    throw;
  }
}

void ProcessStep::settle() {
  complete();
  transport->settle();
}

int64_t ProcessStep::peak(int64_t rank) const { return peaks[size_t(rank)]; }

int64_t ProcessStep::allocated(int64_t rank) const {
  return layout(rank).total + sendingBytes(manifest(), layouts, rank);
}

void ProcessStep::read(size_t result, ByteRange part, std::byte *to) {
  HostArenas view = tensors();
  complete();
  if (manifest().results[result].averaging)
    transport->settle();
  gatherResult(messenger, view, result, part, to, readerOf(view));
}

bool ProcessStep::gatherRecords() {
  complete();
  return runtime::gatherRecords(processes, records);
}

std::vector<Traffic> ProcessStep::gatherTraffic() {
  complete();
  std::vector<Traffic> traffic(manifest().ranks.size());
  traffic[size_t(self)] = transport->sentBy(self);
  return runtime::gatherTraffic(messenger, std::move(traffic));
}

std::vector<double> ProcessStep::lastIdle() {
  complete();
  std::vector<double> shares(records.size());
  double mine = shares.empty() ? 0 : records[size_t(self)]->lastIdle();
  if (!shares.empty())
    messenger.gather(&mine, shares.data(), sizeof(mine), PollTimeout(spins, 0));
  return shares;
}

std::unique_ptr<Runner>
makeProcessStep(std::shared_ptr<const Artifact> artifact,
                const StepOptions &options, Processes &processes) {
  processes.messenger(); // Throws if ranks cannot send.
  joinRanks(*artifact, options, processes);
  Processes::Neighbours neighbours = processes.neighbours();
  return std::make_unique<ProcessStep>(std::move(artifact), options, processes,
                                       neighbours);
}

} // namespace stagewright::runtime
