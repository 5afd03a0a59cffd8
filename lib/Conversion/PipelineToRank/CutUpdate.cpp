//===- CutUpdate.cpp - an optimizer cut into functions of the ranks -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::torank;

namespace {

/// Copies what some values of @update need into a function of its own.
class PartWriter {
public:
  PartWriter(Update &update, SymbolTable &symbols, const Twine &name)
      : update(update), symbols(symbols), builder(update.function.getContext()),
        loc(update.function.getLoc()), name(name.str()) {}

  /// What `results` are made of, back to arguments and `given` values.
  void need(ArrayRef<Value> results, const llvm::DenseSet<Value> &given) {
    SmallVector<Value> open(results);
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (given.contains(value)) {
        taken.insert(value);
      } else if (auto argument = dyn_cast<BlockArgument>(value)) {
        arguments.insert(argument.getArgNumber());
      } else if (operations.insert(value.getDefiningOp()).second) {
        Operation *op = value.getDefiningOp();
        llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
        getUsedValuesDefinedAbove(op->getRegions(), used);
        llvm::append_range(open, used);
      }
    }
  }

  /// Begins a function with these arguments of @update, then vectors.
  void begin(ArrayRef<unsigned> inputs, ArrayRef<Type> vectors,
             ArrayRef<unsigned> replaced) {
    SmallVector<Type> types;
    for (unsigned number : inputs)
      types.push_back(update.function.getArgumentTypes()[number]);
    llvm::append_range(types, vectors);
    for (unsigned number : replaced)
      types.push_back(update.function.getArgumentTypes()[number]);
    builder.setInsertionPoint(update.function);
    made = func::FuncOp::create(builder, loc, name,
                                builder.getFunctionType(types, {}));
    made.setPrivate();
    symbols.insert(made);
    Block *block = made.addEntryBlock();
    builder.setInsertionPointToStart(block);
    for (auto [i, number] : llvm::enumerate(inputs))
      mapping.map(update.function.getArgument(number), made.getArgument(i));
    unsigned first = inputs.size() + vectors.size();
    for (auto [i, number] : llvm::enumerate(replaced)) {
      mapping.map(update.function.getArgument(number),
                  made.getArgument(first + i));
      made.setArgAttr(first + i, rank::RankDialect::kAccumulate,
                      builder.getUnitAttr());
    }
  }

  /// Reads the numbers of a pack that are needed out of argument `index`.
  void unpack(const UpdatePack &pack, unsigned index) {
    Value vector = made.getArgument(index);
    for (auto [i, number] : llvm::enumerate(pack.numbers)) {
      if (!taken.contains(number))
        continue;
      auto type = cast<RankedTensorType>(number.getType());
      auto one = RankedTensorType::get({}, type.getElementType());
      OpFoldResult at = builder.getIndexAttr(i), unit = builder.getIndexAttr(1);
      Value value = tensor::ExtractSliceOp::create(builder, loc, one, vector,
                                                   at, unit, unit);
      if (type.getRank() > 0)
        value = tensor::ExpandShapeOp::create(builder, loc, type, value,
                                              ArrayRef<ReassociationIndices>{});
      mapping.map(number, value);
    }
  }

  void copyOperations() {
    for (Operation &op : update.function.getBody().front().without_terminator())
      if (operations.contains(&op))
        builder.clone(op, mapping);
  }

  /// A vector of numbers: element i is numbers[i].
  Value pack(const UpdatePack &pack) {
    SmallVector<Value> numbers;
    for (Value number : pack.numbers) {
      Value value = mapping.lookup(number);
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getRank() > 0)
        value = tensor::CollapseShapeOp::create(
            builder, loc, RankedTensorType::get({}, type.getElementType()),
            value, ArrayRef<ReassociationIndices>{});
      numbers.push_back(value);
    }
    MLIRContext *context = builder.getContext();
    SmallVector<AffineMap> maps(numbers.size(), AffineMap::get(1, 0, context));
    maps.push_back(AffineMap::getMultiDimIdentityMap(1, context));
    Value empty = tensor::EmptyOp::create(builder, loc, pack.type.getShape(),
                                          pack.type.getElementType());
    auto choose = linalg::GenericOp::create(
        builder, loc, TypeRange{pack.type}, numbers, ValueRange{empty}, maps,
        utils::IteratorType::parallel,
        [&](OpBuilder &inner, Location at, ValueRange scalars) {
          Value chosen = scalars.front();
          Value index = linalg::IndexOp::create(inner, at, 0);
          for (auto [i, scalar] :
               llvm::enumerate(scalars.drop_back().drop_front())) {
            Value number = arith::ConstantIndexOp::create(inner, at, i + 1);
            Value here = arith::CmpIOp::create(
                inner, at, arith::CmpIPredicate::eq, index, number);
            chosen = arith::SelectOp::create(inner, at, here, scalar, chosen);
          }
          linalg::YieldOp::create(inner, at, chosen);
        });
    return choose.getResult(0);
  }

  Value lookup(Value value) { return mapping.lookup(value); }

  func::FuncOp finish(ArrayRef<Value> results) {
    func::ReturnOp::create(builder, loc, results);
    made.setFunctionType(builder.getFunctionType(
        made.getArgumentTypes(), ValueRange(results).getTypes()));
    return made;
  }

  llvm::SmallSetVector<unsigned, 16> arguments;
  llvm::DenseSet<Value> taken; ///< Given values that are needed.

private:
  Update &update;
  SymbolTable &symbols;
  OpBuilder builder;
  Location loc;
  std::string name;
  func::FuncOp made;
  IRMapping mapping;
  llvm::DenseSet<Value> seen;
  llvm::DenseSet<Operation *> operations;
};

/// Makes what `rank` sends to the others.
void writeSums(Update &update, SymbolTable &symbols, int64_t rank) {
  UpdatePart &part = update.parts[rank];
  SmallVector<Value> numbers;
  for (auto [i, pack] : llvm::enumerate(update.packs))
    if (pack.from == rank) {
      part.made.push_back(i);
      llvm::append_range(numbers, pack.numbers);
    }
  if (numbers.empty())
    return;
  PartWriter writer(update, symbols, "update.sums." + Twine(rank));
  writer.need(numbers, {});
  part.sumInputs = llvm::to_vector(writer.arguments);
  llvm::sort(part.sumInputs);
  writer.begin(part.sumInputs, {}, {});
  writer.copyOperations();
  SmallVector<Value> results;
  for (unsigned number : part.made)
    results.push_back(writer.pack(update.packs[number]));
  part.sums = writer.finish(results);
}

/// Makes what replaces the parameters and the state of `rank`.
void writeBody(Update &update, SymbolTable &symbols, int64_t rank) {
  UpdatePart &part = update.parts[rank];
  auto end =
      cast<func::ReturnOp>(update.function.getBody().front().getTerminator());
  SmallVector<Value> results;
  for (auto [number, argument] : llvm::enumerate(update.arguments)) {
    if (argument.replacedBy < 0)
      continue;
    Value result = end.getOperand(argument.replacedBy);
    int64_t home = update.homeOf(update.function.getArgument(number));
    // State of no rank in particular: every rank has its own.
    if (home >= 0 && !update.owns(rank, home))
      continue;
    part.replaced.push_back(number);
    results.push_back(result);
  }
  if (results.empty())
    return;
  llvm::DenseSet<Value> given;
  for (const UpdatePack &pack : update.packs)
    given.insert(pack.numbers.begin(), pack.numbers.end());
  PartWriter writer(update, symbols, "update." + Twine(rank));
  writer.need(results, given);
  for (unsigned number : writer.arguments)
    if (!llvm::is_contained(part.replaced, number))
      part.inputs.push_back(number);
  llvm::sort(part.inputs);
  SmallVector<Type> vectors;
  for (auto [i, pack] : llvm::enumerate(update.packs))
    if (llvm::any_of(pack.numbers,
                     [&](Value it) { return writer.taken.contains(it); })) {
      part.packs.push_back(i);
      vectors.push_back(pack.type);
    }
  writer.begin(part.inputs, vectors, part.replaced);
  for (auto [i, number] : llvm::enumerate(part.packs))
    writer.unpack(update.packs[number], part.inputs.size() + i);
  writer.copyOperations();
  SmallVector<Value> made;
  for (Value result : results)
    made.push_back(writer.lookup(result));
  part.body = writer.finish(made);
}

} // namespace

int64_t Update::offsetOf(unsigned number) const {
  int64_t offset = 0;
  for (const UpdatePack &pack : ArrayRef(packs).take_front(number))
    offset +=
        llvm::alignTo(rank::getSlotBytes(MemRefType::get(
                          pack.type.getShape(), pack.type.getElementType())),
                      rank::RankDialect::kAlignment);
  return offset;
}

void stagewright::torank::cutUpdate(int64_t numRanks, Update &update) {
  SymbolTable symbols(update.function->getParentOfType<ModuleOp>());
  update.parts.resize(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    writeSums(update, symbols, rank);
    writeBody(update, symbols, rank);
  }
}

LogicalResult stagewright::torank::readUpdate(ModuleOp module, Plan &plan) {
  auto function = module.lookupSymbol<func::FuncOp>("update");
  if (!function)
    return success();
  FailureOr<Update> update = placeUpdate(plan, function);
  if (failed(update))
    return failure();
  cutUpdate(plan.numRanks(), *update);
  for (const UpdatePack &pack : update->packs)
    plan.workspaceOfRank[pack.from] =
        std::max(plan.workspaceOfRank[pack.from], update->packsEnd());
  plan.update = std::move(*update);
  return success();
}
