//===- TorchCsvCommunication.cpp - the other cells of PyTorch's CSV -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What torch demands of a compute_comms file (_validate_send_waits and the
// checks of its runtime), and what it demands only by hanging.
//
//===----------------------------------------------------------------------===//

#include "TorchCsvCells.h"
#include <map>
#include <tuple>

namespace stagewright {

namespace {

/// Where a cell lies: its rank and its number among the cells of the rank.
struct Place {
  size_t rank = 0, index = 0;
};

/// Forwards or gradients of inputs: the names of their cells.
struct Direction {
  TorchOp send, recv, wait;
  int64_t next; ///< What to add to a stage to get that of the receiver.
  const char *sendName, *recvName, *waitName;
};

constexpr Direction forwards = {
    TorchOp::SendF, TorchOp::RecvF, TorchOp::WaitSendF, 1,
    "SEND_F",       "RECV_F",       "WAIT_SEND_F"};
constexpr Direction backwards = {
    TorchOp::SendB, TorchOp::RecvB, TorchOp::WaitSendB, -1,
    "SEND_B",       "RECV_B",       "WAIT_SEND_B"};

class Checker {
public:
  explicit Checker(const std::vector<std::vector<TorchCell>> &ranks)
      : ranks(ranks) {}
  Status check();

private:
  /// Compute is known as what it sends: SendF's or SendB's value.
  enum Role { Made, Cell };
  using Key = std::tuple<Role, TorchOp, int64_t, int64_t>;

  Status index();
  Status checkCell(const TorchCell &cell, Place place) const;
  Status checkMade(const TorchCell &cell, Place place) const;
  Status checkReductions(const std::vector<TorchCell> &row) const;
  const Place *find(Role role, TorchOp op, int64_t stage,
                    int64_t microbatch) const {
    auto found = places.find({role, op, stage, microbatch});
    return found == places.end() ? nullptr : &found->second;
  }

  const std::vector<std::vector<TorchCell>> &ranks;
  std::map<Key, Place> places;
  bool transfers = false; ///< There is a cell of one.
};

} // namespace

static std::string nameOf(int64_t stage, const char *op, int64_t microbatch) {
  return std::to_string(stage) + op + std::to_string(microbatch);
}

/// The direction of the value that `action` makes; none for W.
static const Direction *directionOf(const Action &action) {
  if (action.kind == ActionKind::Forward)
    return &forwards;
  return action.kind == ActionKind::WeightGradient ? nullptr : &backwards;
}

Status Checker::index() {
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t i = 0; i < ranks[rank].size(); ++i) {
      const TorchCell &cell = ranks[rank][i];
      const Action &action = cell.action;
      Key key{Cell, cell.op, action.stage, action.microbatch};
      transfers |= isTransfer(cell.op);
      if (cell.op == TorchOp::Compute) {
        const Direction *made = directionOf(action);
        if (!made)
          continue;
        key = {Made, made->send, action.stage, action.microbatch};
      } else if (cell.op >= TorchOp::Unshard) {
        continue; // May come again.
      }
      if (!places.try_emplace(key, Place{rank, i}).second)
        return Error{placeOf(cell) + "comes a second time"};
    }
  return {};
}

/// A value that another rank uses is sent, one that another rank makes is
/// received.
Status Checker::checkMade(const TorchCell &cell, Place place) const {
  const Direction *made = directionOf(cell.action);
  if (!made)
    return {};
  int64_t stage = cell.action.stage, microbatch = cell.action.microbatch;
  const Place *user = find(Made, made->send, stage + made->next, microbatch);
  if (user && user->rank != place.rank &&
      !find(Cell, made->send, stage, microbatch))
    return Error{placeOf(cell) + "has no " +
                 nameOf(stage, made->sendName, microbatch) + ", but rank " +
                 std::to_string(user->rank) + " needs its result"};
  const Place *maker = find(Made, made->send, stage - made->next, microbatch);
  if (maker && maker->rank != place.rank &&
      !find(Cell, made->recv, stage, microbatch))
    return Error{placeOf(cell) + "has no " +
                 nameOf(stage, made->recvName, microbatch) + ", but rank " +
                 std::to_string(maker->rank) + " makes its input"};
  return {};
}

Status Checker::checkCell(const TorchCell &cell, Place place) const {
  int64_t stage = cell.action.stage, microbatch = cell.action.microbatch;
  auto wrong = [&](const std::string &what) {
    return Error{placeOf(cell) + what};
  };
  for (const Direction &way : {forwards, backwards}) {
    const Place *own = find(Made, way.send, stage, microbatch);
    if (cell.op == way.send) {
      if (!own || own->rank != place.rank || own->index > place.index)
        return wrong("sends what its rank has not made yet");
      const Place *recv = find(Cell, way.recv, stage + way.next, microbatch);
      std::string name = nameOf(stage + way.next, way.recvName, microbatch);
      if (!recv)
        return wrong("has no " + name + " on any rank");
      if (recv->rank == place.rank)
        return wrong("goes to its own rank, which has " + name);
      const Place *wait = find(Cell, way.wait, stage, microbatch);
      if (!wait || wait->rank != place.rank || wait->index < place.index)
        return wrong("has no later " + nameOf(stage, way.waitName, microbatch));
    }
    if (cell.op == way.recv) {
      if (!find(Cell, way.send, stage - way.next, microbatch))
        return wrong("has no " +
                     nameOf(stage - way.next, way.sendName, microbatch) +
                     " on any rank");
      if (!own || own->rank != place.rank || own->index < place.index)
        return wrong("comes too late, or its rank does not use it");
    }
    if (cell.op == way.wait && !find(Cell, way.send, stage, microbatch))
      return wrong("waits for a send that there is not");
  }
  return transfers && cell.op == TorchOp::Compute ? checkMade(cell, place)
                                                  : Status();
}

Status Checker::checkReductions(const std::vector<TorchCell> &row) const {
  const TorchCell *pending = nullptr;
  for (const TorchCell &cell : row) {
    if (cell.op == TorchOp::ReduceGrad) {
      if (pending)
        return Error{placeOf(cell) + "starts while stage " +
                     std::to_string(pending->action.stage) +
                     " has a reduction that is not waited for"};
      pending = &cell;
    }
    if (cell.op == TorchOp::WaitReduceGrad) {
      if (!pending || pending->action.stage != cell.action.stage)
        return Error{placeOf(cell) + "waits for no reduction of its stage"};
      pending = nullptr;
    }
  }
  if (pending)
    return Error{placeOf(*pending) + "is not waited for"};
  return {};
}

Status Checker::check() {
  if (Status status = index(); !status)
    return status;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (size_t i = 0; i < ranks[rank].size(); ++i)
      if (Status status = checkCell(ranks[rank][i], {rank, i}); !status)
        return status;
    if (Status status = checkReductions(ranks[rank]); !status)
      return status;
  }
  return {};
}

Status
checkTorchCommunication(const std::vector<std::vector<TorchCell>> &ranks) {
  return Checker(ranks).check();
}

} // namespace stagewright
