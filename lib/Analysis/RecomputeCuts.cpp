//===- RecomputeCuts.cpp - trade-off of kept bytes and added time ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/RecomputeCuts.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/MinCut.h"
#include "stagewright/Analysis/Work.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

namespace stagewright::pipeline {
namespace {

/// The price of a byte at which the fewest bytes are kept, in multiples of the
/// mean price, which is the seconds to recompute all demanded values divided by
/// their bytes.
constexpr double kDearest = 1000;

/// Max sum of all capacities, which are integers; below MinCut::kInfinite.
constexpr double kLargestSum = 0x1p50;

/// Max number of prices tried: each yields a corner, or shows that there is
/// none between two corners.
constexpr int kMostPrices = 24;

/// The operations that compute the demanded values, and their costs.
class Choices {
public:
  Choices(const RecomputeQuestion &question, const Device &device)
      : question(question), device(device), body(question.body),
        returned(body.getBody().front().getTerminator()) {
    for (unsigned number : question.demanded)
      need(returned->getOperand(number));
    // In the order of the body.
    for (Operation &op : body.getBody().front())
      if (seconds.contains(&op))
        order.push_back(&op);
    for (Operation *op : order)
      total += seconds[op];
  }

  /// The choice that keeps all demanded values.
  RecomputeCut keepAll() const {
    RecomputeCut all;
    llvm::SmallDenseSet<Value> seen;
    for (unsigned number : question.demanded)
      if (Value value = returned->getOperand(number); seen.insert(value).second)
        all.bytes += keptBytes(value);
    return all;
  }

  double allSeconds() const { return total; }

  /// The cheapest choice if keeping a byte costs `price` seconds.
  RecomputeCut at(double price) const;

private:
  void need(Value value) {
    SmallVector<Value> todo = {value};
    while (!todo.empty()) {
      Operation *op = todo.pop_back_val().getDefiningOp();
      if (!op || seconds.contains(op))
        continue;
      seconds[op] = secondsOf(op);
      llvm::append_range(todo, readBy(op));
    }
  }

  /// The values of the body that `op` and its regions read.
  static SmallVector<Value> readBy(Operation *op) {
    llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          values.insert(operand);
    });
    return values.takeVector();
  }

  /// Cheap operations are fused into their readers, so only their arithmetic
  /// counts.
  double secondsOf(Operation *op) {
    if (workOf(op).kind == WorkKind::Constant)
      return 0;
    FlopCount count = counter.countOperation(op);
    NodeWork work = {Flops(count.total), Bytes(), Bytes(), count.contractions};
    if (!workOf(op).isCheap())
      for (Value value : readBy(op))
        work.read += Bytes(bytesOf(value.getType()));
    return rooflineSeconds(work, device).value;
  }

  int64_t keptBytes(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return question.argumentIsHeld[argument.getArgNumber()]
                 ? 0
                 : bytesOf(value.getType());
    for (OpOperand &use : value.getUses())
      if (use.getOwner() == returned &&
          question.resultIsHeld[use.getOperandNumber()])
        return 0;
    return bytesOf(value.getType());
  }

  const RecomputeQuestion &question;
  const Device &device;
  mutable func::FuncOp body;
  Operation *returned;
  FlopCounter counter;
  llvm::DenseMap<Operation *, double> seconds;
  std::vector<Operation *> order;
  double total = 0;
};

RecomputeCut Choices::at(double price) const {
  MinCut cut;
  llvm::DenseMap<Operation *, int> ops;
  llvm::MapVector<Value, int> values;
  double sum = total;
  for (Operation *op : order)
    for (Value value : readBy(op))
      sum += price * double(keptBytes(value));
  for (unsigned number : question.demanded)
    sum += price * double(keptBytes(returned->getOperand(number)));
  double unit = sum > 0 ? kLargestSum / sum : 1;
  for (Operation *op : order) {
    ops[op] = cut.addNode();
    cut.addEdge(MinCut::kSource, ops[op], std::llround(unit * seconds.at(op)));
  }
  auto nodeOf = [&](Value value) {
    auto [entry, isNew] = values.try_emplace(value, 0);
    if (isNew) {
      entry->second = cut.addNode();
      Operation *maker = value.getDefiningOp();
      cut.addEdge(maker ? ops.at(maker) : MinCut::kSource, entry->second,
                  std::llround(unit * price * double(keptBytes(value))));
    }
    return entry->second;
  };
  for (Operation *op : order)
    for (Value value : readBy(op))
      cut.addEdge(nodeOf(value), ops.at(op), MinCut::kInfinite);
  for (unsigned number : question.demanded)
    cut.addEdge(nodeOf(returned->getOperand(number)), MinCut::kSink,
                MinCut::kInfinite);
  cut.solve();

  RecomputeCut found;
  for (Operation *op : order) {
    bool isAgain = !cut.onSourceSide(ops.at(op));
    if (isAgain) {
      found.again.push_back(op);
      found.seconds += seconds.at(op);
      continue;
    }
    for (Value value : op->getResults())
      if (auto node = values.find(value);
          node != values.end() && !cut.onSourceSide(node->second)) {
        found.kept.push_back(value);
        found.bytes += keptBytes(value);
      }
  }
  for (BlockArgument argument : body.getArguments())
    if (auto node = values.find(argument);
        node != values.end() && !cut.onSourceSide(node->second)) {
      found.arguments.push_back(argument.getArgNumber());
      found.bytes += keptBytes(argument);
    }
  return found;
}

} // namespace

/// Removes inner corners until at most `most` are left, first those closest to
/// the line between their neighbours.
static void thin(std::vector<RecomputeCut> &corners, size_t most) {
  auto loss = [&](size_t at) {
    const RecomputeCut &left = corners[at - 1], &right = corners[at + 1];
    double part = double(left.bytes - corners[at].bytes) /
                  double(left.bytes - right.bytes);
    return left.seconds + part * (right.seconds - left.seconds) -
           corners[at].seconds;
  };
  while (corners.size() > std::max<size_t>(2, most)) {
    size_t least = 1;
    for (size_t at = 2; at + 1 < corners.size(); ++at)
      if (loss(at) < loss(least))
        least = at;
    corners.erase(corners.begin() + int64_t(least));
  }
}

std::vector<RecomputeCut> recomputeCuts(const RecomputeQuestion &question,
                                        const Device &device, size_t most) {
  Choices choices(question, device);
  RecomputeCut all = choices.keepAll();
  if (all.bytes == 0 || most == 0)
    return {};
  double mean = choices.allSeconds() / double(all.bytes);
  RecomputeCut least = choices.at(kDearest * (mean > 0 ? mean : 1));
  if (least.bytes >= all.bytes)
    return {};
  std::vector<RecomputeCut> corners = {all, least};
  int prices = 0;
  for (size_t at = 0; at + 1 < corners.size() && prices < kMostPrices;) {
    const RecomputeCut &a = corners[at], &b = corners[at + 1];
    double price = (b.seconds - a.seconds) / double(a.bytes - b.bytes);
    ++prices;
    RecomputeCut middle = choices.at(price);
    double line = a.seconds + price * double(a.bytes);
    double value = middle.seconds + price * double(middle.bytes);
    bool isCorner = middle.bytes < a.bytes && middle.bytes > b.bytes &&
                    value < line * (1 - 1e-9);
    if (isCorner)
      corners.insert(corners.begin() + int64_t(at) + 1, std::move(middle));
    else
      ++at;
  }
  thin(corners, most + 1);
  corners.erase(corners.begin());
  return corners;
}

} // namespace stagewright::pipeline
