//===- GridSegments.cpp - segments of a step over a grid ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridSegments.h"
#include "Sharder.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

/// No segment ends where another end at most this many levels away has less
/// than half of the bytes. Between two residual connections there are two
/// contractions, each with a join and a sum along both axes.
static constexpr int64_t kLevelsOfHalfBlock = 8;

std::vector<int64_t> Segmenter::findPlaces() const {
  std::vector<int64_t> places(grid.size(), -1);
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number))
      continue;
    int64_t place = 0;
    grid.forReads(number, [&](unsigned read) {
      bool crosses = grid.crosses(read, number);
      place =
          std::max(place, crosses ? places[read] / 2 * 2 + 2 : places[read]);
    });
    bool isTail = GridGraph::reduces(grid.graph.ops[number].op);
    places[number] = place | int64_t(isTail);
  }
  return places;
}

// A value counts once, even if several shards read it: with the copies of
// copySent(), its shard sends it only once.
std::map<int64_t, int64_t>
Segmenter::countBytes(ArrayRef<int64_t> places) const {
  std::map<int64_t, int64_t> changes;
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number))
      continue;
    for (OpResult value : grid.graph.ops[number].op->getResults()) {
      int64_t last = places[number];
      grid.forUses(value, [&](OpOperand &, unsigned user) {
        if (grid.isForward(user))
          last = std::max(last, places[user]);
      });
      changes[places[number]] += bytesOf(value.getType());
      changes[last] -= bytesOf(value.getType());
    }
  }
  int64_t bytes = 0;
  for (auto &[place, change] : changes)
    change = bytes += change;
  return changes;
}

// Segments end behind heads of levels, which are even places (Sharder.h). A
// head that only joins parts is left out: an end behind it would save no bytes.
std::vector<int64_t> Segmenter::findEnds(ArrayRef<int64_t> places) const {
  std::map<int64_t, int64_t> bytes = countBytes(places);
  std::set<int64_t> heads;
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isForward(number) && places[number] % 2 == 0 &&
        !isa<tensor::TensorDialect>(grid.graph.ops[number].op->getDialect()) &&
        bytes[places[number]] > 0)
      heads.insert(places[number]);
  std::vector<int64_t> ends;
  for (int64_t head : heads) {
    auto first = heads.lower_bound(head - 2 * kLevelsOfHalfBlock);
    auto end = heads.upper_bound(head + 2 * kLevelsOfHalfBlock);
    if (std::none_of(first, end, [&](int64_t other) {
          return 2 * bytes[other] < bytes[head];
        }))
      ends.push_back(head);
  }
  return ends;
}

void Segmenter::findForward() {
  std::vector<int64_t> places = findPlaces(), ends = findEnds(places);
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isForward(number))
      segments[number] = llvm::lower_bound(ends, places[number]) - ends.begin();
}

bool Segmenter::savesBytes(unsigned number) const {
  const StepOp &entry = grid.graph.ops[number];
  if (GridGraph::reduces(entry.op))
    return false;
  bool isAlike = grid.isBackward(number), any = false, all = true;
  for (OpResult value : entry.op->getResults())
    grid.forUses(value, [&](OpOperand &, unsigned user) {
      any = true;
      all &= grid.isBackward(user) == isAlike && !grid.crosses(number, user) &&
             follows(number, user);
    });
  auto staysBefore = [&](Value value) {
    int maker = grid.graph.indexOf(value);
    if (maker < 0 || !grid.isPlaced(unsigned(maker)))
      return false;
    bool isSame = grid.isBackward(unsigned(maker)) == isAlike, crosses = false;
    grid.forUses(value, [&](OpOperand &, unsigned user) {
      crosses |= user != number && follows(number, user);
    });
    // What the forward of this segment makes is not there before it.
    all &= !grid.crosses(unsigned(maker), number) &&
           (isSame || segments[size_t(maker)] < segments[number]);
    return isSame && !crosses;
  };
  int64_t bytes =
      savedBytes(entry.op->getResults(), entry.operands, staysBefore);
  return any && all && bytes > 0;
}

void Segmenter::moveAcross(bool backward) {
  for (unsigned number = unsigned(grid.size()); number-- > 0;)
    if ((backward ? grid.isBackward(number) : grid.isForward(number)) &&
        savesBytes(number))
      segments[number] += backward ? -1 : 1;
}

// Copies `value` in each later segment, or in the backward earlier segment, in
// which another shard reads it.
void Segmenter::copySent(OpResult value, unsigned number) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return;
  bool backward = grid.isBackward(number);
  std::set<int64_t> readers;                        // Shards.
  std::map<int64_t, SmallVector<OpOperand *>> sent; // By distance in segments.
  grid.forUses(value, [&](OpOperand &use, unsigned user) {
    if (!follows(number, user))
      return;
    readers.insert(grid.shards[user]);
    if (grid.crosses(number, user))
      sent[std::abs(segments[user] - segments[number])].push_back(&use);
  });
  if (readers.size() < 2)
    return;
  OpBuilder builder(value.getContext());
  NotedLocation noted(value.getLoc());
  Value part = value;
  for (const auto &[distance, uses] : sent) {
    noted.setNote(grid.grid.size(),
                  segments[number] + (backward ? -distance : distance));
    Location loc = noted.withNotes();
    builder.setInsertionPointAfterValue(part);
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    auto copy = linalg::CopyOp::create(builder, loc, part, empty);
    if (!backward)
      copy->setAttr(PipelineDialect::kForward, builder.getUnitAttr());
    part = copy.getResult(0);
    for (OpOperand *use : uses)
      use->set(part);
  }
}

void Segmenter::run() {
  findForward();
  moveAcross(/*backward=*/false);
  findBackward();
  moveAcross(/*backward=*/true);
  for (unsigned number = 0; number < grid.size(); ++number) {
    Operation *op = grid.graph.ops[number].op;
    NotedLocation noted(op->getLoc());
    int64_t rest = grid.shards[number];
    for (size_t axis = grid.grid.size(); axis-- > 0; rest /= grid.grid[axis])
      noted.setNote(axis, rest % grid.grid[axis]);
    noted.setNote(grid.grid.size(), segments[number]);
    op->setLoc(noted.withNotes());
  }
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isPlaced(number))
      for (OpResult value : grid.graph.ops[number].op->getResults())
        copySent(value, number);
}

} // namespace stagewright::pipeline
