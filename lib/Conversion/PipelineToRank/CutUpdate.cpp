//===- CutUpdate.cpp - split an optimizer into functions of ranks ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Analysis/EqualBodies.h"

namespace stagewright::torank {

namespace {

/// Copies the operations that some values of @update need into a function.
class PartWriter {
public:
  PartWriter(Update &update, SymbolTable &symbols, const Twine &name)
      : update(update), symbols(symbols), builder(update.function.getContext()),
        loc(update.function.getLoc()), name(name.str()) {}

  /// Finds what `results` depend on, back to arguments and `given` values.
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

  /// Begins a function with arguments `inputs` of @update, `vectors`, and
  /// arguments `replaced` of @update, which it updates in place.
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

  /// Extracts the needed values of a pack from argument `index`.
  void unpack(const UpdatePack &pack, unsigned index) {
    Value vector = made.getArgument(index);
    auto whole = cast<RankedTensorType>(pack.values.front().getType());
    if (whole.getNumElements() != 1) {
      mapping.map(pack.values.front(), reshape(vector, whole));
      return;
    }
    for (auto [i, number] : llvm::enumerate(pack.values)) {
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

  /// Creates the vector of a pack: of its numbers in order, or of the elements
  /// of its only tensor.
  Value pack(const UpdatePack &pack) {
    Value first = pack.values.front();
    if (cast<RankedTensorType>(first.getType()).getNumElements() != 1)
      return reshape(mapping.lookup(first), pack.type);
    SmallVector<Value> numbers;
    for (Value number : pack.values) {
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
  /// Reshapes a vector to a tensor, or a tensor to a vector.
  Value reshape(Value value, RankedTensorType type) {
    auto from = cast<RankedTensorType>(value.getType());
    if (from == type)
      return value;
    ReassociationIndices all;
    llvm::append_range(
        all, llvm::seq<int64_t>(0, std::max(from.getRank(), type.getRank())));
    SmallVector<ReassociationIndices> groups = {all};
    if (from.getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(builder, loc, value, groups);
    return tensor::ExpandShapeOp::create(builder, loc, type, value, groups);
  }

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

/// The functions written so far. Those of the shards of a stage are mostly
/// equal; equal functions are kept once.
struct Bodies {
  SymbolTable symbols;
  pipeline::EqualBodies distinct;
};

/// Writes the function of `call`, which computes `results` from the packs of
/// the rounds before `round`. Results that replace arguments are written in
/// place; the others become packs.
void writeCall(Update &update, Bodies &bodies, const Twine &name,
               ArrayRef<Value> results, int64_t round, UpdateCall &call) {
  if (results.empty())
    return;
  call.node = name.str();
  llvm::DenseSet<Value> given;
  for (const UpdatePack &pack : update.packs)
    if (pack.round < round)
      given.insert(pack.values.begin(), pack.values.end());
  PartWriter writer(update, bodies.symbols, name);
  writer.need(results, given);
  llvm::DenseSet<unsigned> replaced(call.replaced.begin(), call.replaced.end());
  for (unsigned number : writer.arguments)
    if (!replaced.contains(number))
      call.inputs.push_back(number);
  llvm::sort(call.inputs);
  SmallVector<Type> vectors;
  for (auto [i, pack] : llvm::enumerate(update.packs))
    if (pack.round < round &&
        llvm::any_of(
            pack.values, [&](Value it) { return writer.taken.contains(it); })) {
      call.packs.push_back(i);
      vectors.push_back(pack.type);
    }
  writer.begin(call.inputs, vectors, call.replaced);
  for (auto [i, number] : llvm::enumerate(call.packs))
    writer.unpack(update.packs[number], call.inputs.size() + i);
  writer.copyOperations();
  SmallVector<Value> made;
  for (unsigned number : call.made)
    made.push_back(writer.pack(update.packs[number]));
  if (call.made.empty())
    for (Value result : results)
      made.push_back(writer.lookup(result));
  func::FuncOp body = writer.finish(made);
  call.body = bodies.distinct.find(body);
  if (call.body != body)
    bodies.symbols.erase(body);
}

/// Writes the call that makes the packs which `rank` sends in `round`.
void writeRound(Update &update, Bodies &bodies, int64_t rank, int64_t round) {
  UpdateCall &call = update.parts[rank].rounds.emplace_back();
  SmallVector<Value> values;
  for (auto [i, pack] : llvm::enumerate(update.packs))
    if (update.senderOf(pack, rank) == rank && pack.round == round) {
      call.made.push_back(i);
      llvm::append_range(values, pack.values);
    }
  std::string name = ("update.sums." + Twine(rank)).str();
  if (round > 0)
    name += "." + std::to_string(round);
  writeCall(update, bodies, name, values, round, call);
}

/// Writes the call that updates the parameters and the state of `rank`.
void writeLast(Update &update, Bodies &bodies, int64_t rank, int64_t rounds) {
  UpdateCall &call = update.parts[rank].last;
  auto end =
      cast<func::ReturnOp>(update.function.getBody().front().getTerminator());
  SmallVector<Value> results;
  for (auto [number, argument] : llvm::enumerate(update.arguments)) {
    if (argument.replacedBy < 0)
      continue;
    Value result = end.getOperand(argument.replacedBy);
    int64_t home = update.homeOf(update.function.getArgument(number));
    // Another rank owns it. State without an owner (home < 0) is updated by
    // every rank, in a copy of its own.
    if (home >= 0 && !update.owns(rank, home))
      continue;
    call.replaced.push_back(number);
    results.push_back(result);
  }
  writeCall(update, bodies, "update." + Twine(rank), results, rounds, call);
}

} // namespace

bool UpdatePart::reads(unsigned number) const {
  auto has = [&](const UpdateCall &call) {
    return llvm::is_contained(call.packs, number);
  };
  return has(last) || llvm::any_of(rounds, has);
}

int64_t Update::offsetOf(unsigned number) const {
  int64_t offset = 0;
  for (const UpdatePack &pack : ArrayRef(packs).take_front(number))
    offset +=
        llvm::alignTo(rank::getSlotBytes(MemRefType::get(
                          pack.type.getShape(), pack.type.getElementType())),
                      rank::RankDialect::kAlignment);
  return offset;
}

void cutUpdate(int64_t numRanks, Update &update) {
  Bodies bodies{SymbolTable(update.function->getParentOfType<ModuleOp>()), {}};
  int64_t rounds = 0;
  for (const UpdatePack &pack : update.packs)
    rounds = std::max(rounds, pack.round + 1);
  update.parts.resize(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    for (int64_t round = 0; round < rounds; ++round)
      writeRound(update, bodies, rank, round);
    writeLast(update, bodies, rank, rounds);
  }
}

LogicalResult readUpdate(ModuleOp module, Plan &plan) {
  auto function = module.lookupSymbol<func::FuncOp>("update");
  if (!function)
    return success();
  FailureOr<Update> update = placeUpdate(plan, function);
  if (failed(update))
    return failure();
  cutUpdate(plan.numRanks(), *update);
  for (const UpdatePack &pack : update->packs)
    for (int64_t rank = 0; rank < plan.numRanks(); ++rank)
      if (update->senderOf(pack, rank) == rank)
        plan.workspaceOfRank[rank] =
            std::max(plan.workspaceOfRank[rank], update->packsEnd());
  plan.update = std::move(*update);
  return success();
}

} // namespace stagewright::torank
