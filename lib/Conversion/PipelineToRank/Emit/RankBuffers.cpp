//===- RankBuffers.cpp - buffers of a rank --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

using pipeline::PipelineDialect;
using stagewright::rank::BufferKind;
using stagewright::rank::RankDialect;

MemRefType memoryOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

int64_t depthOf(const RingDepth &depth, int64_t stride) {
  return depth.all ? stride * RankDialect::kAll : depth.slots;
}

static Place placeOf(IntegerAttr position, IntegerAttr slice, int64_t index) {
  Place place{position ? position.getInt() : index, std::nullopt};
  if (slice)
    place.slice = slice.getInt();
  return place;
}

Value RankEmitter::declare(Twine name, BufferKind kind,
                           std::optional<Place> place, int64_t depth,
                           MemRefType type, bool onHost) {
  std::string unique = name.str();
  for (unsigned copy = 1; !bufferNames.insert(unique).second; ++copy)
    unique = (name + "." + Twine(copy)).str();
  auto number = [&](std::optional<int64_t> value) {
    return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
  };
  auto kindAttr = rank::BufferKindAttr::get(builder.getContext(), kind);
  return rank::BufferOp::create(
      builder, loc, rank::BufferType::get(builder.getContext()),
      builder.getStringAttr(unique), kindAttr,
      number(place ? std::optional(place->position) : std::nullopt),
      number(place ? place->slice : std::nullopt),
      builder.getI64IntegerAttr(depth), TypeAttr::get(type), IntegerAttr(),
      DenseI64ArrayAttr(), onHost ? builder.getUnitAttr() : UnitAttr(),
      /*own=*/IntegerAttr(), /*weight=*/FloatAttr(),
      /*turns=*/DenseI64ArrayAttr(), /*period=*/IntegerAttr());
}

LogicalResult RankEmitter::declareArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  pipeline::GraphOp graph = plan.graph;
  auto string = [&](StringRef name) {
    auto value = graph.getArgAttrOfType<StringAttr>(index, name);
    return value ? value.getValue() : StringRef();
  };
  auto number = [&](StringRef name) {
    return graph.getArgAttrOfType<IntegerAttr>(index, name);
  };
  StringRef role = string(PipelineDialect::kRole);
  std::optional<BufferKind> kind = rank::symbolizeBufferKind(role);
  bool isArgument = kind && *kind <= BufferKind::Microbatch;
  if (!isArgument)
    return emitError(graph.getLoc())
           << "argument " << index << " has role \"" << role
           << "\", for which a rank has no buffer";
  std::optional<Place> place;
  if (*kind != BufferKind::Microbatch)
    place = placeOf(number(PipelineDialect::kPosition),
                    number(PipelineDialect::kSlice), index);
  std::string name = string(PipelineDialect::kName).str();
  if (name.empty())
    name = "argument" + std::to_string(index);
  if (place && place->slice)
    name += "." + std::to_string(*place->slice);
  bool all = *kind == BufferKind::Batch || *kind == BufferKind::Microbatch;
  arguments[index] = declare(name, *kind, place, all ? RankDialect::kAll : 1,
                             memoryOf(argument.getType()));
  return success();
}

LogicalResult RankEmitter::declareArguments() {
  pipeline::GraphOp graph = plan.graph;
  for (BlockArgument argument : graph.getBody().getArguments())
    if (plan.reads(rank, argument) && failed(declareArgument(argument)))
      return failure();
  return success();
}

/// Whether one slot is enough for result `index`: only the value of the last
/// microbatch is used, and that microbatch runs last.
bool RankEmitter::keepsLastOnly(int64_t index) const {
  if (plan.combineOf(index) != pipeline::Combine::Last)
    return false;
  if (plan.family)
    return true;
  std::map<std::pair<char, int64_t>, int64_t> latest;
  for (const Action &action : plan.data.ranks[rank])
    latest[{letter(action.kind), action.stage}] = action.microbatch;
  return llvm::all_of(latest, [&](const auto &entry) {
    return entry.first.first == 'U' ||
           entry.second + 1 == plan.data.microbatches;
  });
}

/// The name of result `index` of the graph: its role, and its name or index.
static std::string nameOfResult(pipeline::GraphOp graph, int64_t index) {
  auto name =
      graph.getResultAttrOfType<StringAttr>(index, PipelineDialect::kName);
  std::optional<pipeline::Role> role = resultRole(graph, index);
  std::string prefix = role ? stringifyRole(*role).str() : "result";
  if (!name || name.getValue().empty())
    return prefix + std::to_string(index);
  return name.getValue() == prefix ? prefix
                                   : prefix + "/" + name.getValue().str();
}

static Place placeOfResult(pipeline::GraphOp graph, int64_t index) {
  return placeOf(
      graph.getResultAttrOfType<IntegerAttr>(index, PipelineDialect::kPosition),
      graph.getResultAttrOfType<IntegerAttr>(index, PipelineDialect::kSlice),
      index);
}

void RankEmitter::declareAccumulator(unsigned number) {
  const AccumulatorPlan &sum = plan.accumulators[number];
  if (plan.rankOfStage[sum.stage] != rank || accumulators.count(number))
    return;
  pipeline::GraphOp graph = plan.graph;
  bool kept = plan.keepsParts(sum.result);
  bool gradient = resultRole(graph, sum.result) == pipeline::Role::Gradient ||
                  (!sum.owner && !kept);
  std::string name = nameOfResult(graph, sum.result);
  if (!sum.owner)
    name += ".part" + plan.nameOfStage(sum.stage);
  std::optional<Place> place;
  bool averaged = plan.averaging && isSummed(number);
  if (sum.owner || averaged || kept)
    place = placeOfResult(graph, sum.result);
  if (place && place->slice)
    name += "." + std::to_string(*place->slice);
  accumulators[number] =
      declare(name, gradient ? BufferKind::Gradient : BufferKind::Accumulator,
              place, 1, memoryOf(graph.getResultTypes()[sum.result]));
  if (averaged || kept)
    accumulators[number].getDefiningOp<rank::BufferOp>().setWeight(APFloat(
        kept ? 1.0
             : plan.weightOf(plan.buckets[plan.bucketOfResult[sum.result]],
                             rank)));
}

void RankEmitter::declareResults() {
  pipeline::GraphOp graph = plan.graph;
  // The accumulators of a bucket must be contiguous.
  for (const BucketPlan &bucket : plan.buckets)
    if (bucket.starts.count(rank))
      for (int64_t result : bucket.results)
        declareAccumulator(plan.accumulatorOf(result, rank));
  for (unsigned number = 0; number < plan.accumulators.size(); ++number)
    declareAccumulator(number);
  for (const auto &[made, microbatches] : plan.outputs)
    if (auto [index, by] = made; by == rank) {
      Place place = placeOfResult(graph, index);
      place.slice = std::nullopt;
      outputs[index] =
          declare(nameOfResult(graph, index), BufferKind::Output, place,
                  keepsLastOnly(index) ? 1 : RankDialect::kAll,
                  memoryOf(graph.getResultTypes()[index]));
      if (plan.combineOf(index) == pipeline::Combine::Concat &&
          int64_t(microbatches.size()) < plan.data.microbatches)
        setTurns(outputs[index].getDefiningOp<rank::BufferOp>(), microbatches);
    }
}

/// Records the microbatches whose parts of a result are in `buffer`; buffers of
/// other ranks have the others.
void RankEmitter::setTurns(rank::BufferOp buffer,
                           const std::set<int64_t> &microbatches) {
  if (plan.pipelines > 1) { // For any number of microbatches.
    buffer.setTurns(ArrayRef(plan.pipelineOfRank[rank]));
    buffer.setPeriod(plan.pipelines);
    return;
  }
  buffer.setTurns(llvm::to_vector(microbatches));
  buffer.setPeriod(plan.data.microbatches);
}

void RankEmitter::declareStashes() {
  for (const auto &[value, made] : plan.values) {
    if (plan.rankOf(made.made) != rank)
      continue;
    auto node = value.getDefiningOp<pipeline::NodeOp>();
    for (const StashPlan &stash : made.stashes) {
      std::string name = (node.getNodeName() + "." +
                          Twine(cast<OpResult>(value).getResultNumber()))
                             .str();
      if (stash.stage != made.made.stage)
        name += ".stage" + plan.nameOfStage(stash.stage);
      MemRefType type = memoryOf(value.getType());
      int64_t depth = depthOf(stash.depth, plan.pipelines);
      if (auto known = gathers.find(made.gather);
          stash.gathers && known != gathers.end()) {
        stashes[{value, stash.stage}] = known->second.first;
        continue;
      }
      if (stash.gathers) {
        type = names.gathers[made.gather].getSlotType();
        depth = plan.gathers[made.gather].depth;
      }
      Value buffer = stashes[{value, stash.stage}] =
          declare(name, BufferKind::Stash, std::nullopt, depth, type);
      if (stash.gathers)
        gathers[made.gather] = {buffer, stash.first};
      ++statistics.stashes;
      if (!stash.offloaded)
        continue;
      auto beside = [&](StringRef suffix, const RingDepth &depth, bool onHost) {
        return declare(name + suffix, BufferKind::Stash, std::nullopt,
                       depthOf(depth, plan.pipelines),
                       memoryOf(value.getType()), onHost);
      };
      Value onHost = beside(".host", stash.onHost, true);
      offloaded[{value, stash.stage}] = {onHost,
                                         beside(".back", stash.back, false)};
      ++statistics.offloaded;
    }
  }
  workspace = declare(
      "workspace", BufferKind::Workspace, std::nullopt, 1,
      MemRefType::get({plan.workspaceOfRank[rank]}, builder.getI8Type()));
}

} // namespace stagewright::torank
