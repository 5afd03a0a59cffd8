//===- RankPosition.cpp - where a rank is in its step ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults/RankPosition.h"
#include "Artifact/Manifest.h"

#include <algorithm>

namespace stagewright::runtime {

int64_t RankPosition::awaitedRank(const Manifest &manifest,
                                  int64_t self) const {
  Wait what = waiting.load(relaxed);
  auto number = size_t(awaited.load(relaxed));
  if (what == ForSum && number < manifest.collectives.size()) {
    const std::vector<Bucket> &buckets = manifest.collectives[number].buckets;
    return buckets.size() > 2 ? someRank
                              : buckets[buckets[0].rank == self ? 1 : 0].rank;
  }
  if ((what != ToSend && what != ToReceive) ||
      number >= manifest.channels.size())
    return noRank;
  const Channel &channel = manifest.channels[number];
  return what == ToSend ? channel.to : channel.from;
}

bool RankPosition::awaits(const Manifest &manifest, int64_t self,
                          int64_t other) const {
  auto number = size_t(awaited.load(relaxed));
  if (waiting.load(relaxed) != ForSum || number >= manifest.collectives.size())
    return awaitedRank(manifest, self) == other;
  const std::vector<Bucket> &buckets = manifest.collectives[number].buckets;
  return self != other &&
         std::any_of(buckets.begin(), buckets.end(),
                     [&](const Bucket &it) { return it.rank == other; });
}

std::string RankPosition::describe(const Manifest &manifest,
                                   int64_t rank) const {
  std::string text = "before its first action";
  if (end.load(relaxed) == Ended)
    text = waits() ? "after its last action" : "all actions done";
  else if (int32_t letter = kind.load(relaxed))
    text = "action " + std::to_string(stage.load(relaxed)) + char(letter) +
           std::to_string(microbatch.load(relaxed));
  const auto &nodes = manifest.ranks[size_t(rank)].nodes;
  Wait what = waiting.load(relaxed);
  auto in = size_t(node.load(relaxed)), number = size_t(awaited.load(relaxed));
  if (what == Nothing)
    return in < nodes.size() ? text + ", node '" + nodes[in] + "'" : text;
  if (what == ForSum && number < manifest.collectives.size()) {
    const Collective &of = manifest.collectives[number];
    // A gather is awaited by an action of its microbatch.
    return text + " waits for " +
           (of.gathers ? of.describe(microbatch.load(relaxed)) + " from " +
                             of.others(rank)
                       : "the " + of.describe() + " over ranks");
  }
  if (number >= manifest.channels.size())
    return text;
  const Channel &channel = manifest.channels[number];
  return text + (what == ToSend ? " waits to send " : " waits for ") +
         channel.describe(awaitedM.load(relaxed)) + " " +
         (what == ToSend ? "to rank " + std::to_string(channel.to)
                         : "from rank " + std::to_string(channel.from));
}

} // namespace stagewright::runtime
