//===- GeneratedApi.cpp - runtime functions for rank programs -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Averaging.h"
#include "Faults/Guarded.h"
#include "Products/Blas.h"
#include "Products/ParallelGemm.h"
#include "stagewright/Runtime/Error.h"

#include <cstring>

namespace stagewright::runtime {

namespace {

const Ring &ringOf(const sw_rank *rank, int64_t buffer, int64_t m) {
  return rank->layout->buffer(buffer, m, rank->microbatches);
}

void *addressOf(const sw_rank *rank, const Ring &ring, int64_t m) {
  return rank->arena + ring.at(m);
}

void *slot(sw_rank *rank, int64_t buffer, int64_t m) {
  return guarded(rank, [&] {
    const Ring &ring = ringOf(rank, buffer, m);
    if (rank->checker)
      rank->checker->access(buffer, m);
    return addressOf(rank, ring, m);
  });
}

void *acquire(sw_rank *rank, int64_t buffer, int64_t m) {
  return guarded(rank, [&] {
    const Ring &ring = ringOf(rank, buffer, m);
    rank->transport->checkFailed();
    if (rank->checker)
      rank->checker->acquire(buffer, m);
    return addressOf(rank, ring, m);
  });
}

void release(sw_rank *rank, int64_t buffer, int64_t m) {
  guarded(rank, [&] {
    ringOf(rank, buffer, m);
    rank->transport->checkFailed();
    if (rank->checker)
      rank->checker->release(buffer, m);
  });
}

/// Offloads a stash or fetches it back. On CPUs both buffers are host memory
/// (offloaded stashes are behind the arena), so this is a synchronous copy.
void copySlot(sw_rank *rank, int64_t from, int64_t to, int64_t m) {
  guarded(rank, [&] {
    const Ring &source = ringOf(rank, from, m), &target = ringOf(rank, to, m);
    rank->transport->checkFailed();
    if (rank->checker) {
      rank->checker->access(from, m);
      rank->checker->acquire(to, m);
    }
    std::memcpy(addressOf(rank, target, m), addressOf(rank, source, m),
                size_t(std::min(source.stride, target.stride)));
    if (rank->checker)
      rank->checker->release(from, m);
  });
}

void *claim(sw_rank *rank, int64_t channel, int64_t m) {
  return guarded(rank, [&]() -> void * {
    int64_t start = rank->recorder ? now() : 0;
    void *address = rank->transport->claim(rank->index, channel, m);
    if (rank->recorder)
      rank->recorder->claimed(channel, start);
    return address;
  });
}

void send(sw_rank *rank, int64_t channel, int64_t m) {
  guarded(rank, [&] {
    // Read the clock before sending, so that the send does not end after the
    // receive that it causes.
    int64_t end = rank->recorder ? now() : 0;
    rank->transport->send(rank->index, channel, m);
    if (rank->recorder)
      rank->recorder->sent(channel, m, end);
  });
}

void *recv(sw_rank *rank, int64_t channel, int64_t m) {
  return guarded(rank, [&]() -> void * {
    if (void *again = rank->transport->held(rank->index, channel, m))
      return again;
    int64_t start = rank->recorder ? now() : 0;
    void *address = rank->transport->recv(rank->index, channel, m);
    if (rank->recorder)
      rank->recorder->received(channel, m, start);
    return address;
  });
}

void releaseChannel(sw_rank *rank, int64_t channel, int64_t m) {
  guarded(rank, [&] { rank->transport->release(rank->index, channel, m); });
}

void allReduce(sw_rank *rank, int64_t collective) {
  guarded(rank, [&] {
    int64_t start = rank->recorder ? now() : 0;
    rank->transport->allReduce(rank->index, collective);
    if (rank->recorder)
      rank->recorder->sumBegun(collective, start);
  });
}

void awaitReduced(sw_rank *rank, int64_t collective) {
  guarded(rank, [&] {
    rank->transport->awaitReduced(rank->index, collective);
    if (rank->recorder)
      rank->recorder->summed(collective);
  });
}

int64_t choose(sw_rank *rank) {
  return guarded(rank, [&]() -> int64_t {
    if (!rank->chooser)
      raise("the program chooses a row, but the manifest lists none");
    int64_t start = rank->recorder ? now() : 0;
    rank->transport->progress();
    int64_t row = rank->chooser->choose(*rank->transport);
    if (rank->recorder)
      rank->recorder->chosen(rank->chooser->last(), start);
    return row;
  });
}

void averageParameters(sw_rank *rank, int64_t number) {
  guarded(rank, [&] { average(*rank, number); });
}

void actionBegin(sw_rank *rank, int32_t kind, int64_t stage, int64_t m) {
  guarded(rank, [&] {
    rank->transport->progress();
    rank->transport->checkFailed();
    rank->where->beginAction(kind, stage, m);
    if (rank->injection)
      rank->injection->beginAction(*rank);
    if (rank->dilation)
      rank->dilation->beginAction(kind, m);
    if (rank->checker)
      rank->checker->beginAction();
    if (rank->recorder)
      rank->recorder->beginAction(kind, stage, m);
  });
}

void actionEnd(sw_rank *rank) {
  if (rank->recorder)
    rank->recorder->endAction();
}

void nodeBegin(sw_rank *rank, int64_t node) {
  rank->transport->progress();
  rank->where->beginNode(node);
  if (rank->recorder)
    rank->recorder->beginNode();
  if (rank->dilation)
    rank->dilation->beginNode();
}

void nodeEnd(sw_rank *rank, int64_t node, int64_t workspaceBytes) {
  guarded(rank, [&] {
    rank->described->node(node); // Raises an error if there is none.
    if (rank->dilation)
      rank->dilation->endNode(*rank->transport);
    rank->where->endNode();
    if (rank->recorder)
      rank->recorder->endNode(node);
    if (rank->checker)
      rank->checker->useWorkspace(node, workspaceBytes);
  });
}

/// MPI sums across processes progress only during MPI calls, and paced sends
/// start only then; one node may take longer than one step of a sum.
void moveMessages(const sw_rank *rank) {
  if (!threadContext().shares && rank->transport->needsCalls())
    rank->transport->progress();
}

void contract(const sw_gemm_desc *desc, const void *a, const void *b, void *c) {
  sw_rank *rank = threadContext().rank;
  moveMessages(rank);
  guarded(rank, [&] { parallelGemm(*rank, *desc, a, b, c); });
}

void parallel(void (*body)(void **arguments, int64_t lower, int64_t upper),
              void **arguments, int64_t extent, int64_t grain) {
  sw_rank *rank = threadContext().rank;
  moveMessages(rank);
  if (!rank->pool || threadContext().shares || extent <= grain)
    return body(arguments, 0, extent);
  guarded(rank, [&] {
    rank->pool->run(*rank, body, arguments, extent, grain);
    rank->transport->checkFailed();
  });
}

void convolve(const sw_convolution_desc *desc, const void *a, const void *b,
              void *c) {
  sw_rank *rank = threadContext().rank;
  moveMessages(rank);
  guarded(rank, [&] { parallelConvolution(*rank, *desc, a, b, c); });
}

void fail(sw_rank *rank, const char *message) {
  guarded(rank, [&] { raise(message); });
}

/// Takes the place of functions that are called only by artifacts for a device;
/// raises an error.
template <typename... Arguments> void ofDevices(sw_rank *rank, Arguments...) {
  guarded(rank, [&] {
    raise("the program calls a function of devices, but the artifact's target "
          "is the processor");
  });
}

} // namespace

const sw_api &generatedCodeApi() {
  static const sw_api api = {
      slot,      acquire,        release,     claim,     send,
      recv,      releaseChannel, actionBegin, actionEnd, nodeBegin,
      nodeEnd,   contract,       fail,        parallel,  convolve,
      ofDevices, // launch
      ofDevices, // fill
      ofDevices, // copy
      ofDevices, // contract
      ofDevices, // attend
      ofDevices, // attend_gradient
      ofDevices, // convolve
      allReduce, awaitReduced,
      ofDevices, // otherwise
      copySlot,  copySlot,       slot,        choose,    averageParameters};
  return api;
}

} // namespace stagewright::runtime
