//===- Hints.cpp - how parameters are split -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hints.h"
#include "../SplitHints.h"
#include "HintText.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {
namespace {

/// An argument of the step, usually a parameter.
struct Parameter {
  func::FuncOp step;
  unsigned number = 0;

  StringRef name() {
    auto value =
        step.getArgAttrOfType<StringAttr>(number, PipelineDialect::kName);
    return value ? value.getValue() : StringRef();
  }
  bool isOne() { return role() == Role::Parameter; }
  bool isBatch() { return role() == Role::Batch; }
  std::optional<Role> role() { return argumentRole(step, number); }
  /// The last of `layouts` (by axis), or an error that names `source` if the
  /// argument cannot be split so over `axis`.
  FailureOr<Layout> take(ArrayRef<Layout> layouts, ShardAxis axis,
                         const Twine &source);
  /// How the model's file splits it over the axes up to `axis`; no layouts if
  /// it does not split it over `axis`.
  SmallVector<Layout, 2> own(ShardAxis axis);
  /// Whether `hint` splits this argument, a batch or a constant: it has exactly
  /// its name.
  bool isNamedBy(const Hint &hint) {
    return (isBatch() || role() == Role::Constant) && !hint.isAuto &&
           !name().empty() && StringRef(hint.text).rsplit('=').first == name();
  }
};

} // namespace

std::string ShardAxis::text() const {
  std::string shards = std::to_string(ways()) + " shards";
  return isOfGrid()
             ? shards + " of the " + (number ? "second" : "first") + " axis"
             : shards;
}

/// The layout of a batch of `type` over the last axis of `layouts`. If earlier
/// axes split the same dimension, the last axis splits each of their parts, as
/// a chunk, because a batch stays one argument. Nothing, with a reason in
/// `why`, if these parts are not equal, or not contiguous.
static std::optional<Layout> insideParts(RankedTensorType type,
                                         ArrayRef<Layout> layouts,
                                         ShardAxis axis, std::string &why) {
  Layout layout = layouts.back();
  for (auto [before, ways] : llvm::zip(layouts.drop_back(), axis.sizes)) {
    if (!layout.isSplit() || !before.isSplit() || before.dim != layout.dim)
      continue;
    bool isRow = before.outer == 1;
    if (!isRow ||
        (type && before.unit > 1 && !fitsEvenly(type, before, ways))) {
      why = (isRow ? "the first axis splits dimension "
                   : "the first axis splits chunks of dimension ") +
            std::to_string(layout.dim) +
            (isRow ? ", in units of " + std::to_string(before.unit) +
                         ", into parts that are not equal"
                   : "");
      return std::nullopt;
    }
    layout.outer *= ways;
  }
  return layout;
}

FailureOr<Layout> Parameter::take(ArrayRef<Layout> layouts, ShardAxis axis,
                                  const Twine &source) {
  auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[number]);
  std::string why;
  std::optional<Layout> inside =
      isBatch() ? insideParts(type, layouts, axis, why) : layouts.back();
  Layout layout = inside.value_or(layouts.back());
  if (!layout.isSplit())
    return layout;
  if (inside && type && fits(type, layout, axis.ways())) {
    if (fitsEvenly(type, layout, axis.ways()))
      layout.unit = 1;
    return layout;
  }
  auto error = emitError(step.getLoc());
  bool isPart = bool(step.getArgAttr(number, PipelineDialect::kSliceWays));
  error << stringifyRole(*role()) << " '" << name() << "' of type "
        << step.getArgumentTypes()[number]
        << (isPart ? " (in a shard of the first axis)" : "")
        << " cannot be split over " << axis.text() << " by " << source << ": ";
  if (!type || layout.dim >= type.getRank())
    return error << "it has no dimension " << layout.dim;
  if (!inside)
    return error << why << ", and the second cannot split these parts of a "
                 << "batch; give one of them another dimension or 'whole'";
  error << "dimension " << layout.dim << " must be ";
  if (int64_t multiple = layout.outer * layout.unit; multiple != 1)
    error << "a multiple of " << multiple << ", and ";
  return error << "at least " << layout.outer * axis.ways() * layout.unit
               << ", got " << type.getDimSize(layout.dim);
}

SmallVector<Layout, 2> Parameter::own(ShardAxis axis) {
  SmallVector<Layout, 2> layouts;
  if (!axis.isOfGrid()) {
    if (std::optional<OwnSplit> own = ownSplit(step, number, -1))
      layouts.push_back(own->layout);
    return layouts;
  }
  for (unsigned i = 0; i <= axis.number; ++i)
    layouts.push_back(ownSplit(step, number, i).value_or(OwnSplit()).layout);
  return layouts.back().isSplit() ? layouts : SmallVector<Layout, 2>();
}

/// The layout of argument `parameter` for a split that follows from a
/// constraint: `layout` or, if the first axis has split the argument along the
/// same dimension, the layout of its part. Nothing if a part does not consist
/// of whole factors, or if the shards of `axis` would not have equal parts.
static std::optional<Layout> derivedLayout(Parameter parameter, Layout layout,
                                           ShardAxis axis) {
  func::FuncOp step = parameter.step;
  auto first = [&](StringRef name) {
    auto list =
        step.getArgAttrOfType<DenseI64ArrayAttr>(parameter.number, name);
    return list && !list.empty() ? list[0] : -1;
  };
  auto type =
      dyn_cast<RankedTensorType>(step.getArgumentTypes()[parameter.number]);
  if (!type || layout.dim >= type.getRank() || layout.unit < 1)
    return std::nullopt;
  if (first(PipelineDialect::kSliceDim) == layout.dim) {
    int64_t ways = first(PipelineDialect::kSliceWays);
    int64_t outer = first(PipelineDialect::kSliceOuter);
    int64_t part = type.getDimSize(layout.dim) / outer, before = part * ways;
    int64_t chunk = before * outer / layout.outer;
    if (chunk < 1)
      return std::nullopt;
    if (layout.outer == outer ? part % layout.unit != 0 : part % chunk != 0) {
      if (layout.unit % before != 0) // Else the factor lies outside.
        return std::nullopt;
      layout.unit /= ways;
    } else if (layout.outer != outer) {
      layout.outer /= ways;
    }
  }
  return fitsEvenly(type, layout, axis.ways()) ? std::optional(layout)
                                               : std::nullopt;
}

namespace {

/// Reads the layouts of all arguments of a step over one axis.
class LayoutReader {
public:
  LayoutReader(func::FuncOp step, std::vector<Hint> hints, ShardAxis axis)
      : step(step), hints(std::move(hints)), all(axis), axis(axis),
        number(axis.isOfGrid() ? int64_t(axis.number) : -1) {
    result.layouts.resize(step.getNumArguments());
    result.isStated.resize(step.getNumArguments());
  }

  FailureOr<HintedLayouts> run();

private:
  /// Whether neither a hint nor the model's file says how parameters are split.
  bool saysNothing();
  /// Finds the parameters with a derived split that is not followed, because
  /// it does not split every part that the first axis leaves into equal parts.
  void findUnfit();
  /// Reads a batch or a constant.
  LogicalResult readNamed(Parameter argument);
  LogicalResult readParameter(Parameter parameter);
  /// The layout that the model's file states; nothing if it states none that
  /// can be followed.
  FailureOr<std::optional<Layout>> readOwn(Parameter parameter);
  /// Fails, or emits a remark, if the model's file or a constraint splits the
  /// parameter over one axis and the shards form a grid, or over a grid and the
  /// shards form one axis.
  LogicalResult checkAxes(Parameter parameter);
  void remarkOnce(bool &isNoted, const Twine &text);
  int64_t positionOf(Parameter parameter);

  func::FuncOp step;
  std::vector<Hint> hints;
  ShardAxis all;
  ShardAxis axis; ///< Of the argument that is read.
  int64_t number; ///< Of the axis, as in ownSplit().
  bool isOpen = false;
  HintedLayouts result;
  /// By position of a parameter that findUnfit() finds: the type of the part
  /// that would not be split equally.
  std::map<int64_t, Type> unfit;
  llvm::StringSet<> whole; ///< Parameters that a remark reports as whole.
  bool notedGrid = false, notedAxis = false; ///< Of checkAxes().
};

} // namespace

void LayoutReader::remarkOnce(bool &isNoted, const Twine &text) {
  if (!std::exchange(isNoted, true))
    emitRemark(step.getLoc()) << text;
}

int64_t LayoutReader::positionOf(Parameter parameter) {
  auto position = step.getArgAttrOfType<IntegerAttr>(
      parameter.number, PipelineDialect::kPosition);
  return position ? position.getInt() : int64_t(parameter.number);
}

LogicalResult LayoutReader::checkAxes(Parameter parameter) {
  bool isOverGrid = isSplitOverGrid(step, parameter.number);
  auto dim = step.getArgAttrOfType<IntegerAttr>(parameter.number,
                                                PipelineDialect::kSplitDim);
  std::string name = parameter.name().str();
  bool isDerived = dim && ownSplit(step, parameter.number, -1)->isDerived;
  if (axis.isOfGrid() && isDerived) {
    notedAxis |= axis.number > 0; // The first axis notes it.
    remarkOnce(notedAxis,
               "a constraint would split dimension " + Twine(dim.getInt()) +
                   " of parameter '" + name +
                   "' over one axis, but the shards "
                   "form a grid of " +
                   Twine(axis.sizes.size()) +
                   " axes; it stays whole; to follow constraints, import the "
                   "model with --shard-axis=AXIS,AXIS");
  } else if (axis.isOfGrid() && dim) {
    return emitError(step.getLoc())
           << "the model's own file splits parameter '" << name
           << "' over one axis, along dimension " << dim.getInt()
           << ", but the shards form a grid of " << axis.sizes.size()
           << " axes; import the model with --shard-axis=AXIS,AXIS, or let a "
           << "hint have an entry for each axis, such as --shard='" << name
           << "=" << dim.getInt() << ";whole'";
  }
  if (!axis.isOfGrid() && isOverGrid)
    remarkOnce(notedGrid,
               "the model's own file splits parameter '" + name +
                   "' over two axes, which is not followed, since layers are "
                   "split over one axis of " +
                   Twine(axis.ways()) +
                   " shards; give --tensor-parallel=ROWSxCOLUMNS, or import "
                   "the model with --shard-axis=AXIS");
  return success();
}

bool LayoutReader::saysNothing() {
  if (!hints.empty() || axis.isOfGrid())
    return false;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (auto own = ownSplit(step, i, number);
        own && !own->isDerived && !Parameter{step, i}.isBatch())
      return false;
  return true;
}

void LayoutReader::findUnfit() {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter parameter{step, i};
    axis = all.of(i);
    std::optional<OwnSplit> own = ownSplit(step, i, number);
    if (parameter.isOne() && own && own->isDerived &&
        !derivedLayout(parameter, own->layout, axis))
      unfit.try_emplace(positionOf(parameter), step.getArgumentTypes()[i]);
  }
}

LogicalResult LayoutReader::readNamed(Parameter argument) {
  bool isBatch = argument.isBatch();
  auto hint = llvm::find_if(
      hints, [&](const Hint &it) { return argument.isNamedBy(it); });
  SmallVector<Layout, 2> stated = argument.own(axis);
  FailureOr<Layout> layout = Layout();
  if (hint != hints.end()) {
    hint->used = true;
    layout = argument.take(hint->layouts, axis, "'" + hint->text + "'");
  } else if (axis.isOfGrid() && isBatch && !stated.empty()) {
    layout = argument.take(stated, axis, "the model's own file");
  } else {
    return success();
  }
  if (failed(layout))
    return failure();
  if (!isBatch) {
    result.layouts[argument.number] = *layout;
    return success();
  }
  result.batches.resize(step.getNumArguments());
  result.batches[argument.number] = *layout;
  return success();
}

FailureOr<std::optional<Layout>> LayoutReader::readOwn(Parameter parameter) {
  if (failed(checkAxes(parameter)))
    return failure();
  SmallVector<Layout, 2> stated = parameter.own(axis);
  if (stated.empty())
    return std::optional<Layout>();
  if (ownSplit(step, parameter.number, number)->isDerived) {
    if (auto found = unfit.find(positionOf(parameter)); found != unfit.end()) {
      if (axis.isOfGrid() && whole.insert(parameter.name()).second)
        emitRemark(step.getLoc())
            << "a constraint would split dimension " << stated.back().dim
            << " of parameter '" << parameter.name() << "', here of type "
            << found->second << ", but not into equal parts for " << axis.text()
            << "; it stays whole over this axis";
      return std::optional<Layout>();
    }
    stated.back() = *derivedLayout(parameter, stated.back(), axis);
  }
  FailureOr<Layout> layout =
      parameter.take(stated, axis, "the model's own file");
  if (failed(layout))
    return failure();
  return std::optional(*layout);
}

LogicalResult LayoutReader::readParameter(Parameter parameter) {
  unsigned i = parameter.number;
  auto hint = llvm::find_if(
      hints, [&](const Hint &it) { return it.names.match(parameter.name()); });
  bool isAuto = isOpen;
  if (hint != hints.end()) {
    hint->used = true;
    isAuto = hint->isAuto;
    result.isStated[i] = !isAuto;
    auto layout = parameter.take(hint->layouts, axis, "'" + hint->text + "'");
    if (failed(layout))
      return failure();
    result.layouts[i] = *layout;
  } else {
    auto layout = readOwn(parameter);
    if (failed(layout))
      return failure();
    if (*layout) {
      result.layouts[i] = **layout;
      result.isStated[i] = true;
      isAuto = false;
    }
  }
  if (isAuto)
    result.open.push_back(i);
  return success();
}

FailureOr<HintedLayouts> LayoutReader::run() {
  isOpen = saysNothing();
  findUnfit();
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter argument{step, i};
    axis = all.of(i);
    if (failed(argument.isOne() ? readParameter(argument)
                                : readNamed(argument)))
      return failure();
  }
  for (const Hint &hint : hints)
    if (!hint.used)
      return emitError(step.getLoc())
             << "no parameter has a name like '" << hint.text << "'";
  return std::move(result);
}

FailureOr<HintedLayouts> readLayouts(func::FuncOp step, StringRef hints,
                                     ShardAxis all) {
  ShardAxis axis = all;
  FailureOr<std::vector<Hint>> list = readHints(step.getLoc(), hints, axis);
  if (failed(list))
    return failure();
  return LayoutReader(step, std::move(*list), axis).run();
}

} // namespace stagewright::pipeline
