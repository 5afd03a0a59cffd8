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
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

namespace stagewright::pipeline {
namespace {

/// One hint of `--shard`.
struct Hint {
  std::string text;
  llvm::GlobPattern names;
  Layout layout;
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
  std::optional<Role> role() { return argumentRole(step, number); }
  /// `layout`, or an error that names `source` if it cannot be split so.
  FailureOr<Layout> take(Layout layout, int64_t ways, const Twine &source);
  /// Whether `hint` splits this argument, a batch or a constant: it has exactly
  /// its name.
  bool isNamedBy(const Hint &hint) {
    return (role() == Role::Batch || role() == Role::Constant) &&
           !hint.isAuto && !name().empty() &&
           StringRef(hint.text).rsplit('=').first == name();
  }
};

} // namespace

FailureOr<Layout> Parameter::take(Layout layout, int64_t ways,
                                  const Twine &source) {
  if (!layout.isSplit())
    return layout;
  auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[number]);
  if (type && fits(type, layout, ways)) {
    if (fitsEvenly(type, layout, ways))
      layout.unit = 1;
    return layout;
  }
  auto error = emitError(step.getLoc());
  error << stringifyRole(*role()) << " '" << name() << "' of type "
        << step.getArgumentTypes()[number] << " cannot be split over " << ways
        << " shards by " << source << ": ";
  if (!type || layout.dim >= type.getRank())
    return error << "it has no dimension " << layout.dim;
  error << "dimension " << layout.dim << " must be ";
  if (int64_t multiple = layout.outer * layout.unit; multiple != 1)
    error << "a multiple of " << multiple << ", and ";
  return error << "at least " << layout.outer * ways * layout.unit << ", got "
               << type.getDimSize(layout.dim);
}

static FailureOr<Hint> readHint(Location loc, StringRef text) {
  auto fail = [&](const Twine &why) {
    return emitError(loc) << "'" << text
                          << "' does not say how a parameter is split: " << why
                          << "; write GLOB=DIM, GLOB=whole, GLOB=auto, "
                             "GLOB=DIM:CHUNKS as in */qkv=1:3, or "
                             "GLOB=DIM:CHUNKS:UNIT";
  };
  auto [names, where] = text.rsplit('=');
  Layout layout;
  if (where.contains(';'))
    return fail("entries for several axes need a grid of shards, as of 2x2");
  if (names.empty())
    return fail("it has no name");
  bool isAuto = where == "auto";
  if (where != "whole" && !isAuto) {
    auto [dim, rest] = where.split(':');
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
  return Hint{text.str(), std::move(*glob), layout, isAuto};
}

static FailureOr<std::vector<Hint>> readHints(Location loc, StringRef hints) {
  std::vector<Hint> list;
  SmallVector<StringRef> texts;
  hints.split(texts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef text : texts) {
    FailureOr<Hint> hint = readHint(loc, text.trim());
    if (failed(hint))
      return failure();
    list.push_back(std::move(*hint));
  }
  return list;
}

FailureOr<std::string> hintsOfAxis(Location loc, StringRef hints, unsigned axis,
                                   unsigned axes) {
  SmallVector<StringRef> texts;
  hints.split(texts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string own;
  for (StringRef text : texts) {
    auto [names, where] = text.trim().rsplit('=');
    SmallVector<StringRef> entries;
    where.split(entries, ';');
    if (entries.size() == 1 && where == "whole")
      entries.resize(axes, where);
    if (entries.size() != axes || llvm::is_contained(entries, "auto"))
      return emitError(loc)
             << "'" << text.trim() << "' does not say how a parameter is split "
             << "over a grid; write GLOB=whole, or a dimension or 'whole' for "
             << "each of its " << axes << " axes, as */w=0;1";
    own += (own.empty() ? "" : ",") + (names + "=" + entries[axis]).str();
  }
  return own;
}

FailureOr<HintedLayouts> readLayouts(func::FuncOp step, StringRef hints,
                                     int64_t ways) {
  FailureOr<std::vector<Hint>> list = readHints(step.getLoc(), hints);
  if (failed(list))
    return failure();
  bool saysNothing = list->empty();
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    saysNothing &= !step.getArgAttr(i, PipelineDialect::kSplitDim) ||
                   step.getArgAttr(i, kSplitDerived);
  HintedLayouts result;
  result.layouts.resize(step.getNumArguments());
  result.isStated.resize(step.getNumArguments());
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter parameter{step, i};
    for (Hint &hint : *list) {
      if (!parameter.isNamedBy(hint))
        continue;
      hint.used = true;
      FailureOr<Layout> layout =
          parameter.take(hint.layout, ways, "'" + hint.text + "'");
      if (failed(layout))
        return failure();
      bool isBatch = parameter.role() == Role::Batch;
      if (isBatch)
        result.batches.resize(step.getNumArguments());
      (isBatch ? result.batches : result.layouts)[i] = *layout;
      break;
    }
    if (!parameter.isOne())
      continue;
    FailureOr<Layout> layout = Layout();
    auto hint = llvm::find_if(*list, [&](const Hint &it) {
      return it.names.match(parameter.name());
    });
    auto dim =
        step.getArgAttrOfType<IntegerAttr>(i, PipelineDialect::kSplitDim);
    bool isAuto = saysNothing;
    if (hint != list->end()) {
      hint->used = true;
      isAuto = hint->isAuto;
      result.isStated[i] = !isAuto;
      layout = parameter.take(hint->layout, ways, "'" + hint->text + "'");
    } else if (dim) {
      auto number = [&](StringRef attribute) {
        auto stated = step.getArgAttrOfType<IntegerAttr>(i, attribute);
        return stated ? stated.getInt() : 1;
      };
      Layout stated =
          Layout::split(dim.getInt(), number(PipelineDialect::kSplitOuter),
                        number(kSplitUnit));
      auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[i]);
      bool isDerived = bool(step.getArgAttr(i, kSplitDerived));
      if (!isDerived || (type && fitsEvenly(type, stated, ways))) {
        layout = parameter.take(stated, ways, "the model's own file");
        isAuto = false;
        result.isStated[i] = true;
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

std::string withoutNumbers(StringRef name) {
  std::string glob;
  for (char c : name)
    if (!llvm::isDigit(c))
      glob += c;
    else if (!StringRef(glob).ends_with("*"))
      glob += '*';
  return glob;
}

std::string writeHints(func::FuncOp step, ArrayRef<Layout> layouts,
                       ArrayRef<Layout> batches) {
  // By glob: the layout of all its parameters; nothing if they differ.
  llvm::StringMap<std::optional<Layout>> byGlob;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter parameter{step, i};
    if (!parameter.isOne())
      continue;
    auto [entry, isNew] =
        byGlob.try_emplace(withoutNumbers(parameter.name()), layouts[i]);
    if (!isNew && entry->second != layouts[i])
      entry->second = std::nullopt;
  }
  std::string text;
  auto write = [&](StringRef names, Layout layout) {
    if (!layout.isSplit())
      return;
    text += (text.empty() ? "" : ",") + names.str() + "=" +
            std::to_string(layout.dim);
    if (layout.outer != 1 || layout.unit != 1)
      text += ":" + std::to_string(layout.outer);
    if (layout.unit != 1)
      text += ":" + std::to_string(layout.unit);
  };
  llvm::StringSet<> written;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Parameter parameter{step, i};
    if (!parameter.isOne())
      continue;
    std::string glob = withoutNumbers(parameter.name());
    if (!byGlob[glob])
      write(parameter.name(), layouts[i]);
    else if (written.insert(glob).second)
      write(glob, layouts[i]);
  }
  for (auto [i, layout] : llvm::enumerate(batches))
    write(Parameter{step, unsigned(i)}.name(), layout);
  return text;
}

} // namespace stagewright::pipeline
