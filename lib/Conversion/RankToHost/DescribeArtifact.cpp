//===- DescribeArtifact.cpp - the facts of an artifact --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeArtifact.h"
#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Dialect/Rank/IR/FlowRates.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "stagewright/Scheduling/Channels.h"
#include "stagewright/Support/SliceAxes.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

namespace stagewright::host {

llvm::StringMap<int64_t> numberChannels(ModuleOp module) {
  llvm::StringMap<int64_t> numbers;
  for (auto channel : module.getOps<rank::ChannelOp>())
    numbers[channel.getSymName()] = numbers.size();
  return numbers;
}

llvm::StringMap<int64_t> numberCollectives(ModuleOp module) {
  llvm::StringMap<int64_t> numbers;
  for (auto sum : module.getOps<rank::CollectiveOp>())
    numbers[sum.getSymName()] = numbers.size();
  int64_t next = numbers.size();
  for (auto gather : module.getOps<rank::GatherOp>()) {
    numbers[gather.getSymName()] = next;
    next += gather.getDepth();
  }
  return numbers;
}

DenseMap<Value, int64_t> numberBuffers(rank::ProgramOp program) {
  DenseMap<Value, int64_t> numbers;
  for (auto buffer : program.getBody().getOps<rank::BufferOp>())
    numbers.try_emplace(buffer.getBuffer(), numbers.size());
  return numbers;
}

llvm::MapVector<StringAttr, int64_t> numberNodes(rank::ProgramOp program) {
  llvm::MapVector<StringAttr, int64_t> numbers;
  program.walk([&](rank::CallOp call) {
    numbers.insert({call.getNodeAttr(), int64_t(numbers.size())});
  });
  return numbers;
}

std::string dataSymbol(unsigned index) {
  return "data." + std::to_string(index);
}

namespace {

RankedTensorType tensorOf(MemRefType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

/// The text of a fact; null if there is none or it is empty.
StringAttr text(DictionaryAttr facts, StringRef name) {
  auto value = facts ? facts.getAs<StringAttr>(name) : StringAttr();
  return value && !value.empty() ? value : StringAttr();
}

int64_t number(DictionaryAttr facts, StringRef name, int64_t otherwise) {
  auto value = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : otherwise;
}

using Edge = std::pair<int64_t, int64_t>; ///< ranks: from, to

Edge edgeOf(rank::ChannelOp channel) {
  return {int64_t(channel.getFrom()), int64_t(channel.getTo())};
}

/// By edge: the round in which its two ranks create their communicator.
std::map<Edge, int64_t> roundsOf(ModuleOp module) {
  std::set<Edge> edges;
  for (auto channel : module.getOps<rank::ChannelOp>())
    edges.insert(edgeOf(channel));
  std::map<Edge, int64_t> rounds;
  for (const Channel &it : channelsOf({edges.begin(), edges.end()}))
    rounds[{it.from, it.to}] = it.round;
  return rounds;
}

/// The axes along which an argument or result with facts `of` is split over a
/// grid of shards; none if it is not.
SliceAxes axesOf(DictionaryAttr of) {
  SliceAxes axes;
  auto list = [&](StringRef name) {
    auto numbers = of ? of.getAs<DenseI64ArrayAttr>(name) : nullptr;
    return numbers ? numbers.asArrayRef() : ArrayRef<int64_t>();
  };
  for (auto [ways, dim, outer, unit] :
       llvm::zip(list(pipeline::PipelineDialect::kSliceWays),
                 list(pipeline::PipelineDialect::kSliceDim),
                 list(pipeline::PipelineDialect::kSliceOuter),
                 list(pipeline::PipelineDialect::kSliceUnit)))
    axes.push_back({ways, dim, outer, unit});
  return axes;
}

/// The axes of a tensor, from `axes` of some of its slices and from `of`, those
/// of one more. The two differ only in units, of which the larger is taken: a
/// slice whose parts along an axis are equal has a unit of 1.
SliceAxes withLargestUnits(const SliceAxes &axes, SliceAxes of) {
  for (auto [own, before] : llvm::zip(of, axes))
    own.unit = std::max(own.unit, before.unit);
  return of;
}

/// The numbers of `axes`, as SliceAxes::of() takes them.
SmallVector<int64_t> numbersOf(const SliceAxes &axes) {
  SmallVector<int64_t> numbers;
  for (const SliceAxis &axis : axes)
    numbers.append({axis.parts, axis.dim, axis.outer, axis.unit});
  return numbers;
}

/// The shape of the tensor, or of the row of a stack, that the first
/// `axes.slices()` of `slices` form together. Fails unless each of `slices` has
/// the shape that `axes` give it.
FailureOr<SmallVector<int64_t>> joinedShape(rank::StepOp step,
                                            ArrayRef<RankedTensorType> slices,
                                            const SliceAxes &axes) {
  int64_t count = axes.slices();
  std::vector<SmallVector<int64_t>> shapes;
  for (RankedTensorType slice : slices.take_front(count))
    shapes.emplace_back(slice.getShape());
  for (const SliceAxis &axis : llvm::reverse(axes)) {
    std::vector<SmallVector<int64_t>> joined;
    for (auto [number, shape] : llvm::enumerate(shapes)) {
      if (axis.dim >= int64_t(shape.size()))
        return step.emitOpError()
               << "has slices over a grid, the first of type " << slices.front()
               << ", split along dimension " << axis.dim
               << ", which one of them lacks";
      if (number % size_t(axis.parts) == 0)
        joined.push_back(shape);
      else
        joined.back()[axis.dim] += shape[axis.dim];
    }
    shapes = std::move(joined);
  }
  std::vector<int64_t> whole(shapes.front().begin(), shapes.front().end());
  for (auto [number, slice] : llvm::enumerate(slices)) {
    std::vector<int64_t> own = axes.shapeOf(whole, int64_t(number) % count);
    if (!own.empty() && slice == slices.front().clone(own))
      continue;
    auto error = step.emitOpError() << "has slice " << number << " of type "
                                    << slice << " over a grid";
    error << ", where axes [" << ArrayRef<int64_t>(numbersOf(axes)) << "] of "
          << slices.front().clone(whole) << " give ";
    if (own.empty())
      return error << "some slices nothing";
    return error << slices.front().clone(own);
  }
  return shapes.front();
}

/// Describes arguments or results of the step; all slices of an argument or
/// result are one entry.
FailureOr<ArrayAttr> describe(rank::StepOp step, ArrayRef<Type> types,
                              function_ref<DictionaryAttr(unsigned)> factsOf) {
  struct Whole {
    unsigned first = 0; ///< The number of its first slice, or of itself.
    int64_t slices = 0;
    /// The extent that the slices of a row have together in the sliced
    /// dimension, and whether their extents there differ.
    int64_t size = 0;
    bool isUneven = false;
    SmallVector<RankedTensorType> types; ///< Of the slices over a grid.
    SliceAxes axes;                      ///< Of the grid.
  };
  llvm::MapVector<int64_t, Whole> wholes; // By position.
  for (unsigned i = 0; i < types.size(); ++i) {
    DictionaryAttr of = factsOf(i);
    // The runtime computes the index of the microbatch itself.
    if (pipeline::roleIn(of) == pipeline::Role::Microbatch)
      continue;
    bool sliced = number(of, "pipeline.slice", -1) >= 0;
    Whole &whole = wholes[number(of, "pipeline.position", i)];
    if (!sliced || whole.slices == 0)
      whole.first = i;
    whole.slices = sliced ? whole.slices + 1 : 0;
    auto type = dyn_cast<RankedTensorType>(types[i]);
    if (SliceAxes axes = axesOf(of); type && !axes.empty()) {
      whole.types.push_back(type);
      whole.axes = withLargestUnits(whole.axes, axes);
    }
    int64_t dim = number(of, "pipeline.slice_dim", -1);
    int64_t parts = number(of, "pipeline.slice_parts", 0);
    if (!type || dim < 0 || dim >= type.getRank() ||
        (parts > 0 && whole.slices > parts))
      continue;
    whole.size += type.getDimSize(dim);
    whole.isUneven |= types[i] != types[whole.first];
  }
  MLIRContext *context = step.getContext();
  StringAttr none = StringAttr::get(context, "");
  SmallVector<Attribute> list;
  for (auto [position, whole] : wholes) {
    DictionaryAttr of = factsOf(whole.first);
    auto tensor = dyn_cast<RankedTensorType>(types[whole.first]);
    if (!tensor)
      return step.emitOpError()
             << "takes and returns tensors, got " << types[whole.first];
    SliceAxes axes = whole.axes;
    int64_t dim = number(of, "pipeline.slice_dim", -1);
    // Slices per row, if the tensor is a stack of sliced rows; 0: each slice is
    // a row, or a part of a tensor that is no stack.
    int64_t parts = number(of, "pipeline.slice_parts", 0);
    if (dim < -1 || dim >= tensor.getRank())
      return step.emitOpError()
             << "slices dimension " << dim << " of " << tensor;
    if (parts < 0 || (parts > 0 && dim < 0 && axes.empty()))
      return step.emitOpError()
             << "has 'pipeline.slice_parts' " << parts << " for " << tensor
             << "; it must be at least 0 and needs 'pipeline.slice_dim'";
    SmallVector<int64_t> shape(tensor.getShape());
    int64_t rows = 1;
    if (whole.slices > 0 && dim >= 0)
      shape[dim] = whole.size;
    if (!axes.empty()) {
      if (int64_t of = axes.slices();
          whole.slices != int64_t(whole.types.size()) ||
          (parts > 0 ? parts != of || whole.slices % of != 0
                     : whole.slices != of))
        return step.emitOpError()
               << "has " << whole.slices << " slices, " << parts
               << " for each row of a stack, over a grid of " << of
               << ", the first of type " << tensor;
      auto joined = joinedShape(step, whole.types, axes);
      if (failed(joined))
        return failure();
      shape = *joined;
      for (SliceAxis &axis : axes)
        axis.dim += parts > 0; // Dimension 0 is that of the rows.
    }
    bool isStack = axes.empty() ? dim < 0 || parts > 0 : parts > 0;
    if (whole.slices > 0 && isStack) {
      rows = std::max<int64_t>(whole.slices / std::max<int64_t>(parts, 1), 1);
      shape.insert(shape.begin(), rows);
    }
    // A slice along a dimension has a part of each run of elements; there is a
    // run for each index of the dimensions before it and for each chunk of the
    // dimension (`slice_outer`).
    int64_t runs = number(of, "pipeline.slice_outer", 1);
    for (int64_t i = 0; i < dim; ++i)
      runs *= tensor.getDimSize(i);
    // If all slices are equal, the unit makes no difference.
    int64_t unit = 1;
    if (whole.isUneven)
      unit = number(of, "pipeline.slice_unit", 1) *
             ShapedType::getNumElements(tensor.getShape().drop_front(dim + 1));
    StringAttr name = text(of, "pipeline.name");
    StringAttr role = text(of, "pipeline.role");
    StringAttr symbol;
    if (of && of.contains("pipeline.value"))
      symbol = StringAttr::get(context, dataSymbol(whole.first));
    list.push_back(rank::InterfaceAttr::getChecked(
        [&] { return step.emitError(); }, context, position, name ? name : none,
        role ? role : none,
        RankedTensorType::get(shape, tensor.getElementType()), whole.slices,
        rows, runs, number(of, "pipeline.batch_dim", 0),
        text(of, "pipeline.combine"), number(of, "pipeline.of", -1),
        of && of.contains(rank::RankDialect::kAveraging), symbol, unit,
        ArrayRef<int64_t>(numbersOf(axes))));
    if (!list.back())
      return failure();
  }
  return ArrayAttr::get(context, list);
}

/// The position of the result that replaces an argument of the step (updated in
/// place), by the argument's position and slice.
using Replaced = std::map<std::pair<int64_t, int64_t>, int64_t>;
Replaced findReplaced(rank::StepOp step) {
  Replaced replaced;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    DictionaryAttr facts = step.getResultAttrDict(i);
    std::optional<pipeline::Role> role = pipeline::roleIn(facts);
    int64_t of = number(facts, "pipeline.of", -1);
    bool isKept =
        role == pipeline::Role::Parameter || role == pipeline::Role::State;
    if (isKept && of >= 0)
      replaced[{number(step.getArgAttrDict(of), "pipeline.position", of),
                number(facts, "pipeline.slice", -1)}] =
          number(facts, "pipeline.position", i);
  }
  return replaced;
}

/// Numbers of distinct lists of starts: the buffers of a frame share one.
using StartsLists = llvm::MapVector<Attribute, int64_t>;

rank::BufferAttr describe(rank::BufferOp buffer, Replaced &replaced,
                          StartsLists &starts) {
  bool ofArgument = true, ofResult = true;
  switch (buffer.getKind()) {
  case rank::BufferKind::Parameter:
  case rank::BufferKind::Constant:
  case rank::BufferKind::Seed:
  case rank::BufferKind::State:
  case rank::BufferKind::Batch:
    ofResult = false;
    break;
  case rank::BufferKind::Gradient:
  case rank::BufferKind::Accumulator:
  case rank::BufferKind::Output:
    ofArgument = false;
    break;
  default:
    ofArgument = ofResult = false;
  }
  int64_t position = buffer.getPosition().value_or(-1);
  int64_t result = ofResult ? position : -1;
  int64_t slice = buffer.getSlice().value_or(-1);
  if (auto found = replaced.find({position, slice});
      ofArgument && found != replaced.end()) {
    result = found->second;
    if (!buffer.getWeight())
      replaced.erase(found); // Only the first rank provides it.
  }
  int64_t list = -1;
  if (DenseI64ArrayAttr own = buffer.getStartsAttr())
    list = starts.insert({own, int64_t(starts.size())}).first->second;
  std::optional<int64_t> own = buffer.getOwn();
  auto ofOwn = own ? replaced.find({*own, -1}) : replaced.end();
  return rank::BufferAttr::get(
      buffer.getContext(), buffer.getBufferNameAttr(), buffer.getKind(),
      tensorOf(buffer.getType()), buffer.getDepth(), ofArgument ? position : -1,
      result, slice, buffer.getPlace().value_or(-1), list, buffer.getOnHost(),
      own.value_or(-1), ofOwn == replaced.end() ? -1 : ofOwn->second,
      buffer.getWeightAttr(), buffer.getTurns().value_or(ArrayRef<int64_t>()),
      buffer.getPeriod().value_or(0));
}

/// Describes the averages over replicas in which a rank takes part, in the
/// order of its program.
SmallVector<rank::AverageAttr>
describeAverages(rank::ProgramOp program,
                 const llvm::StringMap<int64_t> &collectives) {
  DenseMap<Value, int64_t> numbers = numberBuffers(program);
  SmallVector<rank::AverageAttr> list;
  program.walk([&](rank::AverageOp it) {
    SmallVector<int64_t> parameters;
    for (Value parameter : it.getParameters())
      parameters.push_back(numbers.lookup(parameter));
    Value snapshot = it.getSnapshot();
    list.push_back(rank::AverageAttr::get(
        it.getContext(), collectives.lookup(it.getCollective()), it.getEvery(),
        it.getDelay(), it.getXiAttr(), it.getCorrected(), it.getWeightAttr(),
        it.getTurns(), numbers.lookup(it.getStep()),
        numbers.lookup(it.getSum()), snapshot ? numbers.lookup(snapshot) : -1,
        parameters));
  });
  return list;
}

/// Describes the sums over ranks: for each rank, the range of buffers summed.
/// Then the gathers, slot by slot.
ArrayAttr describeCollectives(ModuleOp module,
                              ArrayRef<rank::ProgramOp> programs) {
  MLIRContext *context = module.getContext();
  llvm::StringMap<SmallVector<rank::BucketAttr>> buckets;
  for (rank::ProgramOp program : programs) {
    DenseMap<Value, int64_t> numbers = numberBuffers(program);
    llvm::StringSet<> seen; // An action may occur in several loops.
    auto add = [&](StringRef collective, Value first, int64_t count) {
      buckets[collective].push_back(rank::BucketAttr::get(
          context, program.getRank(), numbers.lookup(first), count, 0));
    };
    program.walk([&](rank::AllGatherOp gather) {
      if (seen.insert(gather.getCollective()).second)
        add(gather.getCollective(), gather.getBuffer(), 1);
    });
    program.walk([&](rank::AllReduceOp sum) {
      if (seen.insert(sum.getCollective()).second)
        add(sum.getCollective(), sum.getBuffers().front(),
            sum.getBuffers().size());
    });
    program.walk([&](rank::AverageOp average) {
      add(average.getCollective(), average.getSum(), 1);
    });
  }
  SmallVector<Attribute> list;
  for (auto sum : module.getOps<rank::CollectiveOp>())
    list.push_back(rank::CollectiveAttr::get(
        context, sum.getSymNameAttr(), tensorOf(sum.getType()),
        buckets[sum.getSymName()], false, false));
  for (auto gather : module.getOps<rank::GatherOp>())
    for (int64_t slot = 0; slot < int64_t(gather.getDepth()); ++slot) {
      SmallVector<rank::BucketAttr> slots;
      for (rank::BucketAttr bucket : buckets[gather.getSymName()])
        slots.push_back(rank::BucketAttr::get(context, bucket.getRank(),
                                              bucket.getFirst(), 1, slot));
      list.push_back(rank::CollectiveAttr::get(
          context, gather.getSymNameAttr(), tensorOf(gather.getType()), slots,
          true, gather.getExchange()));
    }
  return ArrayAttr::get(context, list);
}

/// The rows of a rank that chooses: what each waits for.
SmallVector<rank::RowAttr> describeRows(MLIRContext *context,
                                        const rank::RankEvents &rank) {
  SmallVector<rank::RowAttr> rows;
  for (const rank::Row &row : rank.rows) {
    SmallVector<int64_t> receives, claims;
    for (size_t i = row.begin; i < row.end; ++i) {
      const rank::Event &event = rank.events[i];
      if (event.kind == rank::EventKind::Recv)
        receives.append({int64_t(event.object), event.microbatch});
      else if (event.kind == rank::EventKind::Claim)
        claims.append({int64_t(event.object), event.microbatch});
    }
    rows.push_back(rank::RowAttr::get(
        context, StringAttr::get(context, row.name), row.lane, row.turn,
        receives, claims, llvm::to_vector_of<int64_t>(row.after)));
  }
  return rows;
}

rank::ProgramAttr describe(rank::ProgramOp program, Replaced &replaced,
                           ArrayRef<rank::AverageAttr> averages,
                           ArrayRef<rank::RowAttr> rows) {
  StartsLists lists;
  SmallVector<rank::BufferAttr> buffers;
  for (auto buffer : program.getBody().getOps<rank::BufferOp>())
    buffers.push_back(describe(buffer, replaced, lists));
  SmallVector<DenseI64ArrayAttr> starts;
  for (auto &[list, unused] : lists)
    starts.push_back(cast<DenseI64ArrayAttr>(list));
  SmallVector<StringAttr> nodes;
  for (auto &[node, unused] : numberNodes(program))
    nodes.push_back(node);
  llvm::SmallSetVector<int64_t, 4> stages;
  program.walk(
      [&](rank::ActionOp action) { stages.insert(action.getStage()); });
  return rank::ProgramAttr::get(program.getContext(), program.getDeviceAttr(),
                                program.getHost().value_or(0),
                                program.getSymNameAttr(), stages.getArrayRef(),
                                buffers, starts, nodes, program.getMemoryAttr(),
                                averages, rows);
}

} // namespace

FailureOr<rank::ArtifactOp> describeArtifact(ModuleOp module) {
  MLIRContext *context = module.getContext();
  auto steps = module.getOps<rank::StepOp>();
  if (steps.empty())
    return module.emitError("no 'rank.step'; run lower-pipeline-to-rank first");
  rank::StepOp step = *steps.begin();
  SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
  if (programs.empty())
    return step.emitOpError("has no 'rank.program'");
  auto arguments = describe(step, step.getArgumentTypes(), [&](unsigned i) {
    return function_interface_impl::getArgAttrDict(step, i);
  });
  auto results = describe(step, step.getResultTypes(), [&](unsigned i) {
    return function_interface_impl::getResultAttrDict(step, i);
  });
  if (failed(arguments) || failed(results))
    return failure();

  SmallVector<Attribute> channels, ranks;
  std::map<Edge, int64_t> rounds = roundsOf(module);
  for (auto channel : module.getOps<rank::ChannelOp>())
    channels.push_back(rank::ChannelAttr::get(
        context, channel.getSymNameAttr(), channel.getFrom(), channel.getTo(),
        tensorOf(channel.getType()), channel.getDepth(),
        rounds[edgeOf(channel)], channel.getOnce(),
        channel.getMessages().value_or(0)));

  llvm::stable_sort(programs, [](rank::ProgramOp a, rank::ProgramOp b) {
    return a.getRank() < b.getRank();
  });
  rank::Machine machine; // Only for ranks that choose what they run.
  if (llvm::any_of(programs, [](rank::ProgramOp program) {
        return program.isReadyFirst();
      })) {
    FailureOr<rank::Machine> unrolled = rank::unroll(module, 0);
    if (failed(unrolled))
      return failure();
    machine = std::move(*unrolled);
    // The programs are verified, so rows can be linked.
    if (std::optional<rank::Fault> fault = rank::linkRows(machine))
      return module.emitError() << fault->error.message;
  }
  llvm::StringMap<int64_t> collectives = numberCollectives(module);
  Replaced replaced = findReplaced(step);
  for (auto [number, program] : llvm::enumerate(programs)) {
    if (int64_t(program.getRank()) != int64_t(number))
      return program.emitOpError()
             << "is of rank " << program.getRank() << ", but rank " << number
             << " has no program";
    SmallVector<rank::RowAttr> rows;
    if (number < machine.ranks.size())
      rows = describeRows(context, machine.ranks[number]);
    ranks.push_back(describe(program, replaced,
                             describeAverages(program, collectives), rows));
  }
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  rank::ProgramOp last = programs.back();
  auto artifact = rank::ArtifactOp::create(
      builder, step.getLoc(), step.getSymNameAttr(), last.getMicrobatchesAttr(),
      last.getOnlyAttr(), last.getScheduleAttr(), *arguments, *results,
      builder.getArrayAttr(channels), describeCollectives(module, programs),
      builder.getArrayAttr(ranks),
      module->getAttrOfType<rank::PlanAttr>(rank::RankDialect::kPlan),
      /*kernels=*/ArrayAttr(), /*constants=*/ArrayAttr(),
      /*device=*/rank::DeviceAttr());
  if (Attribute flows = module->getAttr(rank::kFlows))
    artifact->setAttr(rank::kFlows, flows);
  return artifact;
}

} // namespace stagewright::host
