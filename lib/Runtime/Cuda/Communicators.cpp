//===- Communicators.cpp - NCCL communicators of a rank -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicators.h"

#include "DType.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stagewright::runtime::cuda {

namespace {

/// Polls before the first sleep: NCCL's background work for a message is short.
constexpr int spins = 4096;

/// Max thread blocks for a message between two ranks. While a message waits for
/// its partner, each block occupies one of 108 (A100) to 148 (B200)
/// multiprocessors, which then cannot compute. A block moves about 20 GB/s over
/// NVLink, so 4 blocks are faster than a network card of 400 Gbit/s: an
/// estimate, to be measured. NCCL's own limit is 32 ("NCCL_MAX_CTAS").
constexpr int maxMessageBlocks = 4;

/// Polls on the host until another rank connects. Throws after the time limit
/// for making a step, or if a process has ended.
class Watch {
public:
  Watch(ProcessGroup &processes, int64_t rank)
      : processes(processes), rank(rank) {}

  void pause() {
    if (int64_t who = timeout.isCheckDue() ? processes.deadProcess() : -1;
        who >= 0)
      raise("waits for rank ", rank, " to connect, but the process of rank ",
            who, " has ended");
    if (timeout.hasExpired())
      raise("waited ", Deadline::first, " s for rank ", rank, " to connect");
    timeout.pause();
  }

private:
  ProcessGroup &processes;
  int64_t rank;
  PollTimeout timeout = PollTimeout(spins, Deadline::first);
};

} // namespace

Communicators::Communicators(const Manifest &manifest, ProcessGroup &processes)
    : manifest(manifest), processes(processes), self(processes.self()),
      sums(manifest) {
  nccl();
  findEdges();
  for (const SumGroup &group : sums.all)
    groups.push_back({group});
}

bool Communicators::isOwn(const SumGroup &group) const {
  return std::find(group.ranks.begin(), group.ranks.end(), self) !=
         group.ranks.end();
}

void Communicators::findEdges() {
  for (size_t c = 0; c < manifest.channels.size(); ++c) {
    const Channel &it = manifest.channels[c];
    auto same = [&](const Edge &edge) {
      return edge.from == it.from && edge.to == it.to;
    };
    if (std::none_of(edges.begin(), edges.end(), same))
      edges.push_back({it.from, it.to, it.round});
  }
  std::stable_sort(
      edges.begin(), edges.end(),
      [](const Edge &a, const Edge &b) { return a.round < b.round; });
  for (const Channel &it : manifest.channels)
    edgeOf.push_back(size_t(std::find_if(edges.begin(), edges.end(),
                                         [&](const Edge &edge) {
                                           return edge.from == it.from &&
                                                  edge.to == it.to;
                                         }) -
                            edges.begin()));
  std::set<std::pair<int64_t, int64_t>> taken; // Rank and round.
  for (const Edge &edge : edges)
    for (int64_t rank : {edge.from, edge.to})
      if (!taken.insert({rank, edge.round}).second)
        raise("the artifact does not say in which order ranks connect: rank ",
              rank, " has two partners in round ", edge.round,
              "; compile it again");
}

/// The sender creates the id of an edge, the first rank that of a group; every
/// rank receives all ids.
std::vector<NcclId> Communicators::exchangeIds() {
  std::vector<int64_t> makers;
  for (const Edge &edge : edges)
    makers.push_back(edge.from);
  for (const SumGroup &group : sums.all)
    makers.push_back(group.ranks.front());
  std::vector<NcclId> mine(makers.size());
  for (size_t i = 0; i < makers.size(); ++i)
    if (makers[i] == self)
      nccl().uniqueId(&mine[i]);
  auto bytes = int64_t(makers.size() * sizeof(NcclId));
  std::vector<NcclId> all(makers.size() * size_t(processes.size()));
  processes.gather(mine.data(), all.data(), bytes, PollTimeout(0, 0));
  for (size_t i = 0; i < makers.size(); ++i)
    mine[i] = all[size_t(makers[i]) * makers.size() + i];
  return mine;
}

/// Waits until the asynchronous part of an NCCL call is complete.
void Communicators::settle(Communicator handle, int64_t partner, int status,
                           const char *symbol) const {
  if (status && status != ncclStillInProgress)
    NcclErrors::fail(symbol, status);
  int state = status;
  for (Watch watch(processes, partner); state == ncclStillInProgress;
       watch.pause())
    nccl().asyncError(handle, &state);
  if (state)
    NcclErrors::fail(symbol, state);
}

/// Joins a communicator of `size` ranks as rank `number`.
Communicator Communicators::make(const NcclId &id, size_t size, size_t number,
                                 int64_t partner, int maxBlocks) const {
  NcclConfig config;
  config.blocking = 0;
  config.maxBlocks = maxBlocks;
  Communicator handle = nullptr;
  int status =
      nccl().commInit.status(&handle, int(size), id, int(number), &config);
  settle(handle, partner, status, nccl().commInit.symbol);
  return handle;
}

/// NCCL sets up a connection per protocol, which it chooses by message size. So
/// one message of each size is sent, to connect before the first step.
void Communicators::tryOut(size_t edge, const Memory &memory,
                           Stream stream) const {
  std::set<int64_t> tried; // Bytes.
  for (size_t c = 0; c < manifest.channels.size(); ++c) {
    if (edgeOf[c] != edge || !tried.insert(manifest.channels[c].bytes).second)
      continue;
    auto channel = int64_t(c);
    if (edges[edge].from == self)
      send(channel, memory.sent(manifest, channel, 0), stream);
    else
      receive(channel, memory.received(manifest, channel, 0), stream);
  }
}

void Communicators::connect(const Memory &memory, const Device &device,
                            Stream stream) {
  std::vector<NcclId> ids = exchangeIds();
  device.use();
  int64_t last = self;
  for (size_t e = 0; e < edges.size(); ++e)
    if (Edge &edge = edges[e]; isOwn(edge))
      edge.handle = make(ids[e], 2, edge.from == self ? 0 : 1, partner(edge),
                         maxMessageBlocks);
  // All ranks connect the groups in the same order, after all edges, so every
  // rank of a group reaches it: no deadlock.
  for (size_t g = 0; g < groups.size(); ++g)
    if (Group &group = groups[g]; isOwn(group))
      group.handle = make(ids[edges.size() + g], group.ranks.size(),
                          manifest.collectives[group.collective].placeOf(self),
                          partner(group), NcclConfig::undefined);
  for (size_t e = 0; e < edges.size(); ++e)
    if (isOwn(edges[e])) {
      tryOut(e, memory, stream);
      last = partner(edges[e]);
    }
  for (size_t g = 0; g < groups.size(); ++g)
    if (isOwn(groups[g])) {
      for (int64_t c : sums.kindsOf(g, manifest))
        sum(c, memory.bucket(manifest, c, self), stream);
      last = partner(groups[g]);
    }
  if (last != self) {
    EventOwner end(device, eventDisableTiming);
    driver().eventRecord(end.get(), stream, unsigned(eventRecordDefault));
    int status = 0;
    for (Watch watch(processes, last);
         (status = driver().eventQuery.status(end.get())) == statusNotReady;
         watch.pause())
      look();
    if (status)
      DriverErrors::fail(driver().eventQuery.symbol, status);
  }
  connected = true;
}

void Communicators::send(int64_t channel, Address from, Stream stream) const {
  const Edge &edge = edges[edgeOf[size_t(channel)]];
  settle(edge,
         nccl().send.status(reinterpret_cast<const void *>(from),
                            size_t(manifest.channels[size_t(channel)].bytes),
                            ncclBytes, 1, edge.handle, stream),
         nccl().send.symbol);
}

void Communicators::receive(int64_t channel, Address to, Stream stream) const {
  const Edge &edge = edges[edgeOf[size_t(channel)]];
  settle(edge,
         nccl().receive.status(reinterpret_cast<void *>(to),
                               size_t(manifest.channels[size_t(channel)].bytes),
                               ncclBytes, 0, edge.handle, stream),
         nccl().receive.symbol);
}

void Communicators::sum(int64_t collective, Address bucket,
                        Stream stream) const {
  const Group &group = groups[sums.of[size_t(collective)]];
  const Collective &it = manifest.collectives[size_t(collective)];
  settle(group.handle, partner(group),
         enqueueSum(it, self, bucket, group.handle, stream), nameOfSum(it));
}

void Communicators::look() const {
  auto look = [&](const auto &it) {
    int state = 0;
    if (it.handle)
      nccl().asyncError(it.handle, &state);
    if (state && state != ncclStillInProgress)
      raise("NCCL to rank ", partner(it), ": ", nccl().errorString(state), " (",
            state, ")");
  };
  std::for_each(edges.begin(), edges.end(), look);
  std::for_each(groups.begin(), groups.end(), look);
}

void Communicators::abort() const noexcept {
  for (const Edge &edge : edges)
    if (edge.handle)
      nccl().commAbort.status(edge.handle);
  for (const Group &group : groups)
    if (group.handle)
      nccl().commAbort.status(group.handle);
}

/// Finalizes in the order of creation, since each end waits for the other.
Communicators::~Communicators() {
  if (!connected) {
    abort();
    return;
  }
  auto end = [&](auto &it) {
    if (!it.handle)
      return;
    settle(it.handle, partner(it), nccl().commFinalize.status(it.handle),
           nccl().commFinalize.symbol);
    nccl().commDestroy(std::exchange(it.handle, nullptr));
  };
  try {
    std::for_each(edges.begin(), edges.end(), end);
    std::for_each(groups.begin(), groups.end(), end);
  } catch (const std::exception &) {
    abort(); // The partner has exited, and a destructor must not throw.
  }
}

} // namespace stagewright::runtime::cuda
