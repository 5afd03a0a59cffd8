//===- Step.cpp - a step with a thread per rank ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Step.h"

#include "Products/Blas.h"
#include "Threads/Processors.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <pthread.h>

namespace stagewright::runtime {

namespace {
constexpr int64_t maxThreads = 1024;
/// How often an idle rank polls for the next step before it sleeps: for 50 us,
/// if the host's thread has a processor of its own.
constexpr int idleSpins = 2000;
} // namespace

Step::Step(std::shared_ptr<const Artifact> source, const StepOptions &options)
    : Runner(std::move(source), options), threadsPerRank(options.threads),
      allThreads(threadsPerRank * int64_t(manifest().ranks.size())),
      limit(options.deadline) {
  if (threadsPerRank < 1 || threadsPerRank > maxThreads)
    raise("the number of threads per rank is ", threadsPerRank,
          ", expected 1 to ", maxThreads);
  for (const Layout &layout : layouts)
    arenas.emplace_back(layout.total + layout.host);
  size_t size = manifest().ranks.size();
  std::vector<std::byte *> bases;
  bases.reserve(size);
  for (const Arena &arena : arenas)
    bases.push_back(arena.base());
  transport.emplace(manifest(), layouts, bases, count, options.check,
                    spinsFor(allThreads));
  Pace pace = Pace::parse(options.pace);
  if (pace.sends)
    raise("pace has 'sends', but messages between threads have no rates; start "
          "a process for each rank by mpirun");
  transport->delayMessages(int64_t(pace.hop * 1e9));
  ranks.resize(size);
  for (size_t r = 0; r < size; ++r) {
    if (options.check)
      checkers.push_back(
          std::make_unique<Checker>(manifest().ranks[r], layouts[r], bases[r]));
    sw_rank &rank = ranks[r];
    rank.described = &manifest().ranks[r];
    rank.index = int64_t(r);
    rank.microbatches = count;
    rank.layout = &layouts[r];
    rank.arena = bases[r];
    rank.transport = &*transport;
    rank.checker = options.check ? checkers[r].get() : nullptr;
    rank.recorder = records.empty() ? nullptr : records[r].get();
    seen.emplace_back();
    injections.push_back(Injection::of(int64_t(r)));
    rank.injection = injections[r].get();
    dilations.push_back(
        Dilation::of(options.dilate, options.pace, int64_t(r), int64_t(size)));
    rank.dilation = dilations[r].get();
    rank.chooser = choosers[r].get();
    rank.where = &transport->place(int64_t(r));
    rank.finite = options.finite ? &manifest() : nullptr;
  }
  startThreads(options.pin);
  try {
    // Only after each thread has zeroed its arena.
    fillMicrobatchNumbers(tensors());
    fillConstants();
  } catch (...) {
    stopThreads();
    throw;
  }
}

Step::~Step() { stopThreads(); }

std::vector<Traffic> Step::gatherTraffic() {
  std::vector<Traffic> traffic;
  for (const sw_rank &rank : ranks)
    traffic.push_back(transport->sentBy(rank.index));
  return traffic;
}

HostArenas Step::tensors() const {
  HostArenas view = {manifest(), layouts, {}, count};
  for (const Arena &arena : arenas)
    view.bases.push_back(arena.base());
  return view;
}

void Step::setInput(int64_t position, const sw_tensor &tensor) {
  HostArenas view = tensors();
  size_t argument = findArgument(view, position, tensor);
  if (entersAverages(argument, view))
    transport->settle();
  copyIn(view, argument, tensor);
  given[argument] = true;
}

void Step::read(size_t result, ByteRange part, std::byte *to) {
  HostArenas view = tensors();
  if (manifest().results[result].averaging)
    transport->settle();
  copyOut(view, result, part, to, readerOf(view));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Step::startThreads(bool pin) {
  reserveBlasBuffers(allThreads);
  pools.resize(ranks.size());
  try {
    for (size_t r = 0; r < ranks.size(); ++r)
      threads.emplace_back([this, r, pin] { serve(int64_t(r), pin); });
  } catch (...) {
    stopThreads();
    throw;
  }
  waitForThreads();
  if (std::string error = transport->result(); !error.empty()) {
    stopThreads();
    raise(error);
  }
}

void Step::stopThreads() {
  quit.store(true);
  generation.fetch_add(1);
  generation.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

/// Waits until all threads are idle. It spins only if there is a processor left
/// for the host's thread.
void Step::waitForThreads() {
  auto done = [&] { return finished.load() == ranks.size(); };
  if (spin(spinsFor(allThreads + 1), done))
    return;
  std::unique_lock lock(ending);
  ended.wait(lock, done);
}

/// Waits for the threads during a step. A rank that neither waits nor makes
/// progress fails the step; if it then does not return, its thread is
/// abandoned.
void Step::watch(double seconds) {
  auto done = [&] { return finished.load() == ranks.size(); };
  if (spin(spinsFor(allThreads + 1), done))
    return;
  std::fill(seen.begin(), seen.end(), Seen());
  auto look = [&](size_t r) {
    const RankPosition &where = *ranks[r].where;
    uint64_t changes = where.changes();
    if (where.waits() || where.isOver() || changes != seen[r].changes)
      seen[r].stall.reset(now());
    else
      seen[r].stall.tick(now());
    seen[r].changes = changes;
    return seen[r].stall.seconds() < seconds;
  };
  std::chrono::duration<double> nap(std::clamp(seconds / 20, 1e-3, 0.1));
  std::unique_lock lock(ending);
  while (!ended.wait_for(lock, nap, done)) {
    size_t still = 0;
    while (still < ranks.size() && look(still))
      ++still;
    if (still == ranks.size())
      continue;
    transport->fail(int64_t(still),
                    transport->describeStill(int64_t(still), seconds));
    std::chrono::duration<double> grace(std::min(1.0, seconds));
    isAbandoned = !ended.wait_for(lock, grace, done);
    return;
  }
}

/// Prepares a rank's thread for its first step. Failures go to the transport.
void Step::prepare(int64_t rank, bool pin) try {
  if (threadsPerRank > 1) {
    // Threads inherit the processors of the thread that creates them.
    if (pin)
      pinThread(rank * threadsPerRank + 1, threadsPerRank - 1);
    pools[rank] =
        std::make_unique<Pool>(threadsPerRank, allThreads <= processors());
    ranks[rank].pool = pools[rank].get();
  }
  if (pin)
    pinThread(rank * threadsPerRank, 1);
  arenas[rank].populate();
  if (pools[rank])
    pools[rank]->onEach(ranks[rank], warmUpBlas);
  else
    warmUpBlas();
} catch (const std::exception &error) {
  transport->fail(rank, error.what());
}

void Step::serve(int64_t rank, bool pin) {
  std::string name = "sw-rank-" + std::to_string(rank);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  prepare(rank, pin);

  uint32_t seen = 0;
  while (true) {
    if (finished.fetch_add(1) + 1 == ranks.size()) {
      std::lock_guard lock(ending);
      ended.notify_all();
    }
    if (!spin(std::min(idleSpins, spinsFor(allThreads + 1)),
              [&] { return generation.load() != seen; }))
      generation.wait(seen);
    ++seen;
    if (quit.load())
      return;
    runRank(ranks[rank], artifact->entry(rank));
  }
}

void Step::run() {
  if (isAbandoned)
    raise("a rank still hangs in an earlier step; restart the program");
  requireInputs();
  ran = fresh = false;
  transport->reset();
  for (auto &checker : checkers)
    checker->begin();
  for (auto &record : records)
    record->begin();

  finished.store(0);
  int64_t start = now();
  generation.fetch_add(1);
  generation.notify_all();
  watch(limit.seconds());
  int64_t end = now();
  lastSeconds = double(end - start) * 1e-9;

  if (std::string error = transport->result(); !error.empty())
    raise(error);
  for (auto &record : records)
    record->endStep(start, end);
  for (auto &checker : checkers)
    checker->end();
  if (std::string error = checkers.empty() ? "" : checkPeaks(); !error.empty())
    raise(error);
  limit.measured(lastSeconds);
  ran = true;
}

int64_t Step::peak(int64_t rank) const {
  return checkers.empty() ? -1 : checkers[rank]->peak();
}

} // namespace stagewright::runtime
