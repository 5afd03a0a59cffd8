//===- Workspace.cpp - offsets for values inside one action ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that are live at the same time get disjoint bytes. Larger values are
// placed first, each at the lowest offset that is free during its lifetime
// ("greedy by size", Pisarchyk and Lee, "Efficient memory management for deep
// neural net inference", MLSys 2020 workshop).
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::torank {

namespace {

/// The lifetime of a value: from the node that makes it to its last use.
struct Life {
  ValuePlan *value;
  int64_t bytes;
  unsigned first, last;
};

} // namespace

/// Bytes of the slot that holds `type`, with padding.
static int64_t strideOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return rank::getSlotStride(
      MemRefType::get(tensor.getShape(), tensor.getElementType()));
}

namespace {
/// The values that have an offset, by the nodes at which they are live.
class Placed {
public:
  explicit Placed(size_t nodes) : live(nodes), begun(nodes) {}

  void add(const Life &life) {
    begun[life.first].push_back(&life);
    for (unsigned at = life.first; at <= life.last; ++at)
      live[at].push_back(&life);
  }
  /// Those that are live together with `life`.
  SmallVector<const Life *> with(const Life &life) const {
    SmallVector<const Life *> all = live[life.first];
    for (unsigned at = life.first + 1; at <= life.last; ++at)
      llvm::append_range(all, begun[at]);
    return all;
  }

private:
  std::vector<SmallVector<const Life *>> live, begun;
};
} // namespace

/// Sets the offset of every value of an action of `nodes` nodes; returns the
/// bytes used.
static int64_t pack(MutableArrayRef<Life> lives, size_t nodes) {
  llvm::stable_sort(
      lives, [](const Life &a, const Life &b) { return a.bytes > b.bytes; });
  int64_t end = 0;
  Placed placed(nodes);
  for (const Life &life : lives) {
    SmallVector<const Life *> others = placed.with(life);
    llvm::sort(others, [](const Life *a, const Life *b) {
      return a->value->offset < b->value->offset;
    });
    int64_t offset = 0;
    for (const Life *other : others) {
      if (offset + life.bytes <= other->value->offset)
        break;
      offset = std::max(offset, other->value->offset + other->bytes);
    }
    life.value->offset = offset;
    end = std::max(end, offset + life.bytes);
    placed.add(life);
  }
  return end;
}

void placeInWorkspace(Plan &plan) {
  std::map<ActionKey, SmallVector<Life>> lives;
  for (auto &[value, made] : plan.values) {
    const NodePlan &node = plan.actions[made.made].nodes[made.madeAt];
    if (made.home == Home::Workspace &&
        llvm::is_contained(node.written,
                           cast<OpResult>(value).getResultNumber()))
      lives[made.made].push_back(
          {&made, strideOf(value.getType()), made.madeAt, made.lastHere});
  }
  plan.workspaceOfRank.assign(plan.numRanks(), 0);
  for (auto &[key, action] : plan.actions) {
    int64_t &bytes = plan.workspaceOfRank[plan.rankOf(key)];
    bytes = std::max(bytes, pack(lives[key], action.nodes.size()));
    for (const Life &life : lives[key])
      for (unsigned at = life.first; at <= life.last; ++at)
        action.nodes[at].workspaceTop = std::max(
            action.nodes[at].workspaceTop, life.value->offset + life.bytes);
  }
}

} // namespace stagewright::torank
