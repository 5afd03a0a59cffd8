//===- CastParameters.cpp - rounding parameters once per step -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If parameters are wider than activations, each is rounded wherever it is
// multiplied: in the forward and in the backward of every microbatch. If enough
// memory is free, a rank instead keeps the rounded parameter from the beginning
// of the step to its last use, in a stash of one slot that its functions read.
// One kernel rounds several parameters of the same shape.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICECASTPARAMETERS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// The node name of the rounding calls, in traces and profiles.
constexpr StringRef kNode = "cast";

/// Rounded parameters may take 1 / kPartOfFree of the memory that a rank's plan
/// leaves free; the rest is for temporaries of its functions, which are not
/// known yet.
constexpr int64_t kPartOfFree = 2;

/// Max number of parameters that one kernel rounds: its threads hold four
/// elements of each.
constexpr size_t kTogether = 16;

/// Whether `op` only rounds the elements of its operand.
bool isRounding(Operation *op) {
  if (isa<arith::TruncFOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = generic.getBody();
  auto cast =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  return cast && cast.getIn() == body->getArgument(0);
}

/// Whether a contraction reads `value`, perhaps transposed or reshaped. Other
/// operations round their operands themselves, at no cost.
bool isMultiplied(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (pipeline::isContraction(user))
      return true;
    return pipeline::workOf(user).kind == pipeline::WorkKind::Move &&
           user->getNumResults() == 1 && isMultiplied(user->getResult(0));
  });
}

/// The type to which all uses of an argument round it, at least one of them for
/// a contraction; null if there is none.
RankedTensorType roundedType(BlockArgument argument) {
  RankedTensorType type;
  bool multiplied = false;
  for (Operation *user : argument.getUsers()) {
    if (!isRounding(user))
      return {};
    auto own = dyn_cast<RankedTensorType>(user->getResult(0).getType());
    if (!own || (type && type != own))
      return {};
    type = own;
    multiplied |= isMultiplied(user->getResult(0));
  }
  return multiplied ? type : RankedTensorType();
}

/// A parameter of one rank, and the type to which its functions round it.
struct Rounded {
  rank::BufferOp buffer;
  RankedTensorType type;
  SmallVector<OpOperand *> uses; ///< Operands of calls.
};

rank::BufferOp parameterBehind(Value slot) {
  auto op = slot.getDefiningOp<rank::SlotOp>();
  auto buffer =
      op ? op.getBuffer().getDefiningOp<rank::BufferOp>() : rank::BufferOp();
  return buffer && buffer.getKind() == rank::BufferKind::Parameter
             ? buffer
             : rank::BufferOp();
}

struct DeviceCastParametersPass
    : impl::DeviceCastParametersBase<DeviceCastParametersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
    findArguments(programs);
    std::vector<std::vector<Rounded>> plans;
    bool any = false;
    for (rank::ProgramOp program : programs) {
      plans.push_back(roundedIn(program));
      any |= !plans.back().empty();
    }
    if (!any)
      return;
    FailureOr<bool> fits = isRoom(programs, plans);
    if (failed(fits))
      return signalPassFailure();
    if (!*fits)
      return;
    for (auto [program, plan] : llvm::zip_equal(programs, plans))
      roundOnce(program, plan);
    for (auto &[function, numbers] : arguments)
      for (auto [number, type] : numbers)
        takeRounded(cast<func::FuncOp>(function), number, type);
  }

private:
  /// Finds the arguments of functions that every call sets to a parameter and
  /// every use rounds.
  void findArguments(ArrayRef<rank::ProgramOp> programs) {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<Operation *, llvm::SmallDenseSet<unsigned>> others;
    for (rank::ProgramOp program : programs)
      program->walk([&](rank::CallOp call) {
        auto body = symbols.lookup<func::FuncOp>(call.getCallee());
        if (!body || body.isDeclaration())
          return;
        auto [entry, isNew] = arguments.try_emplace(body);
        for (auto [number, input] : llvm::enumerate(call.getInputs())) {
          if (isNew)
            if (RankedTensorType type = roundedType(body.getArgument(number)))
              entry->second.insert({unsigned(number), type});
          if (!parameterBehind(input))
            others[body].insert(unsigned(number));
        }
      });
    for (auto &[function, numbers] : arguments)
      for (unsigned number : others.lookup(function))
        numbers.erase(number);
  }

  /// The parameters that functions called by `program` round.
  std::vector<Rounded> roundedIn(rank::ProgramOp program) {
    SymbolTable symbols(getOperation());
    llvm::MapVector<std::pair<Operation *, Type>, Rounded> found;
    program->walk([&](rank::CallOp call) {
      auto entry = arguments.find(symbols.lookup(call.getCallee()));
      if (entry == arguments.end())
        return;
      for (auto [number, type] : entry->second) {
        OpOperand &use = call.getInputsMutable()[number];
        rank::BufferOp buffer = parameterBehind(use.get());
        Rounded &rounded = found[{buffer, type}];
        rounded.buffer = buffer;
        rounded.type = type;
        rounded.uses.push_back(&use);
      }
    });
    std::vector<Rounded> list;
    for (auto &[key, rounded] : found)
      list.push_back(std::move(rounded));
    return list;
  }

  /// Whether every rank has enough memory, and some parameter would otherwise
  /// be rounded more than once.
  FailureOr<bool> isRoom(ArrayRef<rank::ProgramOp> programs,
                         ArrayRef<std::vector<Rounded>> plans) {
    bool isTwice = false;
    llvm::StringMap<int64_t> limits;
    for (auto cluster : getOperation().getOps<pipeline::ClusterOp>())
      for (const Device &device : pipeline::readCluster(cluster).devices)
        limits[device.name] = device.memory.value;
    FailureOr<rank::Machine> machine = rank::unroll(getOperation(), 0);
    if (failed(machine))
      return failure();
    for (auto [program, plan] : llvm::zip_equal(programs, plans)) {
      rank::ProgramOp one = program;
      int64_t bytes = 0;
      for (const Rounded &rounded : plan) {
        bytes += pipeline::bytesOf(rounded.type);
        isTwice |= rounded.uses.size() > 1 || one.getMicrobatches() > 1;
      }
      auto limit = limits.find(one.getDevice());
      if (limit == limits.end())
        continue;
      int64_t held = rank::computeMemory(one, machine->ranks[one.getRank()],
                                         one.getMicrobatches())
                         .arena();
      if (bytes > (limit->second - held) / kPartOfFree)
        return false;
    }
    return isTwice;
  }

  /// Rounds the parameters of `plan` at the beginning of the step.
  void roundOnce(rank::ProgramOp program, ArrayRef<Rounded> plan) {
    llvm::MapVector<std::pair<Type, Type>, SmallVector<std::pair<Value, Value>>>
        together;
    for (const Rounded &rounded : plan) {
      auto [source, slot] = makeSlot(program, rounded);
      together[{source.getType(), slot.getType()}].push_back({source, slot});
    }
    numRounded += plan.size();
    OpBuilder builder(program.getEntry());
    auto isBefore = [](Operation &op) {
      return isa<arith::ConstantOp, rank::SlotOp, rank::AcquireOp>(op);
    };
    builder.setInsertionPoint(
        &*llvm::find_if_not(program.getEntry().getBody().front(), isBefore));
    for (auto &[types, pairs] : together)
      for (ArrayRef rest(pairs); !rest.empty();) {
        size_t count = std::min(rest.size(), kTogether);
        SmallVector<Value> sources, slots;
        for (auto [source, slot] : rest.take_front(count)) {
          sources.push_back(source);
          slots.push_back(slot);
        }
        rest = rest.drop_front(count);
        rank::CallOp::create(
            builder, sources.front().getLoc(), roundingFunction(sources, slots),
            sources, slots, ValueRange(), /*workspace=*/Value(),
            /*workspace_offset=*/0, /*workspace_bytes=*/0, kNode);
      }
  }

  /// Makes a slot for a rounded parameter, which is live until its last use,
  /// and lets all uses read that slot. Returns the slots of the parameter and
  /// of the rounded parameter.
  std::pair<Value, Value> makeSlot(rank::ProgramOp program,
                                   const Rounded &rounded) {
    OpBuilder builder(program.getEntry());
    rank::BufferOp wide = rounded.buffer;
    Location loc = wide.getLoc();
    auto memory =
        MemRefType::get(rounded.type.getShape(), rounded.type.getElementType());
    std::string element;
    llvm::raw_string_ostream(element) << rounded.type.getElementType();
    auto buffer = rank::BufferOp::create(
        builder, loc, rank::BufferType::get(&getContext()),
        builder.getStringAttr(wide.getBufferName() + "." + element),
        rank::BufferKindAttr::get(&getContext(), rank::BufferKind::Stash),
        IntegerAttr(), IntegerAttr(), builder.getI64IntegerAttr(1),
        TypeAttr::get(memory), IntegerAttr(), DenseI64ArrayAttr(),
        /*on_host=*/UnitAttr(), /*own=*/IntegerAttr(), /*weight=*/FloatAttr(),
        /*turns=*/DenseI64ArrayAttr(), /*period=*/IntegerAttr());

    // It is live from the beginning, after slots and constants, to the last
    // use.
    Block &entry = program.getEntry().getBody().front();
    Operation *last = nullptr;
    for (OpOperand *use : rounded.uses) {
      Operation *user = entry.findAncestorOpInBlock(*use->getOwner());
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
    auto isBefore = [](Operation &op) {
      return isa<arith::ConstantOp, rank::SlotOp>(op);
    };
    builder.setInsertionPoint(&*llvm::find_if_not(entry, isBefore));
    Value source = rank::SlotOp::create(builder, loc, wide.getType(),
                                        wide.getBuffer(), Value());
    Value first = arith::ConstantIndexOp::create(builder, loc, 0);
    Value slot = rank::AcquireOp::create(builder, loc, memory,
                                         buffer.getBuffer(), first);
    for (OpOperand *use : rounded.uses)
      use->set(slot);
    builder.setInsertionPointAfter(last);
    rank::ReleaseOp::create(builder, loc, buffer.getBuffer(), first);
    return {source, slot};
  }

  /// The name of the function that rounds `sources`, which have one type, to
  /// the type of `slots`.
  StringRef roundingFunction(ArrayRef<Value> sources, ArrayRef<Value> slots) {
    auto wide = cast<MemRefType>(sources.front().getType());
    auto narrow = cast<MemRefType>(slots.front().getType());
    size_t count = sources.size();
    func::FuncOp &function = functions[{wide, narrow, count}];
    if (function)
      return function.getName();
    Location loc = sources.front().getLoc();
    OpBuilder builder(getOperation().getBodyRegion());
    auto tensors = [&](MemRefType type) {
      return SmallVector<Type>(
          count, RankedTensorType::get(type.getShape(), type.getElementType()));
    };
    function = func::FuncOp::create(
        builder, loc, ("cast." + Twine(functions.size() - 1)).str(),
        builder.getFunctionType(tensors(wide), tensors(narrow)));
    function.setPrivate();
    SymbolTable(getOperation()).insert(function);
    builder.setInsertionPointToStart(function.addEntryBlock());
    Type element = narrow.getElementType();
    SmallVector<Value> empties;
    for (size_t i = 0; i < count; ++i)
      empties.push_back(
          tensor::EmptyOp::create(builder, loc, narrow.getShape(), element));
    auto rank = unsigned(wide.getRank());
    auto op = linalg::GenericOp::create(
        builder, loc, tensors(narrow), function.getArguments(), empties,
        SmallVector<AffineMap>(2 * count, builder.getMultiDimIdentityMap(rank)),
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [&](OpBuilder &b, Location l, ValueRange in) {
          SmallVector<Value> rounded;
          for (Value value : in.take_front(count))
            rounded.push_back(arith::TruncFOp::create(b, l, element, value));
          linalg::YieldOp::create(b, l, rounded);
        });
    func::ReturnOp::create(builder, loc, op.getResults());
    return function.getName();
  }

  static void takeRounded(func::FuncOp function, unsigned number,
                          RankedTensorType type) {
    BlockArgument argument = function.getArgument(number);
    SmallVector<Operation *> roundings(argument.user_begin(),
                                       argument.user_end());
    argument.setType(type);
    for (Operation *op : roundings) {
      op->getResult(0).replaceAllUsesWith(argument);
      op->erase();
    }
    SmallVector<Type> inputs(function.getArgumentTypes());
    inputs[number] = type;
    function.setFunctionType(FunctionType::get(function.getContext(), inputs,
                                               function.getResultTypes()));
  }

  /// By function: the indices of its rounded arguments, and their types.
  llvm::MapVector<Operation *, llvm::MapVector<unsigned, RankedTensorType>>
      arguments;
  /// By types and number of parameters.
  llvm::MapVector<std::tuple<Type, Type, size_t>, func::FuncOp> functions;
};

} // namespace
} // namespace stagewright::device
