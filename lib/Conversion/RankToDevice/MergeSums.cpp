//===- MergeSums.cpp - sums over the same rows in one operation -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeSums.h"
#include "RowLoops.h"
#include "RowTeams.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
namespace {

/// Whether `op` has reductions, each with a Combiner, but its last loop, over
/// the columns, is parallel.
bool isColumnSum(linalg::GenericOp op) {
  if (!op || bodies::isConvolution(op))
    return false;
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  if (op.getNumReductionLoops() == 0 ||
      types.back() == utils::IteratorType::reduction)
    return false;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (failed(matchCombiner(op, i)))
      return false;
  return true;
}

bool shareOperand(linalg::GenericOp a, linalg::GenericOp b) {
  return llvm::any_of(a.getDpsInputOperands(), [&](OpOperand *left) {
    return llvm::any_of(b.getDpsInputOperands(), [&](OpOperand *right) {
      return left->get() == right->get() &&
             a.getMatchingIndexingMap(left) == b.getMatchingIndexingMap(right);
    });
  });
}

} // namespace

bool needs(Operation *op, Operation *maker) {
  SmallVector<Operation *> open = {op};
  llvm::DenseSet<Operation *> seen;
  while (!open.empty()) {
    for (Operation *from : bodies::readsOf(open.pop_back_val())) {
      if (from == maker)
        return true;
      if (seen.insert(from).second)
        open.push_back(from);
    }
  }
  return false;
}

linalg::GenericOp mergeGenerics(linalg::GenericOp a, linalg::GenericOp b) {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<std::pair<linalg::GenericOp, SmallVector<unsigned>>> arguments;
  for (linalg::GenericOp op : {a, b}) {
    SmallVector<unsigned> numbers;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      unsigned number = 0;
      while (number < inputs.size() &&
             (inputs[number] != input->get() || maps[number] != map))
        ++number;
      if (number == inputs.size()) {
        inputs.push_back(input->get());
        maps.push_back(map);
      }
      numbers.push_back(number);
    }
    arguments.emplace_back(op, numbers);
  }
  for (linalg::GenericOp op : {a, b})
    for (OpOperand &init : op.getDpsInitsMutable()) {
      inits.push_back(init.get());
      maps.push_back(op.getMatchingIndexingMap(&init));
    }
  OpBuilder builder(b);
  auto made = linalg::GenericOp::create(
      builder, b.getLoc(), ValueRange(inits).getTypes(), inputs, inits, maps,
      a.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange values) {
        SmallVector<Value> yielded;
        for (auto &[op, numbers] : arguments) {
          IRMapping mapping;
          Block *body = op.getBody();
          for (auto [i, number] : llvm::enumerate(numbers))
            mapping.map(body->getArgument(unsigned(i)), values[number]);
          for (auto [i, sum] : llvm::enumerate(op.getRegionOutputArgs()))
            mapping.map(sum, values[inputs.size() + yielded.size() + i]);
          for (Operation &each : body->without_terminator())
            inner.clone(each, mapping);
          SmallVector<Value> own = llvm::map_to_vector(
              body->getTerminator()->getOperands(),
              [&](Value value) { return mapping.lookupOrDefault(value); });
          llvm::append_range(yielded, own);
        }
        linalg::YieldOp::create(inner, loc, yielded);
      });
  a->replaceAllUsesWith(made.getResults().take_front(a.getNumResults()));
  b->replaceAllUsesWith(made.getResults().drop_front(a.getNumResults()));
  return made;
}

namespace {

/// Whether `op` sums over `rows`, its row loops, and every operand either has
/// one element for the whole row, or is read element by element and `members`
/// read or make it in the same way.
bool isAtHand(linalg::GenericOp op, ArrayRef<unsigned> rows,
              ArrayRef<Operation *> members) {
  FailureOr<RowLoops> own = RowLoops::get(op, rows);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (failed(own) || !own->sumsRows || llvm::any_of(captured, [](Value value) {
        return isa<RankedTensorType>(value.getType());
      }))
    return false;
  auto has = [](Operation *member, Value value, ArrayRef<int> places) {
    auto linalgOp = cast<linalg::LinalgOp>(member);
    FailureOr<RowLoops> loops = RowLoops::get(member);
    return llvm::any_of(member->getOpOperands(), [&](OpOperand &operand) {
      AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
      Value there = linalgOp.isDpsInit(&operand)
                        ? Value(linalgOp.getTiedOpResult(&operand))
                        : operand.get();
      return there == value && loops->accessOf(map) == Access::Element &&
             loops->placesOf(map) == places;
    });
  };
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    Access access = own->accessOf(map);
    return access == Access::Row ||
           (access == Access::Element &&
            llvm::any_of(members, [&](Operation *member) {
              return has(member, operand->get(), own->placesOf(map));
            }));
  });
}

} // namespace

void mergeSums(SetVector<Operation *> &singles) {
  SmallVector<linalg::GenericOp> sums;
  for (Operation *op : singles)
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        isColumnSum(generic) && generic.hasPureTensorSemantics())
      sums.push_back(generic);
  for (size_t i = 0; i < sums.size(); ++i)
    for (size_t j = i + 1; sums[i] && j < sums.size(); ++j) {
      linalg::GenericOp a = sums[i], b = sums[j];
      if (a.getStaticLoopRanges() != b.getStaticLoopRanges() ||
          a.getIteratorTypesArray() != b.getIteratorTypesArray() ||
          !shareOperand(a, b) || needs(a, b) || needs(b, a))
        continue;
      linalg::GenericOp made = mergeGenerics(a, b);
      singles.remove(a);
      singles.remove(b);
      singles.insert(made);
      a.erase();
      b.erase();
      // The merged sum is in the place of the later one.
      sums[i] = nullptr;
      sums[j] = made;
    }
}

void addRowSums(const bodies::RowGroup &group,
                SmallVector<Operation *> &members) {
  SetVector<Operation *> sums;
  ArrayRef<unsigned> loops;
  for (const bodies::RowMember &member : group.members) {
    linalg::LinalgOp linalgOp = member.op;
    auto op = dyn_cast<linalg::GenericOp>(linalgOp.getOperation());
    bool isAsOthers = sums.empty() || loops == ArrayRef(member.loops);
    if (!member.sums || !op || !isAsOthers ||
        !isAtHand(op, member.loops, members))
      continue;
    sums.insert(op);
    loops = member.loops;
  }
  mergeSums(sums);
  for (Operation *op : sums) {
    markRows(op, loops);
    members.push_back(op);
    if (dealSummedRows(members))
      return;
    members.pop_back();
    op->removeAttr(kRows);
  }
}

} // namespace stagewright::device
