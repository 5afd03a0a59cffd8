//===- Machine.h - the ranks as sequences of events -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank programs unrolled for one number of microbatches, as plain data, and the
// machine that runs them. Only what can wait or overwrite is left: claims,
// sends, receives, releases. No IR, no values, no time.
//
// A program has no choices, and what an event waits for never becomes untrue
// again. So the ranks form a Kahn process network (Kahn, "The semantics of a
// simple language for parallel programming", 1974) with bounded queues: if one
// interleaving ends then every one does, and if one is stuck then every one is
// stuck at the same events. One run is the proof; it is linear in the number of
// events. The waiting of contract D, in terms of the microbatch m:
//
//   recv(c, m)   after  send(c, m)
//   claim(c, m)  after  release_channel(c, what was claimed in its slot before)
//
// The latter is m - depth where the sender goes through the microbatches in
// order. One rank claims all slots of a channel, so its program alone says
// which microbatch had a slot before.
//
// A sum over ranks is begun by each of them and awaited:
//
//   await(s)     after  reduce(s) of all its ranks
//
// Engines match the sums of a group by their order, so any two ranks must begin
// those that they have in common in one order; that is checked before the run.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_MACHINE_H
#define STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_MACHINE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagewright::rank {

/// What an event does; the first five work on a channel, the next three on a
/// stash of the rank, the last two on a sum.
enum class EventKind : uint8_t {
  Claim,
  Send,
  Recv,
  Received,
  ReleaseChannel,
  Acquire,
  Use,
  Release,
  Call,
  Reduce,
  Await
};

/// One event of one rank.
struct Event {
  EventKind kind;
  char action = 0;              ///< F, B, …; 0 outside of an action.
  int32_t object = 0;           ///< Number of the channel, stash, call or sum.
  int64_t microbatch = 0;       ///< Of the slot.
  int64_t actionMicrobatch = 0; ///< Of the action.
  int64_t bytes = 0;            ///< Call: bytes of workspace in use.
  const void *origin = nullptr; ///< The operation; only passed through.
};

/// A ring of slots.
struct Ring {
  std::string name;
  int64_t slots = 1;          ///< Depth for the number of microbatches at hand.
  int64_t messages = 0;       ///< That pass through it.
  int64_t stride = 0;         ///< Bytes from slot to slot.
  int64_t from = -1, to = -1; ///< Ranks, for a channel.
  const void *origin = nullptr;
  bool sparse = false; ///< Not every message is sent.
  int64_t place = -1;  ///< Byte of the workspace where its slots begin, or -1.
  /// Of each microbatch, bytes behind `place`; empty for a ring.
  std::vector<int64_t> starts = {};
  /// Messages are of several values, and have numbers of their own.
  bool mixed = false;
};

/// What a call finds in the workspace, placed stashes apart.
struct CallMemory {
  /// Bytes from `first` to before `second` that live while it runs.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  /// The bytes of them that live at once at least, were its temporaries packed
  /// without any loss.
  int64_t bound = 0;
};

/// Everything that one rank does, in order.
struct RankEvents {
  std::vector<Ring> stashes;
  std::vector<CallMemory> calls;
  std::vector<Event> events;
};

/// A sum over ranks.
struct Sum {
  std::string name;
  std::vector<int64_t> ranks;
  const void *origin = nullptr;
};

/// All ranks and what joins them.
struct Machine {
  std::vector<Ring> channels;
  std::vector<RankEvents> ranks;
  std::vector<Sum> sums;
};

/// Why a machine does not end well: a message with the operation it is about,
/// and further places.
struct Fault {
  struct Place {
    std::string message;
    const void *origin;
  };
  Place error;
  std::vector<Place> notes;
};

/// Where ranks do not begin each sum once, or not in one order.
std::optional<Fault> checkSums(const Machine &machine);

/// Runs `machine` to its end; expects `checkSums`. A fault is a cycle of ranks
/// that wait for each other, a wait for what never comes, a slot that is
/// overwritten or read while it is not held, or a message or slot that is left
/// over.
std::optional<Fault> run(const Machine &machine);

/// The same run with an event of every rank that can go on in each turn, as if
/// all events took equally long. Tells `see` of each with its rank.
std::optional<Fault>
runInStep(const Machine &machine,
          const std::function<void(size_t rank, const Event &event)> &see);

/// Whether everything that lives in the workspace of `rank` has bytes of its
/// own: slots of placed stashes while they are held, the values of an action
/// and the workspace of each call. Else where not. Expects a rank that runs.
std::optional<Fault> checkPlaces(const RankEvents &rank);

/// Highest number of bytes that stash slots and workspace of one rank take at
/// once. Expects a machine that runs.
int64_t livePeak(const RankEvents &rank);

/// The same, were the temporaries of all calls packed without any loss: what an
/// arena takes at least.
int64_t liveBound(const RankEvents &rank);

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_MACHINE_H
