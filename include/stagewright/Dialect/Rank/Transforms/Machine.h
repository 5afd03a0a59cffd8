//===- Machine.h - the ranks as sequences of events -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank programs unrolled for one number of microbatches, as plain data, and the
// machine that runs them. The programs keep only the events on channels,
// stashes and sums, and the calls with their workspace. They have no values and
// no time. They refer to the IR only by `origin`, for error messages and for
// passes that look up the operation of an event.
//
// A program has no branches, and a condition that an event waits for stays true
// once it is. So the ranks form a Kahn process network (Kahn, "The semantics of
// a simple language for parallel programming", 1974) with bounded queues: if
// one interleaving ends then all do, and if one is stuck then all are stuck at
// the same events. One run is the proof; it is linear in the number of events.
// The waits of the protocol of channels, in terms of the microbatch m:
//
//   recv(c, m)   after  send(c, m)
//   claim(c, m)  after  release_channel(c, the previous microbatch in its slot)
//
// The previous microbatch is m - depth if the sender takes the microbatches in
// order. Only one rank claims the slots of a channel, so its program determines
// the previous microbatch of every slot.
//
// A rank that runs its actions as they become ready (`rank.choose`) has rows
// of events instead of one order. A row runs when none of its events would
// wait, so a rank never waits inside one. Every ring has one lane that fills it
// and one that empties it, so running one row never disables another that is
// ready: the ranks are a marked graph (Scheduling/MarkedGraph.h), and again one
// run is the proof for all orders. The proof relies on each row naming the rows
// that it follows, which is checked first.
//
// Each rank of a sum over ranks starts the sum (`reduce`) and later waits for
// it (`await`) once per step, with m = 0. Each rank of a gather does both for
// every microbatch m that is gathered:
//
//   await(s, m)  after  reduce(s, m) of all its ranks
//
// MPI, NCCL and our runtime match the sums and gathers of a group by their
// order, so any two ranks must start those they have in common in the same
// order; this is checked before the run.
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

/// Kinds of events: the first five are on a channel, the next three on a stash
/// of the rank, then a call, and the last two are on a sum.
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
  char action = 0;    ///< F, B, …; 0 outside of an action.
  int32_t object = 0; ///< Number of the channel, stash, call or sum.
  /// The microbatch of the slot or of the gather; in a mixed ring, the number
  /// of the message.
  int64_t microbatch = 0;
  int64_t actionMicrobatch = 0; ///< Of the action.
  int64_t bytes = 0;            ///< Call: bytes of workspace in use.
  const void *origin = nullptr; ///< The operation.
};

/// A ring of slots.
struct Ring {
  std::string name;
  int64_t slots = 1;          ///< For the number of microbatches of this run.
  int64_t messages = 0;       ///< Number of messages, numbered from 0.
  int64_t stride = 0;         ///< Bytes from slot to slot.
  int64_t from = -1, to = -1; ///< Ranks, for a channel.
  const void *origin = nullptr;
  bool sparse = false; ///< Some messages are never sent.
  int64_t place = -1;  ///< Byte of the workspace where its slots begin, or -1.
  /// Offset of each microbatch from `place`, in bytes; empty if the slots are
  /// reused in turn.
  std::vector<int64_t> starts = {};
  /// It carries messages of several values, numbered separately from
  /// microbatches.
  bool mixed = false;
};

/// The workspace during a call, without placed stashes.
struct CallMemory {
  /// Ranges of bytes [first, second) that are live while it runs.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  /// Lower bound of their sum: the bytes if the function's own temporaries were
  /// packed without gaps.
  int64_t bound = 0;
};

/// The events of one row of a `rank.choose`.
struct Row {
  size_t begin = 0, end = 0; ///< In RankEvents::events.
  int64_t lane = 0, microbatch = 0;
  int64_t turn = 0;      ///< Of the ready rows, the lowest turn runs first.
  std::string name = {}; ///< Of its last action, "1F0".
  std::vector<size_t> after = {}; ///< Rows of the rank that it follows.
  const void *origin = nullptr;   ///< The `rank.choose`, for error messages.
};

/// The events of one rank, in program order.
struct RankEvents {
  std::vector<Ring> stashes;
  std::vector<CallMemory> calls;
  std::vector<Event> events;
  /// If the rank chooses what it runs: all rows, lane by lane. Their events are
  /// contiguous.
  std::vector<Row> rows = {};

  bool isReadyFirst() const { return !rows.empty(); }
};

/// A sum over ranks, or a gather.
struct Sum {
  std::string name;
  std::vector<int64_t> ranks;
  const void *origin = nullptr;
  bool gathers = false;   ///< A gather: for each microbatch, not once per step.
  bool exchanges = false; ///< Of a gather: parts differ by receiver.

  /// "sum", "gather" or "exchange".
  std::string kind() const;
  /// For error messages: "sum 'x'", or "microbatch 2 of gather 'x'".
  std::string describe(int64_t microbatch) const;
};

/// All ranks, and the channels and sums that connect them.
struct Machine {
  std::vector<Ring> channels;
  std::vector<RankEvents> ranks;
  std::vector<Sum> sums;
};

/// An error of a run: a message with the operation it is about, and notes on
/// other operations.
struct Fault {
  struct Place {
    std::string message;
    const void *origin;
  };
  Place error;
  std::vector<Place> notes;
};

/// Checks that each rank starts each of its sums once and each of its gathers
/// at most once per microbatch, and that any two ranks start the sums and
/// gathers that they have in common in the same order.
std::optional<Fault> checkSums(const Machine &machine);

/// Checks that all sums and gathers have one order that suits every rank, so
/// that ranks may wait where they begin them, as on a GPU's stream. Expects
/// that `checkSums` has passed.
std::optional<Fault> checkOrder(const Machine &machine);

/// Adds to `after` of each row the rows that release the slots it acquires.
/// Fails if a row uses a slot that another row acquires or receives, but does
/// not follow that row.
std::optional<Fault> linkRows(Machine &machine);

/// Runs `machine` to its end; `checkSums` and, if ranks choose, `linkRows` must
/// have passed. A fault is a cycle of ranks that wait for each other, a wait
/// for an event that never happens, a slot that is overwritten while it is
/// held, or read or released while it is not held, a message or sum whose
/// events are out of order, or a message, slot or sum that is never received,
/// released or awaited.
std::optional<Fault> run(const Machine &machine);

/// Runs `machine` in rounds: in each, every rank that can proceed runs one
/// event, as if all events took equally long. Calls `see` for each event.
std::optional<Fault>
runInStep(const Machine &machine,
          const std::function<void(size_t rank, const Event &event)> &see);

/// Checks that live ranges in the workspace of `rank` do not overlap: slots of
/// placed stashes while they are held, the values of an action, and the
/// workspace of each call. Expects a rank of a machine that runs without fault.
std::optional<Fault> checkPlaces(const RankEvents &rank);

/// Max bytes of stash slots and workspace of one rank that are live at once.
/// Expects a machine that runs without fault.
int64_t livePeak(const RankEvents &rank);

/// The same if the temporaries of all calls were packed without gaps: a lower
/// bound for their part of the arena.
int64_t liveBound(const RankEvents &rank);

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_MACHINE_H
