//===- Step.cpp - a step that can run -------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "Blas.h"
#include "Error.h"
#include "Processors.h"

#include <algorithm>
#include <cstring>
#include <pthread.h>

namespace stagewright::runtime {

namespace {
constexpr int64_t maxThreads = 1024;
/// How often an idle rank looks for the next step: 50 us, where the host has a
/// processor for itself.
constexpr int idleSpins = 2000;
} // namespace

Step::Step(std::shared_ptr<const Artifact> source, const StepOptions &options)
    : artifact(std::move(source)), count(options.microbatches),
      threadsPerRank(options.threads),
      allThreads(threadsPerRank * int64_t(artifact->manifest().ranks.size())) {
  if (!artifact->entry(0))
    raise("the artifact was opened for its manifest only");
  if (count == 0)
    count = manifest().microbatches;
  if (count < 0)
    raise("the number of microbatches is ", count, ", expected at least 1");

  if (threadsPerRank < 1 || threadsPerRank > maxThreads)
    raise("the number of threads per rank is ", threadsPerRank,
          ", expected 1 to ", maxThreads);
  if (manifest().only && count != manifest().microbatches)
    raise("the number of microbatches is ", count, ", but the artifact runs ",
          manifest().microbatches, " only: its schedule '", manifest().schedule,
          "' is an order for that number; compile it with --microbatches=",
          count);

  allocate();
  size_t size = manifest().ranks.size();
  std::vector<std::byte *> bases;
  bases.reserve(size);
  for (const Arena &arena : arenas)
    bases.push_back(arena.base());
  transport.emplace(manifest(), layouts, bases, count, options.check,
                    spinsFor(allThreads));
  ranks.resize(size);
  for (size_t r = 0; r < size; ++r) {
    if (options.check)
      checkers.push_back(
          std::make_unique<Checker>(manifest().ranks[r], layouts[r], bases[r]));
    if (options.trace || options.profile)
      records.push_back(std::make_unique<Recorder>(
          manifest(), r, count, options.trace, options.profile));
    sw_rank &rank = ranks[r];
    rank.step = this;
    rank.index = int64_t(r);
    rank.microbatches = count;
    rank.layout = &layouts[r];
    rank.arena = bases[r];
    rank.transport = &*transport;
    rank.checker = options.check ? checkers[r].get() : nullptr;
    rank.recorder = records.empty() ? nullptr : records[r].get();
  }
  given.resize(manifest().arguments.size());
  startThreads(options.pin);
  try {
    // The threads zero the arenas first, each its own.
    fillMicrobatchNumbers();
    fillConstants();
  } catch (...) {
    stopThreads();
    throw;
  }
}

void Step::fillConstants() {
  for (const Interface &argument : manifest().arguments)
    if (const void *data = artifact->data(argument))
      setInput(argument.position,
               {argument.dtype, int32_t(argument.shape.size()),
                argument.shape.data(), const_cast<void *>(data)});
}

Step::~Step() { stopThreads(); }

void Step::allocate() {
  for (size_t r = 0; r < manifest().ranks.size(); ++r) {
    layouts.push_back(layOut(manifest(), int64_t(r), count));
    int64_t printed = manifest().ranks[r].arena;
    if (count == manifest().microbatches && layouts[r].total != printed)
      raise("rank ", r, " needs an arena of ", layouts[r].total,
            " bytes, but the compiler printed ", printed,
            "; compiler and runtime do not belong together");
    arenas.emplace_back(layouts[r].total);
    predicted.push_back(runtime::predictedPeak(manifest(), int64_t(r), count));
  }
}

void Step::fillMicrobatchNumbers() {
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto &buffers = manifest().ranks[r].buffers;
    for (size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].kind != BufferKind::Microbatch)
        continue;
      const Ring &ring = layouts[r].buffers[b];
      for (int64_t m = 0; m < count; ++m) // little-endian: 4 or 8 bytes
        std::memcpy(arenas[r].base() + ring.offset + m * ring.stride, &m,
                    size_t(buffers[b].bytes));
    }
  }
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

/// Until each thread has come back. The host's thread has a processor of its
/// own only where one is left.
void Step::waitForThreads() {
  auto done = [&] { return finished.load() == threads.size(); };
  if (spin(spinsFor(allThreads + 1), done))
    return;
  for (uint32_t seen; (seen = finished.load()) < threads.size();)
    finished.wait(seen);
}

/// What a rank's thread does before its first step. A failure is the step's.
void Step::prepare(int64_t rank, bool pin) try {
  if (threadsPerRank > 1) {
    // Threads keep to the processors of the one that made them.
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
    finished.fetch_add(1);
    finished.notify_all();
    if (!spin(std::min(idleSpins, spinsFor(allThreads + 1)),
              [&] { return generation.load() != seen; }))
      generation.wait(seen);
    ++seen;
    if (quit.load())
      return;
    runRank(ranks[rank]);
  }
}

void Step::runRank(sw_rank &rank) {
  // Nothing with a destructor may live here: generated code leaves by longjmp.
  jmp_buf frame;
  here() = {&rank, &frame, false};
  if (_setjmp(frame) == 0)
    artifact->entry(rank.index)(&rank, count);
  rank.transport->finish(rank.index);
}

void Step::run() {
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && manifest().arguments[i].role != "microbatch")
      raise("argument ", manifest().arguments[i].label(), " was not set");
  ran = false;
  transport->reset();
  for (auto &checker : checkers)
    checker->begin();
  for (auto &record : records)
    record->begin();

  finished.store(0);
  int64_t start = now();
  generation.fetch_add(1);
  generation.notify_all();
  waitForThreads();
  int64_t end = now();
  lastSeconds = double(end - start) * 1e-9;

  if (std::string error = transport->result(); !error.empty())
    raise(error);
  for (auto &record : records)
    record->endStep(start, end);
  for (auto &checker : checkers)
    checker->end();
  if (std::string error = checkPeaks(); !error.empty())
    raise(error);
  ran = true;
}

/// The high-water mark must be what the compiler printed, within one alignment
/// unit per buffer; for another number of microbatches it is a bound.
std::string Step::checkPeaks() const {
  for (size_t r = 0; r < checkers.size(); ++r) {
    int64_t seen = checkers[r]->peak();
    int64_t rings = int64_t(manifest().ranks[r].buffers.size());
    for (const Ring &ring : layouts[r].channels)
      rings += ring.stride > 0;
    bool exact = count == manifest().microbatches;
    if (seen > predicted[r] + rings * alignment ||
        (exact && seen < predicted[r] - rings * alignment))
      return "rank " + std::to_string(r) + ": live bytes reached " +
             std::to_string(seen) + ", but the compiler printed " +
             std::to_string(predicted[r]);
  }
  return "";
}

int64_t Step::peak(int64_t rank) const {
  return checkers.empty() ? -1 : checkers[rank]->peak();
}

std::vector<const Recorder *> Step::recorders() const {
  std::vector<const Recorder *> list;
  list.reserve(records.size());
  for (auto &record : records)
    list.push_back(record.get());
  return list;
}

} // namespace stagewright::runtime
