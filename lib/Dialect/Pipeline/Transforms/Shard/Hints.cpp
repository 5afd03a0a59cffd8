//===- Hints.cpp - how parameters are split -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hints.h"
#include "../SplitHints.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

namespace stagewright::pipeline {
namespace {

/// One hint of `--shard`.
struct Hint {
  std::string text;
  llvm::GlobPattern names;
  SmallVector<Layout, 2> layouts; ///< By axis, up to the one that is read.
  bool isAuto = false;
  bool used = false;
};

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

/// The layout of a batch in which each of the equal parts that the axes before
/// take of its dimension is split as `layouts` say for the last axis: a batch
/// stays one argument. Nothing if the parts are not in a row.
static std::optional<Layout> insideParts(ArrayRef<Layout> layouts,
                                         ShardAxis axis) {
  Layout layout = layouts.back();
  for (auto [before, ways] : llvm::zip(layouts.drop_back(), axis.sizes)) {
    if (!layout.isSplit() || !before.isSplit() || before.dim != layout.dim)
      continue;
    if (before.outer != 1)
      return std::nullopt;
    layout.outer *= ways;
  }
  return layout;
}

FailureOr<Layout> Parameter::take(ArrayRef<Layout> layouts, ShardAxis axis,
                                  const Twine &source) {
  std::optional<Layout> inside =
      isBatch() ? insideParts(layouts, axis) : layouts.back();
  Layout layout = inside.value_or(layouts.back());
  if (!layout.isSplit())
    return layout;
  auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[number]);
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
    return error << "the first axis splits chunks of dimension " << layout.dim
                 << ", and the second cannot split these parts of a batch; "
                 << "give one of them another dimension or 'whole'";
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

/// A split that follows from a constraint, as `layout` of argument `parameter`
/// or, if the first axis has split that along the same dimension, as the layout
/// of its part. Nothing if a part does not consist of whole factors, or not
/// all shards of `axis` would have equal parts.
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

static FailureOr<Hint> readHint(Location loc, StringRef text, ShardAxis axis) {
  auto fail = [&](const Twine &why) {
    return emitError(loc) << "'" << text
                          << "' does not say how a parameter is split: " << why
                          << "; write GLOB=DIM, GLOB=whole, GLOB=auto, "
                             "GLOB=DIM:CHUNKS as in */qkv=1:3, or "
                             "GLOB=DIM:CHUNKS:UNIT";
  };
  auto [names, where] = text.rsplit('=');
  SmallVector<StringRef> entries;
  where.split(entries, ';');
  if (axis.isOfGrid() && where == "whole")
    entries.resize(axis.sizes.size(), where);
  if (axis.isOfGrid() && (entries.size() != axis.sizes.size() ||
                          llvm::is_contained(entries, "auto")))
    return emitError(loc)
           << "'" << text << "' does not say how a parameter is split over a "
           << "grid; write GLOB=whole, or a dimension or 'whole' for each of "
           << "its " << axis.sizes.size() << " axes, as */w=0;1";
  if (!axis.isOfGrid() && entries.size() > 1)
    return fail("entries for several axes need a grid of shards, as of 2x2");
  if (names.empty())
    return fail("it has no name");
  bool isAuto = where == "auto";
  SmallVector<Layout, 2> layouts;
  for (StringRef entry : ArrayRef(entries).take_front(axis.number + 1)) {
    Layout &layout = layouts.emplace_back();
    if (entry == "whole" || isAuto)
      continue;
    auto [dim, rest] = entry.split(':');
    auto [chunks, unit] = rest.split(':');
    layout = Layout::split(0);
    if (dim.getAsInteger(10, layout.dim) || layout.dim < 0)
      return fail("it has no dimension");
    if (!chunks.empty() &&
        (chunks.getAsInteger(10, layout.outer) || layout.outer < 1))
      return fail("'" + chunks + "' is not a number of chunks");
    if (!unit.empty() &&
        (unit.getAsInteger(10, layout.unit) || layout.unit < 1))
      return fail("'" + unit + "' is not a size of units");
  }
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(names);
  if (!glob)
    return fail(llvm::toString(glob.takeError()));
  return Hint{text.str(), std::move(*glob), std::move(layouts), isAuto};
}

static FailureOr<std::vector<Hint>> readHints(Location loc, StringRef hints,
                                              ShardAxis axis) {
  std::vector<Hint> list;
  SmallVector<StringRef> texts;
  hints.split(texts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef text : texts) {
    FailureOr<Hint> hint = readHint(loc, text.trim(), axis);
    if (failed(hint))
      return failure();
    list.push_back(std::move(*hint));
  }
  return list;
}

/// Fails, or emits a remark, if the model's file splits the parameter over
/// another number of axes than `axis` is one of. `isNoted`: there was a remark.
static LogicalResult checkAxes(Parameter parameter, ShardAxis axis,
                               bool &isNoted) {
  func::FuncOp step = parameter.step;
  bool isOverGrid = isSplitOverGrid(step, parameter.number);
  auto dim = step.getArgAttrOfType<IntegerAttr>(parameter.number,
                                                PipelineDialect::kSplitDim);
  if (axis.isOfGrid() && dim)
    return emitError(step.getLoc())
           << "the model's own file splits parameter '" << parameter.name()
           << "' over one axis, along dimension " << dim.getInt()
           << ", but the shards form a grid of " << axis.sizes.size()
           << " axes; import the model with --shard-axis=AXIS,AXIS, or let a "
           << "hint have an entry for each axis, such as --shard='"
           << parameter.name() << "=" << dim.getInt() << ";whole'";
  if (!axis.isOfGrid() && isOverGrid && !isNoted) {
    isNoted = true;
    emitRemark(step.getLoc())
        << "the model's own file splits parameter '" << parameter.name()
        << "' over two axes, which is not followed, since layers are split "
        << "over one axis of " << axis.ways() << " shards; give "
        << "--tensor-parallel=ROWSxCOLUMNS, or import the model with "
        << "--shard-axis=AXIS";
  }
  return success();
}

FailureOr<HintedLayouts> readLayouts(func::FuncOp step, StringRef hints,
                                     ShardAxis axis) {
  FailureOr<std::vector<Hint>> list = readHints(step.getLoc(), hints, axis);
  if (failed(list))
    return failure();
  int64_t number = axis.isOfGrid() ? int64_t(axis.number) : -1;
  bool saysNothing = list->empty() && !axis.isOfGrid(), isNoted = false;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    std::optional<OwnSplit> own = ownSplit(step, i, number);
    saysNothing &= !own || own->isDerived || Parameter{step, i}.isBatch();
  }
  llvm::StringSet<> whole; // Parameters of which a remark says so.
  HintedLayouts result;
  result.layouts.resize(step.getNumArguments());
  result.isStated.resize(step.getNumArguments());
  auto setBatch = [&](unsigned i, Layout layout) {
    result.batches.resize(step.getNumArguments());
    result.batches[i] = layout;
  };
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter parameter{step, i};
    SmallVector<Layout, 2> stated = parameter.own(axis);
    bool isNamed = false;
    for (Hint &hint : *list) {
      if (!parameter.isNamedBy(hint))
        continue;
      hint.used = isNamed = true;
      FailureOr<Layout> layout =
          parameter.take(hint.layouts, axis, "'" + hint.text + "'");
      if (failed(layout))
        return failure();
      if (parameter.isBatch())
        setBatch(i, *layout);
      else
        result.layouts[i] = *layout;
      break;
    }
    if (axis.isOfGrid() && parameter.isBatch() && !isNamed && !stated.empty()) {
      FailureOr<Layout> layout =
          parameter.take(stated, axis, "the model's own file");
      if (failed(layout))
        return failure();
      setBatch(i, *layout);
    }
    if (!parameter.isOne())
      continue;
    FailureOr<Layout> layout = Layout();
    auto hint = llvm::find_if(*list, [&](const Hint &it) {
      return it.names.match(parameter.name());
    });
    bool isAuto = saysNothing;
    if (hint != list->end()) {
      hint->used = true;
      isAuto = hint->isAuto;
      result.isStated[i] = !isAuto;
      layout = parameter.take(hint->layouts, axis, "'" + hint->text + "'");
    } else if (failed(checkAxes(parameter, axis, isNoted))) {
      return failure();
    } else if (!stated.empty()) {
      bool fits = true;
      if (ownSplit(step, i, number)->isDerived) {
        auto derived = derivedLayout(parameter, stated.back(), axis);
        stated.back() = derived.value_or(stated.back());
        fits = derived.has_value();
      }
      if (fits) {
        layout = parameter.take(stated, axis, "the model's own file");
        isAuto = false;
        result.isStated[i] = true;
      } else if (axis.isOfGrid() && whole.insert(parameter.name()).second) {
        emitRemark(step.getLoc())
            << "a constraint would split dimension " << stated.back().dim
            << " of parameter '" << parameter.name() << "', here of type "
            << step.getArgumentTypes()[i] << ", but not into equal parts for "
            << axis.text() << "; it stays whole over this axis";
      }
    }
    if (failed(layout))
      return failure();
    result.layouts[i] = *layout;
    if (isAuto)
      result.open.push_back(i);
  }
  for (const Hint &hint : *list)
    if (!hint.used)
      return emitError(step.getLoc())
             << "no parameter has a name like '" << hint.text << "'";
  return result;
}

} // namespace stagewright::pipeline
