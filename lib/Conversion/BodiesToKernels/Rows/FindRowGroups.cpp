//===- FindRowGroups.cpp - finds operations over the same rows ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every candidate starts as a group of its own, with all its loops as row
// loops. In program order, each is then joined with the groups whose results it
// reads, or which read the same values. Joining keeps the row loops common to
// both.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/ContractionDims.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/RowGroups.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {

/// Max members of a group: larger kernels spill more than they save.
static constexpr size_t kMostMembers = 32;
/// Min elements of a value that joins two operations only because both read it.
static constexpr int64_t kSharedElements = 1024;

/// Max bytes per row of the largest value of a joined group that has fewer rows
/// than one of the two groups had. Groups with contractions have another limit.
static constexpr int64_t kLargestRow = 16 << 10;

namespace {

/// A value that joins an operation with a member of a group. For each dimension
/// of the value: the loop of the operation (`reader`) and the loop of the
/// member that index the dimension; -1: none.
struct Link {
  SmallVector<int> reader, member;
};

/// Whether `op` is a batched contraction one of whose operands, such as the
/// scores of attention, is at least twice as large as each of the other two
/// (inputs or output). Then few bytes are read by more than one block.
bool isOnScores(linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  bool batched = llvm::any_of(ContractionDims::get(maps).batch,
                              [&](unsigned dim) { return ranges[dim] > 1; });
  SmallVector<int64_t> sizes;
  for (Value operand : op->getOperands())
    sizes.push_back(cast<RankedTensorType>(operand.getType()).getNumElements());
  llvm::sort(sizes);
  return batched && sizes[2] >= 2 * sizes[1];
}

bool isCandidate(Operation *op, BlockLimits limits) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      linalgOp.getNumLoops() == 0 || linalgOp.hasDynamicShape())
    return false;
  if (auto contract = dyn_cast<linalg::ContractOp>(op))
    return limits.scores > 0 && isOnScores(contract);
  bool simple = isa<linalg::GenericOp>(op) && !isConvolution(op);
  linalgOp.getBlock()->walk([&](Operation *inner) {
    simple &= !isa<scf::SCFDialect>(inner->getDialect());
  });
  return simple;
}

class Grouper {
public:
  Grouper(Block &block, BlockLimits limits) : limits(limits) {
    for (Operation &op : block) {
      position[&op] = groupOf.size();
      ops.push_back(&op);
      groupOf.push_back(-1);
      reads.emplace_back(op.operand_begin(), op.operand_end());
      SetVector<Value> above;
      getUsedValuesDefinedAbove(op.getRegions(), above);
      reads.back().append(above.begin(), above.end());
    }
  }

  SmallVector<RowGroup> run(function_ref<bool(Operation *)> apart) {
    for (size_t i = 0; i < ops.size(); ++i)
      if (isCandidate(ops[i], limits) && !(apart && apart(ops[i])))
        place(i);
    SmallVector<RowGroup> found;
    for (RowGroup &group : groups)
      if (group.members.size() > 1) {
        RowGroup blocked = group.withoutContiguous();
        if (blocked.bytesPerRow() * blocked.numRows() < limits.fewest)
          continue;
        blocked.sortRows();
        found.push_back(std::move(blocked));
      }
    return found;
  }

private:
  int numberOf(Value value) const {
    Operation *maker = value.getDefiningOp();
    auto it = position.find(maker);
    return maker && it != position.end() ? int(it->second) : -1;
  }

  void place(unsigned number) {
    auto op = cast<linalg::LinalgOp>(ops[number]);
    RowGroup alone;
    alone.extents = op.getStaticLoopRanges();
    alone.members.push_back(
        {op, llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()))});
    groupOf[number] = groups.size();
    groups.push_back(std::move(alone));

    auto link = [&](Value value, SmallVector<int> reader) {
      if (int maker = numberOf(value); maker >= 0 && groupOf[maker] >= 0) {
        auto made = cast<linalg::LinalgOp>(ops[maker]);
        AffineMap map =
            made.getIndexingMapMatchingResult(cast<OpResult>(value));
        join(number, maker, {std::move(reader), loopsOf(map)});
        return;
      }
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || type.getNumElements() < kSharedElements)
        return;
      auto [last, isNew] = lastReader.try_emplace(value, number, reader);
      if (isNew)
        return;
      join(number, last->second.first, {reader, last->second.second});
      last->second = {number, std::move(reader)};
    };
    for (OpOperand *input : op.getDpsInputOperands())
      link(input->get(), loopsOf(op.getMatchingIndexingMap(input)));
    for (OpOperand &init : op.getDpsInitsMutable())
      if (int maker = numberOf(init.get()); maker >= 0 && groupOf[maker] >= 0)
        link(init.get(), loopsOf(op.getMatchingIndexingMap(&init)));
    for (tensor::ExtractOp gather : gathersOf(op))
      link(gather.getTensor(), loopsOf(gather, op));
  }

  /// Joins the groups of `reader` and `other` if they have row loops in common.
  void join(unsigned reader, unsigned other, const Link &link) {
    unsigned to = groupOf[other], from = groupOf[reader];
    if (to == from ||
        groups[to].members.size() + groups[from].members.size() > kMostMembers)
      return;
    auto memberOf = [](const RowGroup &group, Operation *op) {
      return llvm::find_if(
                 group.members,
                 [&](const RowMember &member) { return member.op == op; }) -
             group.members.begin();
    };
    size_t readerIndex = memberOf(groups[from], ops[reader]);
    size_t otherIndex = memberOf(groups[to], ops[other]);

    // Pairs of row loops, one of each group, that index the same dimension.
    SmallVector<std::pair<unsigned, unsigned>> pairs;
    for (auto [i, loop] : llvm::enumerate(groups[to].members[otherIndex].loops))
      for (auto [a, b] : llvm::zip_equal(link.member, link.reader))
        if (a == int(loop) && b >= 0) {
          auto &loops = groups[from].members[readerIndex].loops;
          auto it = llvm::find(loops, unsigned(b));
          if (it != loops.end())
            pairs.push_back({i, it - loops.begin()});
        }
    if (pairs.empty())
      return;
    auto merged = [&](bool fromSums, bool toSums) {
      RowGroup group;
      for (auto [i, j] : pairs)
        group.extents.push_back(groups[to].extents[i]);
      for (const RowMember &member : groups[to].members) {
        RowMember next{member.op, {}, member.sums || toSums};
        for (auto [i, j] : pairs)
          next.loops.push_back(member.loops[i]);
        group.members.push_back(next);
      }
      for (const RowMember &member : groups[from].members) {
        RowMember next{member.op, {}, member.sums || fromSums};
        for (auto [i, j] : pairs)
          next.loops.push_back(member.loops[j]);
        group.members.push_back(next);
      }
      return group;
    };
    // Only a group of one operation can become a sum over rows.
    auto maySum = [&](const RowGroup &group) {
      return group.members.size() == 1 && onlyAdds(group.members[0].op);
    };
    for (bool toSums : {false, true})
      for (bool fromSums : {false, true}) {
        if ((toSums && !maySum(groups[to])) ||
            (fromSums && !maySum(groups[from])))
          continue;
        RowGroup group = merged(fromSums, toSums);
        group.keepCommonRows();
        if (accept(group, to, from)) {
          llvm::sort(group.members, [&](auto &a, auto &b) {
            return position[a.op] < position[b.op];
          });
          for (const RowMember &member : groups[from].members)
            groupOf[position[member.op]] = to;
          groups[from] = {};
          groups[to] = std::move(group);
          return;
        }
      }
  }

  bool accept(const RowGroup &group, unsigned to, unsigned from) {
    RowGroup blocked = group.withoutContiguous();
    if (blocked.numRows() < 2)
      return false;
    int64_t before = std::max(groups[to].withoutContiguous().numRows(),
                              groups[from].withoutContiguous().numRows());
    int64_t largest = group.hasContraction() ? limits.scores / 2 : kLargestRow;
    if (blocked.numRows() < before && blocked.largestPerRow() > largest)
      return false;
    return isConvex(group, to, from);
  }

  /// Whether no path between members of `group`, which joins groups `to` and
  /// `from`, leaves it, and no member reads what another sums over rows.
  bool isConvex(const RowGroup &group, int to, int from) {
    llvm::SmallDenseSet<unsigned> inside;
    llvm::SmallDenseSet<unsigned> sums;
    unsigned first = ~0u;
    for (const RowMember &member : group.members) {
      unsigned number = position[member.op];
      inside.insert(number);
      if (member.sums)
        sums.insert(number);
      first = std::min(first, number);
    }
    SmallVector<unsigned> work;
    llvm::SmallDenseSet<unsigned> seen;
    auto enter = [&](unsigned number) {
      int other = groupOf[number];
      if (other == to || other == from || other < 0) {
        if (number >= first && seen.insert(number).second)
          work.push_back(number);
        return;
      }
      // Another group becomes one loop, so a path enters all of its members.
      unsigned last = position[groups[other].members.back().op];
      if (last >= first)
        for (const RowMember &member : groups[other].members)
          if (seen.insert(position[member.op]).second)
            work.push_back(position[member.op]);
    };
    for (unsigned number : inside)
      for (Value value : reads[number])
        if (int maker = numberOf(value); maker >= 0) {
          if (sums.contains(maker))
            return false;
          if (!inside.contains(maker))
            enter(maker);
        }
    while (!work.empty()) {
      unsigned number = work.pop_back_val();
      if (inside.contains(number))
        return false;
      for (Value value : reads[number])
        if (int maker = numberOf(value); maker >= 0)
          enter(maker);
    }
    return true;
  }

  BlockLimits limits;
  SmallVector<Operation *> ops;
  SmallVector<int> groupOf;
  SmallVector<SmallVector<Value>> reads;
  DenseMap<Operation *, unsigned> position;
  SmallVector<RowGroup> groups;
  DenseMap<Value, std::pair<unsigned, SmallVector<int>>> lastReader;
};

} // namespace

SmallVector<RowGroup> findRowGroups(Block &block, BlockLimits limits,
                                    function_ref<bool(Operation *)> apart) {
  return Grouper(block, limits).run(apart);
}

} // namespace stagewright::bodies
