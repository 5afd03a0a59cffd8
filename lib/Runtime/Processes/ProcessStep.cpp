//===- ProcessStep.cpp - a step with a rank in each process ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/ProcessStep.h"

#include "Blas.h"
#include "Error.h"
#include "Processes/Placement.h"
#include "Processors.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>

namespace stagewright::runtime {

namespace {

/// A look at a message costs as much as four at memory.
constexpr int looksOfMemory = 4;
/// Seconds that a first step may keep others waiting, and later ones at least.
constexpr double firstLimit = 600, laterLimit = 10;
/// Seconds that the others have to hear of a failure.
constexpr double grace = 2;

} // namespace

ProcessStep::ProcessStep(std::shared_ptr<const Artifact> source,
                         const StepOptions &options, Processes &processes,
                         Processes::Neighbours neighbours)
    : Runner(std::move(source), options), processes(processes),
      messenger(processes.messenger()), self(messenger.self()),
      deadline(options.deadline),
      spins(spinsFor(neighbours.count * options.threads) / looksOfMemory),
      arena(layouts[size_t(self)].total),
      peaks(manifest().ranks.size(), options.check ? 0 : -1) {
  prepare(neighbours, options);
  const Layout &own = layouts[size_t(self)];
  if (options.check)
    checker.emplace(manifest().ranks[size_t(self)], own, arena.base());
  transport.emplace(manifest(), layouts, arena.base(), count, options.check,
                    spins, messenger);
  rank.described = &manifest().ranks[size_t(self)];
  rank.index = self;
  rank.microbatches = count;
  rank.layout = &own;
  rank.arena = arena.base();
  rank.transport = &*transport;
  rank.checker = checker ? &*checker : nullptr;
  rank.recorder = records.empty() ? nullptr : records[size_t(self)].get();
  rank.pool = pool.get();
  if (pool)
    pool->onEach(rank, warmUpBlas);
  else
    warmUpBlas();
  fillMicrobatchNumbers(tensors());
  fillConstants();
}

HostArenas ProcessStep::tensors() const {
  HostArenas view = {manifest(), layouts, {}, count};
  view.bases.resize(manifest().ranks.size());
  view.bases[size_t(self)] = arena.base();
  return view;
}

ProcessStep::~ProcessStep() {
  if (transport->stopped())
    arena.leave(); // A message may still come.
}

/// Threads, and memory near them.
void ProcessStep::prepare(Processes::Neighbours neighbours,
                          const StepOptions &options) {
  int64_t first = neighbours.place * options.threads;
  reserveBlasBuffers(options.threads);
  if (options.threads > 1) {
    // Threads keep to the processors of the one that made them.
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
  copyIn(view, argument, tensor);
  given[argument] = true;
}

double ProcessStep::waitLimit() const {
  if (deadline > 0)
    return deadline;
  return slowest > 0 ? std::max(laterLimit, 20 * slowest) : firstLimit;
}

/// What failed here; empty where nothing did.
std::string ProcessStep::runProgram() {
  try {
    requireInputs();
    transport->reset();
    if (checker)
      checker->begin();
    for (auto &record : records)
      record->begin();
    transport->limitWaits(waitLimit());
    runRank(rank, artifact->entry(self));
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
  ran = false;
  // What is poisoned at the beginning must not be a message that has come.
  if (checker)
    processes.agree("", 0, false, Patience(spins, 0));
  int64_t start = now();
  try {
    end(runProgram());
  } catch (...) {
    transport->abandon();
    throw;
  }
  int64_t stop = now();
  lastSeconds = double(stop - start) * 1e-9;
  slowest = std::max(slowest, lastSeconds);
  if (!records.empty())
    records[size_t(self)]->endStep(start, stop);
  if (checker) {
    int64_t mine = checker->peak();
    messenger.gather(&mine, peaks.data(), sizeof(mine), Patience(spins, 0));
    if (std::string wrong = checkPeaks(); !wrong.empty())
      raise(wrong);
  }
  ran = true;
}

/// Waits for the others. Who does not come has died or hangs; then nothing is
/// left but to end all processes.
void ProcessStep::end(const std::string &error) {
  bool failed = !error.empty() || transport->stopped();
  Patience patience(spins, failed ? grace : waitLimit());
  if (processes.agree(error, now(), false, patience))
    return;
  if (error.empty() && transport->stopped()) {
    // Who failed says so and ends all.
    timespec rest = {5, 0};
    nanosleep(&rest, nullptr);
  }
  std::cerr << "stagewright: error: "
            << (error.empty() ? "rank " + std::to_string(self) +
                                    ": the other ranks do not end the step"
                              : error)
            << std::endl;
  messenger.abort(1);
}

int64_t ProcessStep::peak(int64_t rank) const { return peaks[size_t(rank)]; }

int64_t ProcessStep::allocated(int64_t rank) const {
  return layout(rank).total + sendingBytes(manifest(), layouts, rank);
}

/// The parts of the result come to rank 0 one after the other, and are put
/// together there as if they were the arenas.
void ProcessStep::getOutput(int64_t position, const sw_tensor &tensor) {
  if (!ran)
    raise("there are no results: no step has run to its end");
  std::vector<Layout> compact = layouts;
  HostArenas view = {manifest(), compact, {}, count};
  sw_tensor given = tensor;
  if (self != 0)
    given.data = &given; // Nothing is written.
  size_t number = findResult(view, position, given);
  int64_t bytes = 0;
  auto place = [&](size_t r, size_t b) {
    compact[r].buffers[b].offset = bytes;
    bytes += compact[r].buffers[b].bytes();
  };
  forBuffers(manifest(), &Buffer::result, int64_t(number), place);
  std::vector<std::byte> parts(self == 0 ? size_t(bytes) : 0);
  auto move = [&](size_t r, size_t b) {
    const Ring &from = layouts[r].buffers[b];
    std::byte *to = parts.data() + compact[r].buffers[b].offset;
    if (int64_t(r) != self && self == 0)
      messenger.receiveNow(int64_t(r), to, from.bytes());
    else if (int64_t(r) == self && self != 0)
      messenger.sendNow(0, arena.base() + from.offset, from.bytes());
    else if (self == 0)
      std::memcpy(to, arena.base() + from.offset, size_t(from.bytes()));
  };
  forBuffers(manifest(), &Buffer::result, int64_t(number), move);
  if (self != 0)
    return;
  view.bases.assign(manifest().ranks.size(), parts.data());
  copyOut(view, number, tensor);
}

/// What must be added to the clock of `rank` to have that of rank 0: half way
/// between question and answer, of the fastest of some. On one host clocks are
/// one, and the error is that of a message.
int64_t ProcessStep::clockShift(int64_t rank) {
  int64_t best = INT64_MAX, shift = 0, there = 0;
  for (int i = 0; i < 16; ++i) {
    if (self == rank) {
      messenger.receiveNow(0, &there, sizeof(there));
      there = now();
      messenger.sendNow(0, &there, sizeof(there));
      continue;
    }
    int64_t asked = now();
    messenger.sendNow(rank, &there, sizeof(there));
    messenger.receiveNow(rank, &there, sizeof(there));
    int64_t answered = now();
    if (answered - asked < best) {
      best = answered - asked;
      shift = asked + best / 2 - there;
    }
  }
  return shift;
}

bool ProcessStep::gatherRecords() {
  std::vector<std::string> hosts = processes.hosts();
  for (size_t r = 1; r < records.size(); ++r) {
    if (self != 0 && self != int64_t(r))
      continue;
    int64_t shift = hosts[r] == hosts[0] ? 0 : clockShift(int64_t(r));
    std::vector<std::byte> packed;
    if (self != 0)
      packed = records[r]->pack();
    auto size = int64_t(packed.size());
    if (self == 0) {
      messenger.receiveNow(int64_t(r), &size, sizeof(size));
      packed.resize(size_t(size));
      messenger.receiveNow(int64_t(r), packed.data(), size);
      records[r]->unpack(packed, shift);
    } else {
      messenger.sendNow(0, &size, sizeof(size));
      messenger.sendNow(0, packed.data(), size);
    }
  }
  return self == 0;
}

std::unique_ptr<Runner>
makeProcessStep(std::shared_ptr<const Artifact> artifact,
                const StepOptions &options, Processes &processes) {
  Messenger &messenger = processes.messenger();
  // Everything that decides how processes talk to each other.
  std::string common = artifact->text() + std::to_string(options.microbatches) +
                       (options.check ? "c" : "") +
                       (options.trace || options.profile ? "r" : "");
  uint64_t mine = std::hash<std::string>()(common);
  std::vector<uint64_t> all(size_t(messenger.size()));
  messenger.gather(&mine, all.data(), sizeof(mine), Patience(0, 0));
  for (size_t p = 1; p < all.size(); ++p)
    if (all[p] != all[0])
      raise("process ", p,
            " has another artifact or other options than process "
            "0; give all of them the same");
  std::vector<int64_t> ranks =
      placeRanks(artifact->manifest(), processes.hosts(), options.anyHosts);
  messenger.renumber(ranks[size_t(messenger.self())]);
  Processes::Neighbours neighbours = processes.neighbours();
  return std::make_unique<ProcessStep>(std::move(artifact), options, processes,
                                       neighbours);
}

} // namespace stagewright::runtime
