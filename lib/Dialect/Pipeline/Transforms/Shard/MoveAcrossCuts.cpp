//===- MoveAcrossCuts.cpp - fewer bytes between heads and tails -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves an operation to the other side of a cut if fewer bytes cross the cut
// then. For example, a norm takes the mean of squares: the values cross the cut
// anyway, since the norm and the next residual connection read them, so the
// tail computes the squares. In the backward, the head multiplies a gradient by
// a mask that it has already.
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {
namespace {

/// Where an operation runs: its level, part and shard, in the forward or in the
/// backward.
struct Point {
  ShardPlace place;
  bool backward = false;

  /// `cut` is a point of an even level, in the part that makes what crosses the
  /// level's cut: the head in the forward, the tail in the backward. Whether
  /// this point is on the other side of the cut.
  bool isBehind(const Point &cut) const {
    int64_t number = 2 * place.level + place.tail;
    int64_t head = 2 * cut.place.level;
    return cut.backward ? backward && number <= head : number > head;
  }
};

class Mover {
public:
  explicit Mover(func::FuncOp step);
  void run();
  void sortForward();

private:
  std::optional<Point> pointOf(Operation *op);
  /// Whether fewer bytes cross the cut if `op`, which is before it, moves
  /// behind it.
  bool savesBytes(Operation &op, const Point &point);

  Block &block;
  DenseSet<Operation *>
      forward; ///< Marked operations, and those they depend on.
};

} // namespace

std::optional<Point> Mover::pointOf(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  auto place = name ? shardPlaceIn(name.getName()) : std::nullopt;
  if (!place)
    return std::nullopt;
  return Point{*place, !forward.contains(op)};
}

bool Mover::savesBytes(Operation &op, const Point &point) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured || structured.getNumReductionLoops() > 0)
    return false;
  for (Operation *user : op.getUsers()) {
    std::optional<Point> reader = pointOf(user);
    if (!reader || reader->place.shard != point.place.shard ||
        !reader->isBehind(point))
      return false;
  }
  // What it reads from this side of the cut crosses then, unless it does so
  // already.
  auto staysBefore = [&](Value input) {
    Operation *maker = input.getDefiningOp();
    std::optional<Point> source = maker ? pointOf(maker) : std::nullopt;
    return source && source->backward == point.backward &&
           !source->isBehind(point) &&
           llvm::none_of(input.getUsers(), [&](Operation *user) {
             std::optional<Point> reader = pointOf(user);
             return user != &op && reader && reader->isBehind(point);
           });
  };
  return savedBytes(op.getResults(), structured.getDpsInputs(), staysBefore) >
         0;
}

Mover::Mover(func::FuncOp step) : block(step.getBody().front()) {
  for (Operation &op : llvm::reverse(block)) {
    if (!forward.contains(&op) && !op.hasAttr(PipelineDialect::kForward))
      continue;
    forward.insert(&op);
    for (Value value : readsOf(op))
      if (Operation *maker = value.getDefiningOp())
        forward.insert(maker);
  }
}

void Mover::run() {
  for (Operation &op : llvm::reverse(block)) {
    std::optional<Point> point = pointOf(&op);
    if (!point || !point->place.isWhole() ||
        point->place.tail != point->backward || op.use_empty() ||
        !savesBytes(op, *point))
      continue;
    auto name = cast<NameLoc>(op.getLoc());
    StringRef scope = scopeIn(name.getName());
    point->place.tail = !point->place.tail;
    op.setLoc(NameLoc::get(
        StringAttr::get(op.getContext(), operationName(scope, point->place)),
        name.getChildLoc()));
  }
}

void Mover::sortForward() {
  // The key of an operation is at least those of its operands. Operations
  // without a place come first.
  using Key = std::tuple<int64_t, bool, int64_t>;
  DenseMap<Operation *, Key> keys;
  SmallVector<Operation *> order;
  for (Operation &op : block.without_terminator()) {
    if (!forward.contains(&op))
      continue;
    Key key = {-1, false, 0};
    if (std::optional<Point> point = pointOf(&op))
      key = {point->place.level, point->place.tail, point->place.shard};
    for (Value value : readsOf(op))
      if (auto made = keys.find(value.getDefiningOp()); made != keys.end())
        key = std::max(key, made->second);
    keys[&op] = key;
    order.push_back(&op);
  }
  llvm::stable_sort(
      order, [&](Operation *a, Operation *b) { return keys[a] < keys[b]; });
  // The backward follows. The forward reads nothing of it.
  for (Operation *op : llvm::reverse(order))
    op->moveBefore(&block, block.begin());
}

void moveAcrossCuts(func::FuncOp step) {
  Mover mover(step);
  mover.run();
  mover.sortForward();
}

void sortForward(func::FuncOp step) { Mover(step).sortForward(); }

} // namespace stagewright::pipeline
