//===- Communicators.cpp - NCCL between two ranks at a time ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicators.h"

#include "Deadline.h"
#include "Error.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stagewright::runtime::cuda {

namespace {

/// Looks without a nap: what NCCL does in the background of a message is short.
constexpr int spins = 4096;

/// Waits on the host for something of another rank, with naps, but neither
/// longer than making a step may take nor for a process that has ended.
class Watch {
public:
  Watch(Assembly &assembly, int64_t rank) : assembly(assembly), rank(rank) {}

  void pause() {
    if (int64_t who = patience.isThorough() ? assembly.gone() : -1; who >= 0)
      raise("rank ", assembly.self(), ": waits for rank ", rank,
            " to connect, but the process of rank ", who, " has ended");
    if (patience.isOver())
      raise("rank ", assembly.self(), ": waited ", Deadline::first,
            " s for rank ", rank, " to connect");
    patience.pause();
  }

private:
  Assembly &assembly;
  int64_t rank;
  Patience patience = Patience(spins, Deadline::first);
};

} // namespace

Communicators::Communicators(const Manifest &manifest, Assembly &assembly)
    : manifest(manifest), assembly(assembly), self(assembly.self()) {
  nccl();
  findEdges();
}

void Communicators::findEdges() {
  for (size_t c = 0; c < manifest.channels.size(); ++c) {
    const Channel &it = manifest.channels[c];
    auto same = [&](const Edge &edge) {
      return edge.from == it.from && edge.to == it.to;
    };
    if (std::none_of(edges.begin(), edges.end(), same))
      edges.push_back({it.from, it.to, it.round, c});
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
              "; compile it anew");
}

/// Whoever sends makes the identity of the edge, and all hear all.
std::vector<NcclId> Communicators::exchangeIds() {
  std::vector<NcclId> mine(edges.size());
  for (size_t e = 0; e < edges.size(); ++e)
    if (edges[e].from == self)
      nccl().uniqueId(&mine[e]);
  auto bytes = int64_t(edges.size() * sizeof(NcclId));
  std::vector<NcclId> all(edges.size() * size_t(assembly.size()));
  assembly.gather(mine.data(), all.data(), bytes, Patience(0, 0));
  for (size_t e = 0; e < edges.size(); ++e)
    mine[e] = all[size_t(edges[e].from) * edges.size() + e];
  return mine;
}

/// Waits until NCCL's background is done with what a call began.
void Communicators::settle(const Edge &edge, int status,
                           const char *symbol) const {
  if (status && status != ncclStillInProgress)
    NcclErrors::fail(symbol, status);
  int state = status;
  for (Watch watch(assembly, partner(edge)); state == ncclStillInProgress;
       watch.pause())
    nccl().asyncError(edge.handle, &state);
  if (state)
    NcclErrors::fail(symbol, state);
}

void Communicators::make(Edge &edge, const NcclId &id) {
  NcclConfig config;
  config.blocking = 0;
  int status = nccl().commInit.status(&edge.handle, 2, id,
                                      edge.from == self ? 0 : 1, &config);
  settle(edge, status, nccl().commInit.symbol);
}

void Communicators::tryOut(const Edge &edge, const Memory &memory,
                           Stream stream) const {
  auto channel = int64_t(edge.channel);
  if (edge.from == self) {
    auto *from =
        reinterpret_cast<const void *>(memory.sent(manifest, channel, 0));
    settle(edge, nccl().send.status(from, 1, ncclBytes, 1, edge.handle, stream),
           nccl().send.symbol);
  } else {
    auto *to = reinterpret_cast<void *>(memory.received(manifest, channel, 0));
    settle(edge,
           nccl().receive.status(to, 1, ncclBytes, 0, edge.handle, stream),
           nccl().receive.symbol);
  }
}

void Communicators::connect(const Memory &memory, const Device &device,
                            Stream stream) {
  std::vector<NcclId> ids = exchangeIds();
  device.use();
  int64_t last = self;
  auto own = [&](const Edge &edge) {
    return edge.from == self || edge.to == self;
  };
  for (size_t e = 0; e < edges.size(); ++e)
    if (own(edges[e]))
      make(edges[e], ids[e]);
  for (const Edge &edge : edges)
    if (own(edge)) {
      tryOut(edge, memory, stream);
      last = partner(edge);
    }
  if (last != self) {
    EventOwner end(device, eventDisableTiming);
    driver().eventRecord(end.get(), stream, unsigned(eventRecordDefault));
    int status = 0;
    for (Watch watch(assembly, last);
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

void Communicators::look() const {
  for (const Edge &edge : edges) {
    int state = 0;
    if (edge.handle)
      nccl().asyncError(edge.handle, &state);
    if (state && state != ncclStillInProgress)
      raise("rank ", self, ": NCCL to rank ", partner(edge), ": ",
            nccl().errorString(state), " (", state, ")");
  }
}

void Communicators::abort() const noexcept {
  for (const Edge &edge : edges)
    if (edge.handle)
      nccl().commAbort.status(edge.handle);
}

/// As they were made, by rounds: each end waits for the other.
Communicators::~Communicators() {
  if (!connected) {
    abort();
    return;
  }
  try {
    for (Edge &edge : edges)
      if (edge.handle) {
        settle(edge, nccl().commFinalize.status(edge.handle),
               nccl().commFinalize.symbol);
        nccl().commDestroy(std::exchange(edge.handle, nullptr));
      }
  } catch (const std::exception &) {
    abort(); // Its partner has gone; there is nobody to tell.
  }
}

} // namespace stagewright::runtime::cuda
