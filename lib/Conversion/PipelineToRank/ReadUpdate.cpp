//===- ReadUpdate.cpp - which ranks own which part of an optimizer --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "mlir/Transforms/RegionUtils.h"

namespace stagewright::torank {

using pipeline::PipelineDialect;
using pipeline::Role;

static StringRef textOf(DictionaryAttr facts, StringRef name) {
  auto value = facts ? facts.getAs<StringAttr>(name) : StringAttr();
  return value ? value.getValue() : StringRef();
}

static std::optional<int64_t> numberOf(DictionaryAttr facts, StringRef name) {
  auto value = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

/// Arguments of the graph by (position in the step, slice); slice -1 is the
/// whole argument.
using Places = std::map<std::pair<int64_t, int64_t>, unsigned>;
static Places argumentsByPosition(pipeline::GraphOp graph, int64_t &end) {
  Places found;
  end = 0;
  for (unsigned i = 0; i < graph.getFunctionType().getNumInputs(); ++i) {
    DictionaryAttr facts = graph.getArgAttrDict(i);
    int64_t position = numberOf(facts, PipelineDialect::kPosition).value_or(i);
    end = std::max(end, position + 1);
    found[{position, numberOf(facts, PipelineDialect::kSlice).value_or(-1)}] =
        i;
  }
  return found;
}

/// Reads the roles of @update's arguments and results.
static LogicalResult readRoles(const Plan &plan, Update &update) {
  func::FuncOp function = update.function;
  pipeline::GraphOp graph = plan.graph;
  int64_t position = 0;
  Places known = argumentsByPosition(graph, position);
  update.nextPosition = position;
  std::map<unsigned, unsigned> gradients;
  for (unsigned i = 0; i < graph.getFunctionType().getNumResults(); ++i)
    if (resultRole(graph, i) == Role::Gradient)
      if (auto of = numberOf(graph.getResultAttrDict(i), PipelineDialect::kOf))
        gradients[*of] = i;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    DictionaryAttr facts = function.getArgAttrDict(index);
    UpdateArgument it;
    std::optional<Role> role = pipeline::roleIn(facts);
    it.name = textOf(facts, PipelineDialect::kName).str();
    it.slice = numberOf(facts, PipelineDialect::kSlice);
    for (StringRef name :
         {PipelineDialect::kSlice, PipelineDialect::kSliceDim,
          PipelineDialect::kSliceOuter, PipelineDialect::kSliceUnit,
          PipelineDialect::kSliceParts, PipelineDialect::kSliceWays})
      if (Attribute value = facts ? facts.get(name) : Attribute())
        it.sliceFacts.emplace_back(StringAttr::get(function.getContext(), name),
                                   value);
    auto what = [&] {
      return function.emitError()
             << "argument " << index << " of @update, '" << it.name << "', ";
    };
    auto shared = numberOf(facts, PipelineDialect::kOf);
    if (role == Role::State && shared) {
      auto own = known.find({*shared, -1});
      if (own == known.end() ||
          graph.getFunctionType().getInput(own->second) != argument.getType())
        return what() << "has type " << argument.getType()
                      << " and must name, by '" << PipelineDialect::kOf
                      << "', an argument of the step of that type";
      it.number = own->second, it.ofStep = true;
    } else if (role == Role::State || role == Role::Constant) {
      it.position = it.slice.value_or(0) > 0 ? position - 1 : position++;
      update.nextPosition = position;
    } else if (role == Role::Parameter || role == Role::Gradient) {
      auto of = numberOf(facts, PipelineDialect::kOf);
      auto parameter =
          of ? known.find({*of, it.slice.value_or(-1)}) : known.end();
      if (parameter == known.end())
        return what() << "must name, by '" << PipelineDialect::kOf
                      << "', a parameter of the step with the same '"
                      << PipelineDialect::kSlice << "', if any";
      auto gradient = gradients.find(parameter->second);
      if (gradient == gradients.end())
        return what() << "belongs to argument " << *of
                      << " of the step, which has no gradient";
      it.number =
          role == Role::Parameter ? parameter->second : gradient->second;
      bool isGradient = role == Role::Gradient;
      Type expected = isGradient
                          ? graph.getFunctionType().getResult(gradient->second)
                          : graph.getFunctionType().getInput(parameter->second);
      if (argument.getType() != expected)
        return what() << "has type " << argument.getType() << ", "
                      << (isGradient ? "the gradient of " : "") << "argument "
                      << *of << " of the step has " << expected;
    } else {
      return what() << "must have a role: parameter, gradient, state or "
                    << "constant; import the optimizer beside the step";
    }
    it.role = *role;
    update.arguments.push_back(it);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    DictionaryAttr facts = function.getResultAttrDict(i);
    auto of = numberOf(facts, PipelineDialect::kOf);
    bool fits = of && *of >= 0 && *of < int64_t(update.arguments.size());
    if (!fits || update.arguments[*of].role == Role::Gradient ||
        update.arguments[*of].replacedBy >= 0 ||
        function.getResultTypes()[i] != function.getArgumentTypes()[*of])
      return function.emitError()
             << "result " << i << " of @update must replace one parameter or "
             << "state of its type, the argument that '" << PipelineDialect::kOf
             << "' names";
    update.arguments[*of].replacedBy = i;
  }
  return success();
}

namespace {

/// Finds the owner of every value, in the order of the function.
class UpdatePlacer {
public:
  UpdatePlacer(const Plan &plan, Update &update) : plan(plan), update(update) {
    end =
        cast<func::ReturnOp>(update.function.getBody().front().getTerminator());
  }

  LogicalResult run() {
    if (failed(placeArguments()))
      return failure();
    // State belongs to the owner of the value that replaces it.
    for (bool changed = true; changed;) {
      update.packs.clear();
      sent.clear();
      for (Operation &op :
           update.function.getBody().front().without_terminator())
        if (failed(place(op)))
          return failure();
      changed = false;
      for (auto [number, argument] : llvm::enumerate(update.arguments)) {
        if (argument.role != Role::State || argument.replacedBy < 0)
          continue;
        int64_t &home = update.home[update.function.getArgument(number)];
        int64_t made = update.homeOf(end.getOperand(argument.replacedBy));
        changed |= home == Update::kFree && made >= 0;
        if (home == Update::kFree && made >= 0)
          home = made;
      }
    }
    return checkShared();
  }

private:
  LogicalResult placeArguments() {
    pipeline::GraphOp graph = plan.graph;
    DenseMap<unsigned, int64_t> owner;
    for (const UpdateArgument &argument : update.arguments)
      if (argument.role == Role::Gradient)
        if (auto of = numberOf(graph.getResultAttrDict(argument.number),
                               PipelineDialect::kOf))
          owner[*of] = ownerOf(argument.number);
    for (auto [number, argument] : llvm::enumerate(update.arguments)) {
      int64_t home = Update::kFree;
      if (argument.role == Role::Gradient)
        home = ownerOf(argument.number);
      if (argument.role == Role::Parameter) {
        auto found = owner.find(argument.number);
        if (found == owner.end())
          return update.function.emitError()
                 << "@update takes parameter '" << argument.name
                 << "', but not its gradient; give it both, or neither";
        home = found->second;
      }
      update.home[update.function.getArgument(number)] = home;
    }
    return success();
  }

  /// Checks that the step reads an owner's state on the owner's ranks only.
  LogicalResult checkShared() {
    pipeline::GraphOp graph = plan.graph;
    for (auto [number, argument] : llvm::enumerate(update.arguments)) {
      int64_t home = update.homeOf(update.function.getArgument(number));
      for (int64_t rank = 0; rank < plan.numRanks(); ++rank)
        if (argument.ofStep && home >= 0 && !update.owns(rank, home) &&
            plan.reads(rank, graph.getBody().getArgument(argument.number)))
          return update.function.emitError()
                 << "state '" << argument.name
                 << "' is computed from values of rank "
                 << update.owners[home].front()
                 << " alone, but the step reads it on rank " << rank
                 << "; compute it from numbers of all ranks, such as whether "
                 << "all gradients are finite";
    }
    return success();
  }

  /// Whether `op` joins numbers in a vector, as jnp.array does.
  static bool joins(Operation &op) {
    constexpr int64_t most = 4096;
    if (!isa<tensor::InsertSliceOp, tensor::ConcatOp, tensor::FromElementsOp>(
            op))
      return false;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    return type && type.getNumElements() <= most &&
           llvm::all_of(op.getOperandTypes(), isNumberOrVector);
  }
  static bool isNumberOrVector(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getRank() <= 1;
  }

  /// The owner of gradient `result`: the ranks that have it at the end, as a
  /// number in `update.owners`.
  int64_t ownerOf(int64_t result) {
    int64_t bucket = plan.bucketOfResult[result];
    SmallVector<int64_t> ranks = {plan.rankOfResult[result]};
    if (bucket >= 0)
      ranks = plan.buckets[bucket].ranks;
    int64_t number = llvm::find(update.owners, ranks) - update.owners.begin();
    if (number == int64_t(update.owners.size()))
      update.owners.push_back(ranks);
    return number;
  }

  static bool isNumber(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getNumElements() == 1;
  }

  LogicalResult place(Operation &op) {
    llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    llvm::SmallSetVector<int64_t, 4> owners;
    bool global = false;
    int64_t round = 0;
    for (Value value : used) {
      int64_t home = update.homeOf(value);
      global |= home == Update::kGlobal;
      if (home >= 0)
        owners.insert(home);
      round = std::max(round, rounds.lookup(value));
    }
    bool number = llvm::all_of(op.getResultTypes(), isNumber);
    int64_t home = global ? Update::kGlobal : Update::kFree;
    bool parts = llvm::all_of(used, [&](Value value) {
      return update.homeOf(value) < 0 || isNumber(value.getType());
    });
    bool joined = !owners.empty() && joins(op) && (number || parts);
    number |= joined;
    if (owners.size() == 1 && !(number && global))
      home = owners.front();
    if (owners.size() > 1 || joined || (number && global && !owners.empty())) {
      home = Update::kGlobal;
      for (Value value : used) {
        if (update.homeOf(value) < 0)
          continue;
        if (failed(send(op, value)))
          return failure();
        round = std::max(round, rounds.lookup(value) + 1);
      }
    }
    for (Value result : op.getResults()) {
      update.home[result] = home;
      rounds[result] = round;
    }
    return success();
  }

  /// The first of the ranks that own `value`.
  int64_t rankOf(Value value) const {
    return update.owners[update.homeOf(value)].front();
  }

  /// Checks that `op`, which needs values of several owners, can have those of
  /// one replica: all stages are divided alike among their replicas.
  LogicalResult checkReplicas(Operation &op) const {
    // If several stages use a parameter, a replica has several copies of it, so
    // sets of replicas are compared, not lists of ranks.
    for (ArrayRef<int64_t> ranks : update.owners) {
      ArrayRef<int64_t> first = update.owners.front();
      if (plan.replicasOf(ranks) == plan.replicasOf(first))
        continue;
      return (op.emitOpError()
              << "of the update needs gradients of all stages, but replicas "
              << "that average their parameters have gradients of their own, "
              << "and ranks [" << first
              << "] divide their stage differently from "
              << "ranks [" << ranks << "]; give all stages the same replicas "
              << "and samples, or an update without a norm over all gradients")
                 .attachNote(pipeline::ProgramOp(plan.program).getLoc())
             << "the stages are placed here";
    }
    return success();
  }

  /// Adds `value` to a pack of its owner; unless it has one element, it gets a
  /// pack of its own.
  LogicalResult send(Operation &op, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape())
      return op.emitError()
             << "the update combines a value of type " << value.getType()
             << " on rank " << rankOf(value)
             << " with values of other ranks; only tensors of static shape can "
             << "be sent";
    if (!sent.insert(value).second)
      return success();
    Type element = type.getElementType();
    if (plan.averaging && failed(checkReplicas(op)))
      return failure();
    int64_t owner = update.homeOf(value), round = rounds.lookup(value);
    bool number = isNumber(type);
    auto pack = llvm::find_if(update.packs, [&](const UpdatePack &it) {
      return number && it.owner == owner && it.round == round &&
             it.type.getElementType() == element &&
             isNumber(it.values.front().getType());
    });
    if (pack == update.packs.end())
      pack = update.packs.insert(
          update.packs.end(),
          {owner, round, RankedTensorType::get({0}, element), {}});
    pack->values.push_back(value);
    pack->type = RankedTensorType::get(
        {number ? int64_t(pack->values.size()) : type.getNumElements()},
        element);
    return success();
  }

  const Plan &plan;
  Update &update;
  func::ReturnOp end;
  llvm::DenseSet<Value> sent;
  /// By value: the number of rounds of packs that must precede it.
  llvm::DenseMap<Value, int64_t> rounds;
};

} // namespace

FailureOr<Update> placeUpdate(const Plan &plan, func::FuncOp function) {
  Update update;
  update.function = function;
  for (int64_t rank = 0; plan.averaging && rank < plan.numRanks(); ++rank)
    update.replicaOfRank.push_back(plan.replicaOfRank(rank));
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError("@update must be a function of one block");
  if (failed(readRoles(plan, update)) ||
      failed(UpdatePlacer(plan, update).run()))
    return failure();
  return update;
}

} // namespace stagewright::torank
