//===- FlowRates.cpp - guaranteed rates between ranks ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/IR/FlowRates.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace mlir;

namespace stagewright::rank {

ArrayAttr writeFlowRates(MLIRContext *context, const FlowRates &rates) {
  Builder builder(context);
  SmallVector<Attribute> entries;
  for (auto [ranks, rate] : rates)
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("from", builder.getI64IntegerAttr(ranks.first)),
         builder.getNamedAttr("rate", builder.getF64FloatAttr(rate)),
         builder.getNamedAttr("to", builder.getI64IntegerAttr(ranks.second))}));
  return builder.getArrayAttr(entries);
}

/// The number of ranks of an artifact, or of a module with rank programs; else
/// 0.
static int64_t numRanks(Operation *op) {
  if (auto artifact = dyn_cast<ArtifactOp>(op))
    return int64_t(artifact.getPrograms().size());
  auto module = dyn_cast<ModuleOp>(op);
  return module ? llvm::range_size(module.getOps<ProgramOp>()) : 0;
}

LogicalResult verifyFlowRates(Operation *op, Attribute attribute) {
  auto entries = dyn_cast<ArrayAttr>(attribute);
  if (!entries)
    return op->emitError() << kFlows << " must be an array, got " << attribute;
  int64_t ranks = numRanks(op);
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (Attribute element : entries) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto from = entry ? entry.getAs<IntegerAttr>("from") : IntegerAttr();
    auto to = entry ? entry.getAs<IntegerAttr>("to") : IntegerAttr();
    auto rate = entry ? entry.getAs<FloatAttr>("rate") : FloatAttr();
    if (!from || !to || !rate || entry.size() != 3 ||
        !from.getType().isInteger(64) || !to.getType().isInteger(64) ||
        from.getInt() == to.getInt() || from.getInt() < 0 || to.getInt() < 0)
      return op->emitError() << kFlows
                             << " must have a rate from one rank to another, "
                                "such as {from = 0 : i64, rate = 1.0e+06 : "
                                "f64, to = 1 : i64}, got "
                             << element;
    if (ranks > 0 && std::max(from.getInt(), to.getInt()) >= ranks)
      return op->emitError() << kFlows << " has a rate from rank "
                             << from.getInt() << " to rank " << to.getInt()
                             << ", and there are " << ranks << " ranks";
    double bytes = rate.getValueAsDouble();
    if (!(bytes > 0) || !std::isfinite(bytes))
      return op->emitError() << kFlows << " has the rate " << rate
                             << ", expected a finite number of bytes per "
                             << "second above 0";
    if (!pairs.insert({from.getInt(), to.getInt()}).second)
      return op->emitError()
             << kFlows << " has two rates from rank " << from.getInt()
             << " to rank " << to.getInt() << ", expected one";
  }
  return success();
}

} // namespace stagewright::rank
