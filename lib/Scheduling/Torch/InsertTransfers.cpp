//===- InsertTransfers.cpp - sends, receives and waits for an order -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Why the result finishes: posts never block a rank, so without waits for sends
// the ranks wait only as the computations do, and those finish. A receive is
// posted before its use by construction. Only waits for sends can close a
// cycle, through a receive that is posted late. With more send buffers these
// waits are later, in the worst case at the end of the lists.
//
//===----------------------------------------------------------------------===//

#include "Torch/Messages.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <map>
#include <queue>

namespace stagewright {

static constexpr int64_t kBuffers = 2;

namespace {

class Inserter {
public:
  Inserter(const Schedule &schedule, const Dependences &dependences,
           const StageGraph &chain);

  /// The lists, in which a sender keeps `sendBuffers` messages of a kind.
  TorchLists lists(int64_t sendBuffers) const;

private:
  /// Messages [begin, end) of `sent`, from one rank to another.
  struct Channel {
    size_t begin = 0, end = 0;
  };
  /// Position of an entry: before its block, or after it (sends).
  struct Put {
    size_t block; ///< kEnd: after the last.
    enum { Receive, Wait, Send } place;
    size_t order;   ///< Sort key within a place.
    size_t message; ///< Its index in `sent`.

    friend auto operator<=>(const Put &, const Put &) = default;
  };
  static constexpr size_t kEnd = size_t(-1);

  void findChannels();
  bool post(Channel channel, std::map<size_t, int64_t> &buffers);
  void put(Channel channel, int64_t sendBuffers,
           std::vector<std::vector<Put>> &puts) const;
  TorchOrder listOf(int64_t rank, std::vector<Put> puts) const;

  const Schedule &schedule;
  const Dependences &dependences;
  Messages messages;
  std::vector<size_t> blocks; ///< By action: its block, from 0 on its rank.
  std::vector<size_t> sent; ///< Messages between ranks, channel by channel, in
                            ///< the order of the sends.
  std::vector<size_t> postAt; ///< By index in `sent`: block after the receive.
  std::vector<Channel> channels;
};

} // namespace

Inserter::Inserter(const Schedule &schedule, const Dependences &dependences,
                   const StageGraph &chain)
    : schedule(schedule), dependences(dependences),
      messages(dependences, chain), blocks(dependences.size()) {
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    size_t block = 0, end = dependences.begin(rank + 1);
    for (size_t n = dependences.begin(rank); n < end; ++block)
      for (size_t last = dependences.blockEnd(n); n < last; ++n)
        blocks[n] = block;
  }
  findChannels();
  for (Channel channel : channels) {
    std::map<size_t, int64_t> buffers;
    while (!post(channel, buffers))
      ;
  }
}

void Inserter::findChannels() {
  auto ranksOf = [&](size_t id) {
    return std::pair(messages.fromRank(id), messages.toRank(id));
  };
  for (size_t id = 0; id < messages.size(); ++id)
    if (messages.crosses(id))
      sent.push_back(id);
  std::sort(sent.begin(), sent.end(), [&](size_t a, size_t b) {
    return std::pair(ranksOf(a), messages.made(a)) <
           std::pair(ranksOf(b), messages.made(b));
  });
  postAt.resize(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    if (i == 0 || ranksOf(sent[i]) != ranksOf(sent[i - 1]))
      channels.push_back({i, i});
    channels.back().end = i + 1;
  }
}

/// Posts the receives of `channel` as early as their `buffers` allow. If one is
/// then later than its use, adds a buffer to the kind that delays it and
/// returns false.
bool Inserter::post(Channel channel, std::map<size_t, int64_t> &buffers) {
  using Ends =
      std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>>;
  std::map<size_t, Ends> held; // By kind: blocks after the uses.
  size_t at = 0, limit = 0;
  for (size_t i = channel.begin; i < channel.end; ++i) {
    size_t kind = messages.kindOf(sent[i]),
           use = blocks[messages.used(sent[i])];
    Ends &ends = held[kind];
    if (int64_t(ends.size()) >=
        buffers.try_emplace(kind, kBuffers).first->second) {
      if (ends.top() > at) {
        at = ends.top();
        limit = kind;
      }
      ends.pop();
    }
    if (at > use) {
      ++buffers[limit];
      return false;
    }
    ends.push(use + 1);
    postAt[i] = at;
  }
  return true;
}

/// Adds the entries of `channel` to the lists of both its ranks.
void Inserter::put(Channel channel, int64_t sendBuffers,
                   std::vector<std::vector<Put>> &puts) const {
  std::vector<Put> &from = puts[messages.fromRank(sent[channel.begin])];
  std::vector<Put> &to = puts[messages.toRank(sent[channel.begin])];
  std::map<size_t, std::vector<size_t>> unwaited; // By kind, in order.
  size_t wanted = 0;
  for (size_t i = channel.begin; i < channel.end; ++i) {
    size_t made = messages.made(sent[i]);
    // Receives at one place, also of other channels, are sorted by first use;
    // those of one channel keep their order.
    wanted = std::max(wanted, messages.used(sent[i]));
    to.push_back({postAt[i], Put::Receive, wanted, i});
    from.push_back({blocks[made], Put::Send, made, i});
    std::vector<size_t> &kind = unwaited[messages.kindOf(sent[i])];
    if (int64_t(kind.size()) >= sendBuffers)
      from.push_back({blocks[made], Put::Wait, i,
                      kind[kind.size() - size_t(sendBuffers)]});
    kind.push_back(i);
  }
  for (const auto &[number, kind] : unwaited)
    for (size_t i = kind.size() - std::min<size_t>(kind.size(), sendBuffers);
         i < kind.size(); ++i)
      from.push_back({kEnd, Put::Wait, messages.made(sent[kind[i]]), kind[i]});
}

/// The list of `rank`: its computations, with `puts` between them.
TorchOrder Inserter::listOf(int64_t rank, std::vector<Put> puts) const {
  std::sort(puts.begin(), puts.end());
  TorchOrder list;
  auto put = puts.begin();
  auto take = [&](size_t block, auto last) {
    for (; put != puts.end() && put->block == block && put->place <= last;
         ++put)
      list.push_back(
          messages.entry(put->place == Put::Receive ? TorchOp::Receive
                         : put->place == Put::Wait  ? TorchOp::WaitSend
                                                    : TorchOp::Send,
                         sent[put->message]));
  };
  for (size_t n = dependences.begin(rank); n < dependences.begin(rank + 1);) {
    size_t block = blocks[n];
    take(block, Put::Wait);
    for (size_t end = dependences.blockEnd(n); n < end; ++n)
      list.push_back({TorchOp::Compute, dependences.action(n)});
    take(block, Put::Send);
  }
  take(kEnd, Put::Wait);
  return list;
}

TorchLists Inserter::lists(int64_t sendBuffers) const {
  TorchLists result{schedule.stages, schedule.microbatches, {}};
  std::vector<std::vector<Put>> puts(schedule.ranks.size());
  for (Channel channel : channels)
    put(channel, sendBuffers, puts);
  for (size_t rank = 0; rank < puts.size(); ++rank)
    result.ranks.push_back(listOf(int64_t(rank), std::move(puts[rank])));
  return result;
}

Result<TorchLists> insertTransfers(const Schedule &schedule) {
  StageGraph chain = chainOf(schedule);
  if (Status status = verify(schedule, chain); !status)
    return status.error();
  Result<Dependences> dependences = Dependences::create(schedule, chain);
  if (!dependences)
    return dependences.error();
  Inserter inserter(schedule, *dependences, chain);
  for (int64_t sendBuffers = kBuffers;; sendBuffers *= 2) {
    TorchLists lists = inserter.lists(sendBuffers);
    Status status = verify(lists);
    if (status)
      return lists;
    if (sendBuffers >= schedule.microbatches)
      return status.error();
  }
}

} // namespace stagewright
