//===- RowGroups.cpp - the rows of a group --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/RowGroups.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {

SmallVector<int> loopsOf(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim ? int(dim.getPosition()) : -1;
  });
}

SmallVector<int> loopsOf(tensor::ExtractOp gather, linalg::LinalgOp op) {
  return llvm::map_to_vector(gather.getIndices(), [&](Value index) {
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    return loop && loop->getBlock() == op.getBlock() ? int(loop.getDim()) : -1;
  });
}

bool onlyAdds(linalg::LinalgOp op) {
  return op.getNumDpsInits() == 1 &&
         (isa<linalg::ContractOp>(op) || matchAddToInit(op));
}

SmallVector<tensor::ExtractOp> gathersOf(linalg::LinalgOp op) {
  SmallVector<tensor::ExtractOp> gathers;
  op->walk([&](tensor::ExtractOp gather) { gathers.push_back(gather); });
  return gathers;
}

bool RowMember::sumsOver(size_t row) const {
  linalg::LinalgOp linalgOp = op;
  return sums && linalgOp.getIteratorTypesArray()[loops[row]] ==
                     utils::IteratorType::reduction;
}

/// Whether loop `loop` of `op` can be a row loop: it alone indexes one
/// dimension of every result, or, if `summed`, it indexes no result.
static bool canBeRow(linalg::LinalgOp op, unsigned loop, bool summed) {
  bool parallel =
      op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
  if (parallel == summed)
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    // It indexes at most one dimension of every operand, and indexes it alone.
    auto uses = llvm::count_if(map.getResults(), [&](AffineExpr expr) {
      return expr.isFunctionOfDim(loop);
    });
    bool alone = llvm::is_contained(loopsOf(map), int(loop));
    if (uses > 1 || (uses == 1) != alone ||
        (op.isDpsInit(&operand) && alone == summed))
      return false;
  }
  return true;
}

static int64_t elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 1;
}

/// Elements of the largest operand.
static int64_t widthOf(linalg::LinalgOp op) {
  int64_t most = 1;
  for (Value operand : op->getOperands())
    most = std::max(most, elementsOf(operand));
  return most;
}

int64_t RowGroup::numRows() const {
  int64_t rows = 1;
  for (int64_t extent : extents)
    rows *= extent;
  return rows;
}

bool RowGroup::hasContraction() const {
  return llvm::any_of(members, [](const RowMember &member) {
    return isa<linalg::ContractOp>(member.op);
  });
}

bool RowGroup::isNested() const {
  return hasContraction() &&
         llvm::any_of(members, [](const RowMember &m) { return m.sums; });
}

/// Calls `visit` once for every input and result of the members, with its bytes
/// per row and whether all row loops index it.
static void
forEachValue(const RowGroup &group,
             llvm::function_ref<void(int64_t bytes, bool hasAll)> visit) {
  llvm::SmallDenseSet<Value> seen;
  auto add = [&](Value value, AffineMap map, const RowMember &member) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !seen.insert(value).second)
      return;
    int64_t elements = type.getNumElements();
    bool hasAll = true;
    for (auto [loop, extent] : llvm::zip_equal(member.loops, group.extents)) {
      bool has = map.isFunctionOfDim(loop);
      if (has)
        elements /= extent;
      hasAll &= has;
    }
    Type element = type.getElementType();
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    visit(elements * ((bits + 7) / 8), hasAll);
  };
  for (const RowMember &member : group.members) {
    linalg::LinalgOp op = member.op;
    for (OpOperand *input : op.getDpsInputOperands())
      add(input->get(), op.getMatchingIndexingMap(input), member);
    for (OpResult result : op->getResults())
      add(result, op.getIndexingMapMatchingResult(result), member);
  }
}

int64_t RowGroup::bytesPerRow() const {
  int64_t total = 0;
  forEachValue(*this, [&](int64_t bytes, bool) { total += bytes; });
  return total;
}

int64_t RowGroup::largestPerRow() const {
  int64_t most = 0;
  forEachValue(*this, [&](int64_t bytes, bool hasAll) {
    if (hasAll)
      most = std::max(most, bytes);
  });
  return most;
}

void RowGroup::dropRow(size_t row) {
  extents.erase(extents.begin() + row);
  for (RowMember &member : members)
    member.loops.erase(member.loops.begin() + row);
}

void RowGroup::keepAgreedRows() {
  llvm::SmallDenseMap<Operation *, const RowMember *> memberOf;
  for (const RowMember &member : members)
    memberOf[member.op] = &member;
  llvm::SmallBitVector agreed(extents.size(), true);
  auto check = [&](Value value, const RowMember &reader,
                   ArrayRef<int> loopsOfReader) {
    const RowMember *maker = memberOf.lookup(value.getDefiningOp());
    if (!maker || maker->sums)
      return;
    linalg::LinalgOp op = maker->op;
    SmallVector<int> made =
        loopsOf(op.getIndexingMapMatchingResult(cast<OpResult>(value)));
    for (size_t i = 0; i < extents.size(); ++i)
      for (auto [a, b] : llvm::zip_equal(made, loopsOfReader))
        if (a == int(maker->loops[i]) && b != int(reader.loops[i]))
          agreed.reset(i);
  };
  for (const RowMember &member : members) {
    linalg::LinalgOp op = member.op;
    for (OpOperand &operand : op->getOpOperands())
      check(operand.get(), member,
            loopsOf(op.getMatchingIndexingMap(&operand)));
    for (tensor::ExtractOp gather : gathersOf(op))
      check(gather.getTensor(), member, loopsOf(gather, op));
  }
  for (size_t i = extents.size(); i-- > 0;)
    if (!agreed.test(i))
      dropRow(i);
}

void RowGroup::keepCommonRows() {
  keepAgreedRows();
  for (size_t i = extents.size(); i-- > 0;)
    if (!llvm::all_of(members, [&](const RowMember &member) {
          return canBeRow(member.op, member.loops[i], member.sumsOver(i));
        }))
      dropRow(i);
  for (const RowMember &member : members) {
    llvm::SmallDenseSet<unsigned> distinct(member.loops.begin(),
                                           member.loops.end());
    if (distinct.size() != member.loops.size())
      extents.clear(); // one loop cannot be two row loops
  }
  auto isSummed = [&](size_t row) {
    return llvm::any_of(
        members, [&](const RowMember &member) { return member.sumsOver(row); });
  };
  if (hasContraction()) {
    // At most one row loop is summed over, by some of the members.
    size_t summed = 0;
    for (size_t i = 0; i < extents.size(); ++i)
      summed += isSummed(i);
    if (summed > 1)
      extents.clear();
  } else {
    // Keep the row loops over which all summing members sum.
    for (size_t i = extents.size(); i-- > 0;)
      if (llvm::any_of(members, [&](const RowMember &member) {
            return member.sums && !member.sumsOver(i);
          }))
        dropRow(i);
  }
  if (extents.empty())
    for (RowMember &member : members)
      member.loops.clear();
  for (const RowMember &member : members) {
    bool any = false;
    for (size_t i = 0; i < extents.size(); ++i)
      any |= member.sumsOver(i);
    if (member.sums && !any) {
      extents.clear();
      break;
    }
  }
}

RowGroup RowGroup::withoutContiguous() const {
  RowGroup group = *this;
  int64_t most = 0;
  for (const RowMember &member : members)
    most = std::max(most, widthOf(member.op));
  for (size_t i = group.extents.size(); i-- > 0;) {
    bool contiguous = false;
    for (RowMember &member : group.members)
      for (OpOperand &operand : member.op->getOpOperands()) {
        auto loops = loopsOf(member.op.getMatchingIndexingMap(&operand));
        contiguous |= loops.size() > 1 &&
                      loops.back() == int(member.loops[i]) &&
                      elementsOf(operand.get()) == most;
      }
    if (contiguous && group.extents[i] != 1)
      group.dropRow(i);
  }
  return group;
}

void RowGroup::sortRows() {
  // For each row loop: its dimension in the largest value that all row loops
  // index.
  SmallVector<int64_t> places(extents.size(), 0);
  int64_t most = 0;
  for (const RowMember &member : members) {
    linalg::LinalgOp op = member.op;
    for (OpOperand &operand : op->getOpOperands()) {
      SmallVector<int> loops = loopsOf(op.getMatchingIndexingMap(&operand));
      auto found = llvm::map_to_vector(member.loops, [&](unsigned loop) {
        return int64_t(llvm::find(loops, int(loop)) - loops.begin());
      });
      if (llvm::is_contained(found, int64_t(loops.size())) ||
          elementsOf(operand.get()) <= most)
        continue;
      most = elementsOf(operand.get());
      places = std::move(found);
    }
  }
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, extents.size()));
  auto keyOf = [&](unsigned row) {
    bool summed = isNested() && llvm::any_of(members, [&](RowMember &member) {
                    return member.sumsOver(row);
                  });
    return std::pair(summed, places[row]);
  };
  llvm::sort(order,
             [&](unsigned a, unsigned b) { return keyOf(a) < keyOf(b); });
  auto reorder = [&](auto &numbers) {
    auto old = numbers;
    for (auto [i, from] : llvm::enumerate(order))
      numbers[i] = old[from];
  };
  reorder(extents);
  for (RowMember &member : members)
    reorder(member.loops);
}

} // namespace stagewright::bodies
