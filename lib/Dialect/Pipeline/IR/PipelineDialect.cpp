//===- PipelineDialect.cpp - the attributes an importer writes ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules for role attributes on arguments and results, checked wherever a
// function carries them.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stagewright::pipeline;

#include "stagewright/Dialect/Pipeline/IR/PipelineDialect.cpp.inc"

/// Checks that `attribute` is a string that names one of `allowed`; `what` is
/// the argument or result that has it.
template <typename Enum>
static LogicalResult verifyEnum(Operation *op, NamedAttribute attribute,
                                ArrayRef<Enum> allowed, const Twine &what) {
  auto word = dyn_cast<StringAttr>(attribute.getValue());
  auto value =
      word ? symbolizeEnum<Enum>(word.getValue()) : std::optional<Enum>();
  if (value && llvm::is_contained(allowed, *value))
    return success();
  auto names = llvm::map_range(
      allowed, [](Enum it) { return StringRef(stringifyEnum(it)); });
  return op->emitError() << "'" << attribute.getName().getValue() << "' of "
                         << what << " must be one of \""
                         << llvm::join(names, "\", \"") << "\", got "
                         << attribute.getValue();
}

/// The value of `attribute` if it is an index or an integer of at most 64 bits.
static std::optional<int64_t> numberOf(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number ||
      !(number.getType().isIndex() || (number.getType().isSignlessInteger() &&
                                       number.getValue().getBitWidth() <= 64)))
    return std::nullopt;
  return number.getInt();
}

/// Checks that `attribute` is an integer in [low, high).
static LogicalResult verifyRange(Operation *op, NamedAttribute attribute,
                                 int64_t low, int64_t high, const Twine &what) {
  std::optional<int64_t> number = numberOf(attribute.getValue());
  if (number && *number >= low && *number < high)
    return success();
  return op->emitError() << "'" << attribute.getName().getValue() << "' of "
                         << what << " must be an integer from " << low << " to "
                         << (high - 1) << ", got " << attribute.getValue();
}

/// Checks that `attribute` is a list of `count` integers in [low, high).
static LogicalResult verifyList(Operation *op, NamedAttribute attribute,
                                int64_t count, int64_t low, int64_t high,
                                const Twine &what) {
  auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  auto isInRange = [&](int64_t it) { return it >= low && it < high; };
  if (list && list.size() == count &&
      llvm::all_of(list.asArrayRef(), isInRange))
    return success();
  return op->emitError() << "'" << attribute.getName().getValue() << "' of "
                         << what << " must be a list of " << count
                         << " integers from " << low << " to " << (high - 1)
                         << ", got " << attribute.getValue();
}

/// Checks what `facts` about an argument or result of `type` that is a slice
/// over a grid of shards state about the axes that split it.
static LogicalResult verifyGridSlices(Operation *op, DictionaryAttr facts,
                                      Type type, const Twine &what) {
  using Dialect = PipelineDialect;
  auto shaped = dyn_cast<RankedTensorType>(type);
  int64_t rank = shaped ? shaped.getRank() : 0, most = int64_t(1) << 31;
  NamedAttribute ways = *facts.getNamed(Dialect::kSliceWays);
  auto list = dyn_cast<DenseI64ArrayAttr>(ways.getValue());
  int64_t axes = list ? list.size() : 0;
  if (axes < 1 || axes > Dialect::kGridAxes)
    return op->emitError() << "'" << Dialect::kSliceWays << "' of " << what
                           << " must be a list with an entry for each of at "
                           << "most " << Dialect::kGridAxes << " axes, got "
                           << ways.getValue();
  std::tuple<StringRef, int64_t, int64_t> lists[] = {
      {Dialect::kSliceWays, 2, most},
      {Dialect::kSliceDim, 0, rank},
      {Dialect::kSliceOuter, 1, most},
      {Dialect::kSliceUnit, 1, most}};
  for (auto [name, low, high] : lists) {
    std::optional<NamedAttribute> own = facts.getNamed(name);
    if (!own)
      return op->emitError() << what << " has '" << Dialect::kSliceWays
                             << "' and needs '" << name << "' for each axis";
    if (failed(verifyList(op, *own, axes, low, high, what)))
      return failure();
  }
  return success();
}

/// Checks the rules common to arguments and results: names are strings,
/// dimensions and slices fit the shape, positions are numbers.
static LogicalResult verifyShapeFacts(Operation *op, NamedAttribute attribute,
                                      Type type, const Twine &what) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  StringRef name = attribute.getName().getValue();
  int64_t rank = shaped ? shaped.getRank() : 0;
  if (name == PipelineDialect::kName && !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << "'" << name << "' of " << what
                           << " must be a string, got " << attribute.getValue();
  if (name == PipelineDialect::kPosition || name == PipelineDialect::kSlice)
    return verifyRange(op, attribute, 0, int64_t(1) << 31, what);
  if (name == PipelineDialect::kValue) {
    auto data = dyn_cast<ElementsAttr>(attribute.getValue());
    if (!data || data.getShapedType() != type)
      return op->emitError() << "'" << name << "' of " << what
                             << " must be elements of type " << type;
  }
  bool isList = isa<DenseI64ArrayAttr>(attribute.getValue());
  if (name == PipelineDialect::kSplitDim && isList)
    return verifyList(op, attribute, PipelineDialect::kGridAxes, -1, rank,
                      what);
  if (name == PipelineDialect::kSplitOuter && isList)
    return verifyList(op, attribute, PipelineDialect::kGridAxes, 1,
                      int64_t(1) << 31, what);
  if (name == PipelineDialect::kBatchDim || name == PipelineDialect::kSplitDim)
    return verifyRange(op, attribute, 0, rank, what);
  if (name == PipelineDialect::kSplitOuter)
    return verifyRange(op, attribute, 1, int64_t(1) << 31, what);
  if (name == PipelineDialect::kSlices) {
    if (rank == 0)
      return op->emitError()
             << "'" << name << "' of " << what
             << " needs a tensor with a dimension 0, got " << type;
    if (numberOf(attribute.getValue()) != shaped.getDimSize(0))
      return op->emitError()
             << "'" << name << "' of " << what << " must equal dimension 0 of "
             << type << ", got " << attribute.getValue();
  }
  return success();
}

LogicalResult
PipelineDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                          unsigned index,
                                          NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || index >= function.getNumArguments())
    return success();
  std::string what = ("argument " + Twine(index)).str();
  Type type = function.getArgumentTypes()[index];
  if (attribute.getName() == kRole) {
    if (failed(verifyEnum<Role>(op, attribute,
                                {Role::Parameter, Role::Batch, Role::Constant,
                                 Role::Seed, Role::Microbatch, Role::Gradient,
                                 Role::State},
                                what)))
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (argumentRole(function, index) == Role::Microbatch &&
        (!tensor || tensor.getRank() != 0 ||
         !tensor.getElementType().isInteger(32)))
      return op->emitError() << what << " has role \"microbatch\" and must be "
                             << "tensor<i32>, got " << type;
    return success();
  }
  if (attribute.getName() == kSliceWays)
    return verifyGridSlices(
        op, function_interface_impl::getArgAttrDict(function, index), type,
        what);
  return verifyShapeFacts(op, attribute, type, what);
}

LogicalResult PipelineDialect::verifyRegionResultAttribute(
    Operation *op, unsigned regionIndex, unsigned index,
    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || index >= function.getNumResults())
    return success();
  std::string what = ("result " + Twine(index)).str();
  Type type = function.getResultTypes()[index];
  if (attribute.getName() == kRole) {
    if (failed(verifyEnum<Role>(op, attribute,
                                {Role::Loss, Role::Gradient, Role::Output,
                                 Role::Parameter, Role::State},
                                what)))
      return failure();
    std::optional<Role> role = resultRole(function, index);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (role == Role::Loss && (!tensor || tensor.getRank() != 0 ||
                               !isa<FloatType>(tensor.getElementType())))
      return op->emitError() << what << " has role \"loss\" and must be a "
                             << "scalar tensor of floats, got " << type;
    if (role == Role::Gradient && !function.getResultAttr(index, kOf))
      return op->emitError() << what << " has role \"gradient\" and needs '"
                             << kOf << "', the number of its argument";
    return success();
  }
  if (attribute.getName() == kCombine) {
    if (failed(verifyEnum<Combine>(
            op, attribute,
            {Combine::Mean, Combine::Sum, Combine::Concat, Combine::Last},
            what)))
      return failure();
    auto shaped = dyn_cast<ShapedType>(type);
    if (combineOf(function, index) == Combine::Concat &&
        (!shaped || (shaped.hasRank() && shaped.getRank() == 0)))
      return op->emitError() << what << " is joined by \"concat\" and has no "
                             << "dimension to join along, got " << type;
    return success();
  }
  if (attribute.getName() == kOf) {
    if (failed(verifyRange(op, attribute, 0, function.getNumArguments(), what)))
      return failure();
    int64_t of = cast<IntegerAttr>(attribute.getValue()).getInt();
    std::optional<Role> role = argumentRole(function, of);
    Role own = resultRole(function, index).value_or(Role::Gradient);
    Role expected = own == Role::State ? Role::State : Role::Parameter;
    bool replaces = own == Role::Parameter || own == Role::State;
    std::string is =
        replaces ? "replaces" : ("is the " + stringifyRole(own) + " of").str();
    if (role && role != expected)
      return op->emitError()
             << what << " " << is << " argument " << of
             << ", which must have role \"" << stringifyRole(expected)
             << "\", got \"" << stringifyRole(*role) << "\"";
    auto argument = dyn_cast<ShapedType>(function.getArgumentTypes()[of]);
    auto gradient = dyn_cast<ShapedType>(type);
    if (!argument || !gradient || argument.getShape() != gradient.getShape())
      return op->emitError() << what << " " << is << " argument " << of
                             << " and must have its shape, got " << type
                             << " and " << function.getArgumentTypes()[of];
    return success();
  }
  if (attribute.getName() == kSliceWays)
    return verifyGridSlices(
        op, function_interface_impl::getResultAttrDict(function, index), type,
        what);
  return verifyShapeFacts(op, attribute, type, what);
}

/// Checks that `attribute` has an annotation, or "", for each layer of a graph.
static LogicalResult verifyAnnotations(Operation *op,
                                       NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  auto graph = dyn_cast<GraphOp>(op);
  auto forms = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!graph || !forms)
    return op->emitError() << "'" << name << "' must be a list on a "
                           << "pipeline.graph, got " << attribute.getValue();
  // Attributes are verified before the layers are.
  ArrayAttr layers = graph.getLayersAttr();
  if (layers && layers.size() != forms.size())
    return op->emitError() << "'" << name << "' must have an annotation or "
                           << "\"\" for each layer, got " << forms.size()
                           << " for " << layers.size() << " layers";
  for (Attribute each : forms) {
    auto form = dyn_cast<StringAttr>(each);
    if (!form || (!form.empty() && !parseAnnotation(form)))
      return op->emitError()
             << "'" << name << "' has " << each << ", which is not an "
             << "annotation; expected " << kAnnotationForms;
  }
  return success();
}

LogicalResult
PipelineDialect::verifyOperationAttribute(Operation *op,
                                          NamedAttribute attribute) {
  if (attribute.getName() == kMicrobatches)
    return verifyRange(op, attribute, 1, kMostMicrobatches + 1, "the module");
  if (attribute.getName() == kAnnotations ||
      attribute.getName() == kShardAnnotations)
    return verifyAnnotations(op, attribute);
  if (attribute.getName() == kGrid)
    return verifyList(op, attribute, kGridAxes, 2, int64_t(1) << 31,
                      "the step");
  if (attribute.getName() == kCluster && !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << "'" << kCluster << "' must be a string such as "
                           << "\"local:2\", got " << attribute.getValue();
  return success();
}
