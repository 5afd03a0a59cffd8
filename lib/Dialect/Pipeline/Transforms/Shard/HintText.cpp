//===- HintText.cpp - the hints of an option ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HintText.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::pipeline {

/// More than dimensions have; products with numbers of shards fit 64 bits.
static constexpr int64_t kMostChunks = 1 << 24;

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
    if (!chunks.empty() && (chunks.getAsInteger(10, layout.outer) ||
                            layout.outer < 1 || layout.outer > kMostChunks))
      return fail("'" + chunks + "' is not a number of chunks");
    if (!unit.empty() && (unit.getAsInteger(10, layout.unit) ||
                          layout.unit < 1 || layout.unit > kMostChunks))
      return fail("'" + unit + "' is not a size of units");
  }
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(names);
  if (!glob)
    return fail(llvm::toString(glob.takeError()));
  return Hint{text.str(), std::move(*glob), std::move(layouts), isAuto};
}

FailureOr<std::vector<Hint>> readHints(Location loc, StringRef hints,
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

} // namespace stagewright::pipeline
