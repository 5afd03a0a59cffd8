//===- Manifest.cpp - the manifest of an artifact -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/Transforms/Memory.h"
#include "stagewright/Scheduling/Channels.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

using namespace mlir;
namespace json = llvm::json;

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

/// Name of an element type in the manifest, as safetensors has it; empty for a
/// type that no file can hold.
StringRef nameOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return isUnsigned ? "u8" : "i8";
    case 16:
      return isUnsigned ? "u16" : "i16";
    case 32:
      return isUnsigned ? "u32" : "i32";
    case 64:
      return isUnsigned ? "u64" : "i64";
    default:
      return "";
    }
  }
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3fn";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  return type.isF32()    ? "f32"
         : type.isF64()  ? "f64"
         : type.isF16()  ? "f16"
         : type.isBF16() ? "bf16"
                         : "";
}

json::Array shapeOf(ShapedType type) {
  json::Array shape;
  for (int64_t extent : type.getShape())
    shape.push_back(extent);
  return shape;
}

std::string text(DictionaryAttr facts, StringRef name) {
  auto value = facts ? facts.getAs<StringAttr>(name) : StringAttr();
  return value ? value.str() : "";
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

/// Describes arguments or results of the step; slices of one are one entry.
FailureOr<json::Array> describe(rank::StepOp step, ArrayRef<Type> types,
                                function_ref<DictionaryAttr(unsigned)> facts) {
  llvm::MapVector<int64_t, json::Object> entries;
  for (auto [index, type] : llvm::enumerate(types)) {
    DictionaryAttr of = facts(index);
    auto tensor = cast<RankedTensorType>(type);
    // The runtime computes the index of the microbatch itself.
    if (text(of, "pipeline.role") == "microbatch")
      continue;
    int64_t position = number(of, "pipeline.position", index);
    int64_t slice = number(of, "pipeline.slice", -1);
    int64_t dim = number(of, "pipeline.slice_dim", -1);
    // Parts per row of a stack; 0: slices are rows, or parts of the tensor.
    int64_t parts = number(of, "pipeline.slice_parts", 0);
    bool stacked = slice >= 0 && (dim < 0 || parts > 0);
    std::string name = text(of, "pipeline.name");
    // The type in files, if its signedness differs from the step's.
    std::string dtype = text(of, "pipeline.dtype");
    if (dtype.empty())
      dtype = nameOf(tensor.getElementType());
    if (dtype.empty())
      return step.emitError()
             << "'" << name << "' has element type " << tensor.getElementType()
             << ", which no file of tensors can hold";
    json::Object &entry = entries[position];
    if (slice >= 0 && !entry.empty()) {
      int64_t slices = *entry.getInteger("slices") + 1;
      entry["slices"] = slices;
      json::Array &shape = *entry.getArray("shape");
      if (!stacked) {
        shape[dim] = slices * tensor.getDimSize(dim);
        continue;
      }
      int64_t rows = slices / std::max<int64_t>(parts, 1);
      shape[0] = rows;
      entry["rows"] = rows;
      continue;
    }
    entry["position"] = position;
    entry["name"] = name;
    entry["role"] = text(of, "pipeline.role");
    entry["dtype"] = dtype;
    json::Array shape = shapeOf(tensor);
    if (parts > 0)
      shape[dim] = parts * tensor.getDimSize(dim);
    if (stacked)
      shape.insert(shape.begin(), 1);
    entry["shape"] = std::move(shape);
    entry["slices"] = slice >= 0 ? 1 : 0;
    entry["rows"] = 1;
    // A slice along a dimension has a part of each run of elements; there is a
    // run for each index of the dimensions before and for each chunk.
    int64_t runs = number(of, "pipeline.slice_outer", 1);
    for (int64_t i = 0; i < dim; ++i)
      runs *= tensor.getDimSize(i);
    entry["runs"] = runs;
    entry["batch_dim"] = number(of, "pipeline.batch_dim", 0);
    if (std::string combine = text(of, "pipeline.combine"); !combine.empty())
      entry["combine"] = combine;
    entry["of"] = number(of, "pipeline.of", -1);
    if (of && of.contains(rank::RankDialect::kAveraging))
      entry["averaging"] = true;
    if (of && of.contains("pipeline.value"))
      entry["symbol"] = dataSymbol(index);
  }
  json::Array list;
  for (auto &[position, entry] : entries)
    list.push_back(std::move(entry));
  return list;
}

/// The position of the result that replaces an argument of the step (updated in
/// place), by the argument's position and slice.
using Replaced = std::map<std::pair<int64_t, int64_t>, int64_t>;
Replaced findReplaced(rank::StepOp step) {
  Replaced replaced;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    DictionaryAttr facts = step.getResultAttrDict(i);
    std::string role = text(facts, "pipeline.role");
    int64_t of = number(facts, "pipeline.of", -1);
    if ((role == "parameter" || role == "state") && of >= 0)
      replaced[{number(step.getArgAttrDict(of), "pipeline.position", of),
                number(facts, "pipeline.slice", -1)}] =
          number(facts, "pipeline.position", i);
  }
  return replaced;
}

/// Numbers of distinct lists of starts: the buffers of a stage share one.
using StartsLists = llvm::MapVector<Attribute, int64_t>;

json::Object describe(rank::BufferOp buffer, int64_t id, Replaced &replaced,
                      StartsLists &starts) {
  MemRefType type = buffer.getType();
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
  json::Object entry{
      {"id", id},
      {"name", buffer.getBufferName()},
      {"kind", rank::stringifyBufferKind(buffer.getKind())},
      {"bytes", rank::getSlotBytes(type)},
      {"depth", std::abs(buffer.getDepth())},
      {"depth_all", buffer.isDepthAll()},
      {"argument", ofArgument ? position : -1},
      {"result", result},
      {"slice", slice},
      {"place", int64_t(buffer.getPlace().value_or(-1))},
      {"starts", list},
      {"dtype", nameOf(type.getElementType())},
      {"shape", shapeOf(type)},
  };
  if (buffer.getOnHost())
    entry["on_host"] = true;
  if (std::optional<int64_t> own = buffer.getOwn()) {
    entry["own_argument"] = *own;
    entry["own_result"] = replaced[{*own, -1}];
  }
  if (buffer.getWeight())
    entry["weight"] = buffer.getWeight()->convertToDouble();
  return entry;
}

/// Describes the averages over replicas of a rank, in the order of its program.
json::Array describeAverages(rank::ProgramOp program) {
  llvm::StringMap<int64_t> collectives =
      numberCollectives(program->getParentOfType<ModuleOp>());
  DenseMap<Value, int64_t> numbers = numberBuffers(program);
  json::Array list;
  program.walk([&](rank::AverageOp it) {
    json::Array parameters;
    for (Value parameter : it.getParameters())
      parameters.push_back(numbers.lookup(parameter));
    Value snapshot = it.getSnapshot();
    list.push_back(json::Object{
        {"collective", collectives.lookup(it.getCollective())},
        {"every", int64_t(it.getEvery())},
        {"delay", int64_t(it.getDelay())},
        {"xi", it.getXi().convertToDouble()},
        {"corrected", it.getCorrected()},
        {"weight", it.getWeight().convertToDouble()},
        {"turns", int64_t(it.getTurns())},
        {"step", numbers.lookup(it.getStep())},
        {"sum", numbers.lookup(it.getSum())},
        {"snapshot", snapshot ? numbers.lookup(snapshot) : int64_t(-1)},
        {"parameters", std::move(parameters)}});
  });
  return list;
}

/// Describes the sums over ranks: for each rank, the range of buffers summed.
json::Array describeCollectives(ModuleOp module,
                                ArrayRef<rank::ProgramOp> programs) {
  llvm::StringMap<json::Array> buckets;
  for (rank::ProgramOp program : programs) {
    DenseMap<Value, int64_t> numbers = numberBuffers(program);
    llvm::StringSet<> seen; // An action may occur in several loops.
    program.walk([&](rank::AllReduceOp sum) {
      if (!seen.insert(sum.getCollective()).second)
        return;
      buckets[sum.getCollective()].push_back(
          json::Object{{"rank", int64_t(program.getRank())},
                       {"first", numbers.lookup(sum.getBuffers().front())},
                       {"buffers", int64_t(sum.getBuffers().size())}});
    });
    program.walk([&](rank::AverageOp average) {
      buckets[average.getCollective()].push_back(
          json::Object{{"rank", int64_t(program.getRank())},
                       {"first", numbers.lookup(average.getSum())},
                       {"buffers", 1}});
    });
  }
  json::Array list;
  for (auto sum : module.getOps<rank::CollectiveOp>())
    list.push_back(
        json::Object{{"id", int64_t(list.size())},
                     {"name", sum.getSymName()},
                     {"dtype", nameOf(sum.getType().getElementType())},
                     {"elements", sum.getType().getNumElements()},
                     {"buckets", std::move(buckets[sum.getSymName()])}});
  return list;
}

/// The rows of a rank that chooses: what each waits for.
json::Array describeRows(const rank::RankEvents &rank) {
  json::Array rows;
  for (const rank::Row &row : rank.rows) {
    json::Array receives, claims;
    for (size_t i = row.begin; i < row.end; ++i) {
      const rank::Event &event = rank.events[i];
      json::Array *list = event.kind == rank::EventKind::Recv    ? &receives
                          : event.kind == rank::EventKind::Claim ? &claims
                                                                 : nullptr;
      if (list) {
        list->push_back(int64_t(event.object));
        list->push_back(event.microbatch);
      }
    }
    json::Array after;
    for (size_t before : row.after)
      after.push_back(int64_t(before));
    rows.push_back(json::Object{{"name", row.name},
                                {"lane", row.lane},
                                {"turn", row.turn},
                                {"receives", std::move(receives)},
                                {"claims", std::move(claims)},
                                {"after", std::move(after)}});
  }
  return rows;
}

json::Object describe(rank::ProgramOp program, Replaced &replaced) {
  json::Array buffers, nodes, stages;
  int64_t id = 0;
  StartsLists lists;
  for (auto buffer : program.getBody().getOps<rank::BufferOp>())
    buffers.push_back(describe(buffer, id++, replaced, lists));
  json::Array starts;
  for (auto &[list, unused] : lists)
    starts.push_back(json::Array(cast<DenseI64ArrayAttr>(list).asArrayRef()));
  for (auto &[node, unused] : numberNodes(program))
    nodes.push_back(node.str());
  llvm::SmallSetVector<int64_t, 4> seen;
  program.walk([&](rank::ActionOp action) { seen.insert(action.getStage()); });
  for (int64_t stage : seen)
    stages.push_back(stage);
  json::Object memory;
  if (DictionaryAttr known = program.getMemoryAttr())
    for (NamedAttribute entry : known)
      if (auto bytes = dyn_cast<IntegerAttr>(entry.getValue()))
        memory[entry.getName().str()] = bytes.getInt();
  json::Object object{
      {"rank", int64_t(program.getRank())},
      {"device", program.getDevice()},
      {"host", int64_t(program.getHost().value_or(0))},
      {"entry", program.getSymName()},
      {"stages", std::move(stages)},
      {"buffers", std::move(buffers)},
      {"starts", std::move(starts)},
      {"nodes", std::move(nodes)},
      {"memory", std::move(memory)},
  };
  if (json::Array averages = describeAverages(program); !averages.empty())
    object["averages"] = std::move(averages);
  return object;
}

} // namespace

FailureOr<json::Object> buildManifest(ModuleOp module) {
  json::Object manifest{{"stagewright", 1}};
  auto steps = module.getOps<rank::StepOp>();
  if (steps.empty()) {
    module.emitError("no 'rank.step'; run lower-pipeline-to-rank first");
    return failure();
  }
  rank::StepOp step = *steps.begin();
  auto arguments = describe(step, step.getArgumentTypes(), [&](unsigned i) {
    return function_interface_impl::getArgAttrDict(step, i);
  });
  auto results = describe(step, step.getResultTypes(), [&](unsigned i) {
    return function_interface_impl::getResultAttrDict(step, i);
  });
  if (failed(arguments) || failed(results))
    return failure();
  manifest["name"] = step.getSymName();
  manifest["arguments"] = std::move(*arguments);
  manifest["results"] = std::move(*results);

  json::Array channels;
  std::map<Edge, int64_t> rounds = roundsOf(module);
  for (auto channel : module.getOps<rank::ChannelOp>()) {
    json::Object object{{"id", int64_t(channels.size())},
                        {"name", channel.getSymName()},
                        {"from", int64_t(channel.getFrom())},
                        {"to", int64_t(channel.getTo())},
                        {"bytes", rank::getSlotBytes(channel.getType())},
                        {"depth", std::abs(channel.getDepth())},
                        {"depth_all", channel.isDepthAll()},
                        {"round", rounds[edgeOf(channel)]}};
    if (channel.getOnce())
      object["once"] = true;
    if (std::optional<int64_t> messages = channel.getMessages())
      object["messages"] = *messages;
    channels.push_back(std::move(object));
  }
  manifest["channels"] = std::move(channels);

  SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
  llvm::stable_sort(programs, [](rank::ProgramOp a, rank::ProgramOp b) {
    return a.getRank() < b.getRank();
  });
  if (json::Array sums = describeCollectives(module, programs); !sums.empty())
    manifest["collectives"] = std::move(sums);
  Replaced replaced = findReplaced(step);
  json::Array ranks;
  int64_t stageCount = 0;
  for (rank::ProgramOp program : programs) {
    program.walk([&](rank::ActionOp action) {
      stageCount = std::max<int64_t>(stageCount, action.getStage() + 1);
    });
    manifest["microbatches"] = int64_t(program.getMicrobatches());
    manifest["only"] = program.getOnly();
    manifest["schedule"] = program.getSchedule();
    ranks.push_back(describe(program, replaced));
    // Version 2: runtimes that do not know starts must refuse the artifact.
    if (!ranks.back().getAsObject()->getArray("starts")->empty())
      manifest["stagewright"] = 2;
  }
  // Version 3: so must those that do not know buffers in the host's memory.
  for (rank::ProgramOp program : programs)
    if (llvm::any_of(program.getBody().getOps<rank::BufferOp>(),
                     [](rank::BufferOp buffer) { return buffer.getOnHost(); }))
      manifest["stagewright"] = 3;
  // Version 4: so must those that do not choose what ranks run.
  if (llvm::any_of(programs, [](rank::ProgramOp program) {
        return program.isReadyFirst();
      })) {
    manifest["stagewright"] = 4;
    FailureOr<rank::Machine> machine = rank::unroll(module, 0);
    if (failed(machine))
      return failure();
    // The programs are verified, so rows can be linked.
    if (std::optional<rank::Fault> fault = rank::linkRows(*machine))
      return module.emitError() << fault->error.message;
    for (auto [number, rank] : llvm::enumerate(machine->ranks))
      if (rank.isReadyFirst())
        (*ranks[number].getAsObject())["rows"] = describeRows(rank);
  }
  // Version 4: and those that do not know averages over replicas.
  for (const json::Value &rank : ranks)
    if (rank.getAsObject()->get("averages"))
      manifest["stagewright"] = 4;
  manifest["ranks"] = std::move(ranks);
  manifest["stages"] = int64_t(stageCount);
  if (auto grid = module->getAttrOfType<StringAttr>("rank.grid"))
    manifest["grid"] = grid.getValue();
  if (auto plan = module->getAttrOfType<StringAttr>("rank.plan"))
    manifest["plan"] = llvm::cantFail(json::parse(plan.getValue()));
  return manifest;
}

} // namespace stagewright::host
