//===- InferRoles.cpp - pipeline-infer-roles ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitHints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Support/Limits.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_INFERROLES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// The function to partition: `@step`, or the only public function with a body,
/// which is renamed to `@step`.
static FailureOr<func::FuncOp> findStep(ModuleOp module) {
  if (auto step = module.lookupSymbol<func::FuncOp>("step")) {
    if (step.isDeclaration())
      return emitError(step.getLoc(), "@step has no body");
    return step;
  }
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration())
      candidates.push_back(function);
  if (candidates.size() == 1 && !module.lookupSymbol("step")) {
    emitRemark(candidates.front().getLoc())
        << "@" << candidates.front().getName()
        << " is taken as the step because it is the only public function";
    candidates.front().setName("step");
    return candidates.front();
  }
  InFlightDiagnostic error = emitError(module.getLoc())
                             << "no function @step, and " << candidates.size()
                             << " public functions to choose from; rename the "
                             << "one to compile to @step";
  for (func::FuncOp candidate : candidates)
    error.attachNote(candidate.getLoc())
        << "@" << candidate.getName() << " is a candidate";
  return error;
}

/// Whether a tensor of static shape has more than kMostBytes bytes.
static bool tooLarge(ShapedType type) {
  int64_t bits =
      type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 64;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bits, size, bits))
      return true;
  return bits / 8 > kMostBytes;
}

/// Checks that `value` has a static shape and at most kMostBytes bytes, and
/// that an argument is a ranked tensor. `what` names it in errors.
static LogicalResult checkType(Operation *op, Value value, const Twine &what) {
  auto name = [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, OpPrintingFlags());
    return text;
  };
  Type type = value.getType();
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && !shaped.hasStaticShape())
    return emitError(op->getLoc())
           << what << " " << name() << " has dynamic shape " << type
           << "; a step is compiled for fixed sizes: "
           << "import it with static shapes";
  if (shaped && tooLarge(shaped))
    return emitError(op->getLoc()) << what << " " << name() << " has more than "
                                   << kMostBytes << " bytes: " << type;
  if (isa<BlockArgument>(value) && !isa<RankedTensorType>(type))
    return emitError(op->getLoc())
           << what << " " << name() << " must be a ranked "
           << "tensor, got " << type;
  return success();
}

static LogicalResult checkShapes(func::FuncOp step) {
  for (BlockArgument argument : step.getArguments())
    if (failed(checkType(step, argument,
                         "argument " + Twine(argument.getArgNumber()))))
      return failure();
  for (Operation &op : step.getBody().getOps())
    for (OpResult result : op.getResults())
      if (failed(checkType(&op, result, "value")))
        return failure();
  for (auto [number, type] : llvm::enumerate(step.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return emitError(step.getLoc())
             << "result " << number << " must be a ranked tensor, got " << type;
  return success();
}

namespace {
struct InferRolesPass : impl::InferRolesBase<InferRolesPass> {
  using InferRolesBase::InferRolesBase;

  void runOnOperation() override {
    if (!getOperation().getOps<GraphOp>().empty())
      return;
    FailureOr<func::FuncOp> found = findStep(getOperation());
    if (failed(found) || failed(inlineCalls(*found)) ||
        failed(checkShapes(*found)))
      return signalPassFailure();
    step = *found;
    bool annotated = hasAnyRole();
    if (!annotated)
      liftConstants();
    readFacts();
    if (failed(annotated ? completeTraining() : annotateInference()) ||
        failed(checkGradients()))
      return signalPassFailure();
    setPositionsAndNames();
    if (failed(checkPositions()))
      return signalPassFailure();
    writeFacts();
    readSplitHints(step);
  }

private:
  /// Inlines the helper functions that a frontend writes.
  LogicalResult inlineCalls(func::FuncOp function) {
    bool calls = false;
    function.walk([&](func::CallOp) { calls = true; });
    if (!calls)
      return success();
    // No simplification: the step is partitioned as the importer wrote it.
    return run(createInlinerPass({}, [](OpPassManager &) {}),
               createSymbolDCEPass());
  }

  /// Reads all attributes into lists, which are changed and written back at
  /// once: the function has them in one array attribute, and every change would
  /// create a new array.
  void readFacts() {
    auto list = [](DictionaryAttr facts) {
      return facts ? NamedAttrList(facts) : NamedAttrList();
    };
    arguments.clear();
    results.clear();
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      arguments.push_back(list(step.getArgAttrDict(i)));
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      results.push_back(list(step.getResultAttrDict(i)));
  }

  void writeFacts() {
    auto dictionaries = [&](MutableArrayRef<NamedAttrList> lists) {
      return llvm::map_to_vector(lists, [&](NamedAttrList &list) {
        return list.getDictionary(&getContext());
      });
    };
    step.setAllArgAttrs(dictionaries(arguments));
    step.setAllResultAttrs(dictionaries(results));
  }

  bool hasAnyRole() {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (step.getArgAttr(i, PipelineDialect::kRole))
        return true;
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (step.getResultAttr(i, PipelineDialect::kRole))
        return true;
    return false;
  }

  /// Turns large dense constants into parameters that carry their data.
  void liftConstants() {
    Builder builder(&getContext());
    for (auto constant : llvm::make_early_inc_range(
             step.getBody().getOps<arith::ConstantOp>())) {
      auto data = dyn_cast<ElementsAttr>(constant.getValue());
      auto type = dyn_cast<RankedTensorType>(constant.getType());
      // Splats cost nothing to recompute; integers are indices and masks.
      if (!data || !type || type.getNumElements() < largeConstant ||
          !isa<FloatType>(type.getElementType()) ||
          (isa<DenseElementsAttr>(data) && data.isSplat()))
        continue;
      unsigned number = step.getNumArguments();
      auto attributes = builder.getDictionaryAttr(
          {attributeOf(&getContext(), Role::Parameter),
           builder.getNamedAttr(PipelineDialect::kValue, data)});
      if (failed(
              step.insertArgument(number, type, attributes, constant.getLoc())))
        continue;
      constant.replaceAllUsesWith(step.getArgument(number));
      constant.erase();
      ++numLifted;
    }
  }

  /// Annotates a step that has no roles as an inference graph.
  LogicalResult annotateInference() {
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      if (arguments[i].get(PipelineDialect::kRole))
        continue;
      bool scalar =
          cast<RankedTensorType>(step.getArgumentTypes()[i]).getRank() == 0;
      set(arguments[i],
          attributeOf(&getContext(), scalar ? Role::Constant : Role::Batch));
    }
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      set(results[i], attributeOf(&getContext(), Role::Output));
    completeArguments();
    completeResults();
    return success();
  }

  /// Checks that all roles are given, and fills in what follows from them.
  LogicalResult completeTraining() {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (!arguments[i].get(PipelineDialect::kRole))
        return emitError(step.getLoc())
               << "argument " << i << " has no '" << PipelineDialect::kRole
               << "' while others have one; give every argument a role, or "
               << "none for an inference graph";
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (!results[i].get(PipelineDialect::kRole))
        return emitError(step.getLoc())
               << "result " << i << " has no '" << PipelineDialect::kRole
               << "' while others have one; give every result a role, or none "
               << "for an inference graph";
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (roleOf(arguments[i]) == Role::Batch &&
          cast<RankedTensorType>(step.getArgumentTypes()[i]).getRank() == 0)
        return emitError(step.getLoc())
               << "argument " << i << " has role \"batch\" but no batch "
               << "dimension, got " << step.getArgumentTypes()[i]
               << "; its role may be \"constant\"";
    completeArguments();
    completeResults();
    return success();
  }

  void completeArguments() {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (roleOf(arguments[i]) == Role::Batch &&
          !arguments[i].get(PipelineDialect::kBatchDim))
        arguments[i].set(PipelineDialect::kBatchDim, number(0));
  }

  void completeResults() {
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      bool scalar =
          cast<RankedTensorType>(step.getResultTypes()[i]).getRank() == 0;
      if (!results[i].get(PipelineDialect::kCombine))
        set(results[i],
            attributeOf(&getContext(), roleOf(results[i]) != Role::Output
                                           ? Combine::Mean
                                       : scalar ? Combine::Last
                                                : Combine::Concat));
      auto combine = get<StringAttr>(results[i], PipelineDialect::kCombine);
      if (combine.getValue() == stringifyCombine(Combine::Concat) &&
          !results[i].get(PipelineDialect::kBatchDim))
        results[i].set(PipelineDialect::kBatchDim, number(0));
    }
  }

  /// Checks that no parameter has two gradients.
  LogicalResult checkGradients() {
    llvm::SmallDenseMap<int64_t, unsigned> seen;
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      if (roleOf(results[i]) != Role::Gradient)
        continue;
      int64_t of = get<IntegerAttr>(results[i], PipelineDialect::kOf).getInt();
      auto [entry, isNew] = seen.try_emplace(of, i);
      if (!isNew)
        return emitError(step.getLoc())
               << "results " << entry->second << " and " << i
               << " are both the gradient of argument " << of
               << "; one of them may be an \"output\"";
    }
    return success();
  }

  void setPositionsAndNames() {
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      if (!arguments[i].get(PipelineDialect::kPosition))
        arguments[i].set(PipelineDialect::kPosition, number(i));
      if (!arguments[i].get(PipelineDialect::kName))
        setWord(arguments[i], PipelineDialect::kName, nameOf(arguments[i], i));
    }
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      if (!results[i].get(PipelineDialect::kPosition))
        results[i].set(PipelineDialect::kPosition, number(i));
      if (results[i].get(PipelineDialect::kName))
        continue;
      std::string name = nameOf(results[i], i);
      if (roleOf(results[i]) == Role::Loss)
        name = "loss";
      if (auto of = get<IntegerAttr>(results[i], PipelineDialect::kOf))
        name = ("gradient/" +
                get<StringAttr>(arguments[of.getInt()], PipelineDialect::kName)
                    .getValue())
                   .str();
      setWord(results[i], PipelineDialect::kName, name);
    }
  }

  /// Checks that no two arguments, and no two results, have the same position,
  /// except for different slices of one.
  LogicalResult checkPositions() {
    auto check = [&](ArrayRef<NamedAttrList> facts, StringRef what) {
      std::map<std::pair<int64_t, int64_t>, unsigned> taken;
      for (auto [i, of] : llvm::enumerate(facts)) {
        auto slice = get<IntegerAttr>(of, PipelineDialect::kSlice);
        int64_t position =
            get<IntegerAttr>(of, PipelineDialect::kPosition).getInt();
        auto [other, isNew] = taken.insert(
            {{position, slice ? slice.getInt() : -1}, unsigned(i)});
        if (!isNew) {
          emitError(step.getLoc())
              << what << "s " << other->second << " and " << i << " both have '"
              << PipelineDialect::kPosition << "' " << position
              << "; give every " << what << " its own";
          return failure();
        }
      }
      return success();
    };
    return success(succeeded(check(arguments, "argument")) &&
                   succeeded(check(results, "result")));
  }

  template <typename Attr>
  static Attr get(const NamedAttrList &facts, StringRef name) {
    return dyn_cast_or_null<Attr>(facts.get(name));
  }
  static Role roleOf(const NamedAttrList &facts) {
    return *symbolizeRole(
        get<StringAttr>(facts, PipelineDialect::kRole).getValue());
  }
  static std::string nameOf(const NamedAttrList &facts, unsigned number) {
    return (stringifyRole(roleOf(facts)) + Twine(number)).str();
  }
  static void set(NamedAttrList &facts, NamedAttribute attribute) {
    facts.set(attribute.getName(), attribute.getValue());
  }
  void setWord(NamedAttrList &facts, StringRef name, StringRef word) {
    facts.set(name, StringAttr::get(&getContext(), word));
  }
  IntegerAttr number(int64_t value) {
    return IntegerAttr::get(IntegerType::get(&getContext(), 64), value);
  }

  func::FuncOp step;
  SmallVector<NamedAttrList> arguments, results;
};
} // namespace
} // namespace stagewright::pipeline
