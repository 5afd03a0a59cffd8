//===- GridSegments.cpp - segments of a step over a grid ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlacer.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

/// No segment ends where another end at most this many levels away has less
/// than half of the bytes. Between two residual connections there are two
/// contractions, each with a join and a sum along both axes.
static constexpr int64_t kLevelsOfHalfBlock = 8;

namespace {
class Segmenter {
public:
  Segmenter(const StepGraph &graph, ArrayRef<int64_t> grid)
      : grid(graph, grid), segments(this->grid.size()) {}

  void run();

private:
  bool isBehind(unsigned number, int64_t level) const {
    return levels[number] > level || (levels[number] == level && tails[number]);
  }
  void findParts();
  /// The levels behind whose heads segments end, ascending.
  std::vector<int64_t> findEnds() const;
  int64_t bytesBehind(int64_t level) const;
  void findForward();
  void findBackward();
  /// Moves operations to the next segment, in the backward to the one before,
  /// if fewer bytes then cross to it: joins, and squares of which a norm takes
  /// the mean.
  void moveAcross(bool backward);
  bool savesBytes(unsigned number) const;
  bool joins(unsigned number) const;
  /// Whether `to` is in a segment after that of `from`; in the backward, before
  /// it.
  bool follows(unsigned from, unsigned to) const {
    return grid.isBackward(from) ? segments[to] < segments[from]
                                 : segments[to] > segments[from];
  }
  void copySent(OpResult value, unsigned number);

  GridGraph grid;
  std::vector<int64_t> segments;
  std::vector<int64_t> levels; ///< Of the forward, in one line; else -1.
  std::vector<bool> tails;     ///< Whether it follows a reduction of its level.
};
} // namespace

static bool reduces(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.getNumReductionLoops() > 0;
}

void Segmenter::findParts() {
  levels.assign(grid.size(), -1);
  tails.assign(grid.size(), false);
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number))
      continue;
    grid.forReads(number, [&](unsigned read) {
      levels[number] =
          std::max(levels[number], levels[read] + grid.crosses(read, number));
    });
    levels[number] = std::max<int64_t>(levels[number], 0);
    bool isTail = reduces(grid.graph.ops[number].op);
    grid.forReads(number, [&](unsigned read) {
      isTail |= levels[read] == levels[number] && tails[read];
    });
    tails[number] = isTail;
  }
}

/// The bytes that the forward sends across the end of the head of `level`: each
/// value to each shard that reads it there.
int64_t Segmenter::bytesBehind(int64_t level) const {
  int64_t bytes = 0;
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number) || isBehind(number, level))
      continue;
    for (OpResult value : grid.graph.ops[number].op->getResults()) {
      std::set<int64_t> readers;
      grid.forUses(value, [&](OpOperand &, unsigned user) {
        if (grid.isForward(user) && isBehind(user, level))
          readers.insert(grid.shards[user]);
      });
      // Parts that several shards read are sent to one of them.
      bytes += bytesOf(value.getType()) * int64_t(!readers.empty());
    }
  }
  return bytes;
}

// A head that only joins parts saves nothing.
std::vector<int64_t> Segmenter::findEnds() const {
  std::set<int64_t> withHead;
  int64_t last = 0;
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isForward(number))
      continue;
    last = std::max(last, levels[number]);
    bool moves =
        isa<tensor::TensorDialect>(grid.graph.ops[number].op->getDialect());
    if (!tails[number] && !moves)
      withHead.insert(levels[number]);
  }
  std::map<int64_t, int64_t> bytes; // By level.
  for (int64_t level : withHead)
    if (int64_t own = bytesBehind(level); own > 0 && level < last)
      bytes[level] = own;
  std::vector<int64_t> ends;
  for (auto [level, own] : bytes) {
    auto first = bytes.lower_bound(level - kLevelsOfHalfBlock);
    auto end = bytes.upper_bound(level + kLevelsOfHalfBlock);
    if (std::none_of(first, end,
                     [&, own = own](auto it) { return 2 * it.second < own; }))
      ends.push_back(level);
  }
  return ends;
}

void Segmenter::findForward() {
  findParts();
  for (int64_t level : findEnds())
    for (unsigned number = 0; number < grid.size(); ++number)
      segments[number] += grid.isForward(number) && isBehind(number, level);
}

// Each operation is at least where what it reads of the forward is made, and
// where its users are. It is raised, as far as what it reads of the backward
// allows, to where the forward reads the same values and parameters; one that
// reads nothing of the forward, as far as possible, unless it joins parts.
// Cheap operations on values of the forward alone bound no others, and follow
// their users.
void Segmenter::findBackward() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::vector<bool> isFactor(grid.size());
  std::map<Value, std::set<int64_t>, bool (*)(Value, Value)> readers(
      [](Value a, Value b) {
        return a.getAsOpaquePointer() < b.getAsOpaquePointer();
      });
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isForward(number))
      grid.forParameters(number, [&](Value parameter) {
        readers[parameter].insert(segments[number]);
      });
  for (unsigned number = unsigned(grid.size()); number-- > 0;) {
    if (!grid.isBackward(number))
      continue;
    int64_t &own = segments[number];
    grid.forReads(number, [&](unsigned read) {
      if (grid.isForward(read))
        own = std::max(own, segments[read]);
    });
    for (unsigned user : grid.graph.ops[number].users)
      if (grid.isBackward(user))
        own = std::max(own, segments[user]);
  }
  for (unsigned number = 0; number < grid.size(); ++number) {
    if (!grid.isBackward(number))
      continue;
    isFactor[number] = grid.graph.ops[number].work.isCheap();
    int64_t highest = kNone;
    grid.forReads(number, [&](unsigned read) {
      if (!grid.isBackward(read) || isFactor[read])
        return;
      isFactor[number] = false;
      highest = std::min(highest, segments[read]);
    });
    if (isFactor[number])
      continue;
    int64_t found = -1;
    auto raise = [&](int64_t segment) {
      if (segment <= highest)
        found = std::max(found, segment);
    };
    grid.forReads(number, [&](unsigned read) {
      if (!grid.isForward(read))
        return;
      raise(segments[read]);
      for (unsigned user : grid.graph.ops[read].users)
        if (grid.isForward(user))
          raise(segments[user]);
    });
    grid.forParameters(number, [&](Value parameter) {
      for (int64_t segment : readers[parameter])
        raise(segment);
    });
    if (found < 0 && highest != kNone && !joins(number))
      found = highest;
    segments[number] = std::max(segments[number], found);
  }
  for (unsigned number = unsigned(grid.size()); number-- > 0;)
    if (grid.isBackward(number) && isFactor[number])
      for (unsigned user : grid.graph.ops[number].users)
        if (grid.isBackward(user))
          segments[number] = std::max(segments[number], segments[user]);
}

bool Segmenter::joins(unsigned number) const {
  return isa<tensor::InsertSliceOp>(grid.graph.ops[number].op);
}

bool Segmenter::savesBytes(unsigned number) const {
  const StepOp &entry = grid.graph.ops[number];
  if (reduces(entry.op))
    return false;
  bool isAlike = grid.isBackward(number), any = false, all = true;
  int64_t bytes = 0;
  for (OpResult value : entry.op->getResults()) {
    bytes += bytesOf(value.getType());
    grid.forUses(value, [&](OpOperand &, unsigned user) {
      any = true;
      all &= grid.isBackward(user) == isAlike && !grid.crosses(number, user) &&
             follows(number, user);
    });
  }
  // Its results no longer cross, but what it reads does.
  for (Value value : entry.operands) {
    int maker = grid.graph.indexOf(value);
    if (maker < 0 || !grid.isPlaced(unsigned(maker)))
      continue;
    all &= !grid.crosses(unsigned(maker), number);
    bool crosses = false;
    grid.forUses(value, [&](OpOperand &, unsigned user) {
      crosses |= user != number && follows(number, user);
    });
    bool isSame = grid.isBackward(unsigned(maker)) == isAlike;
    if (!crosses && isSame)
      bytes -= bytesOf(value.getType());
    // What the forward of this segment makes is not there before it.
    all &= isSame || segments[size_t(maker)] < segments[number];
  }
  return any && all && bytes > 0;
}

void Segmenter::moveAcross(bool backward) {
  for (unsigned number = unsigned(grid.size()); number-- > 0;)
    if ((backward ? grid.isBackward(number) : grid.isForward(number)) &&
        savesBytes(number))
      segments[number] += backward ? -1 : 1;
}

// To each segment that reads it.
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

void noteSegments(const StepGraph &graph, ArrayRef<int64_t> grid) {
  Segmenter(graph, grid).run();
}

} // namespace stagewright::pipeline
