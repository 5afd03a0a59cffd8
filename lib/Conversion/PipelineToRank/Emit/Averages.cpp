//===- Averages.cpp - averages over replicas in programs ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

using pipeline::PipelineDialect;
using rank::RankDialect;

namespace {

/// Adds arguments and results of role `state` to a step.
class StateWriter {
public:
  explicit StateWriter(rank::StepOp step)
      : step(step), builder(step.getContext()), inputs(step.getArgumentTypes()),
        results(step.getResultTypes()),
        inputFacts(step.getArgAttrsAttr().getValue()),
        resultFacts(step.getResAttrsAttr().getValue()) {
    for (auto [i, facts] : llvm::enumerate(resultFacts)) {
      auto known = cast<DictionaryAttr>(facts).getAs<IntegerAttr>(
          PipelineDialect::kPosition);
      position = std::max(position, (known ? known.getInt() : int64_t(i)) + 1);
    }
  }

  void add(const std::string &name, int64_t argument, MemRefType type) {
    auto number = [&](StringRef key, int64_t value) {
      return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
    };
    NamedAttrList facts;
    facts.append(RankDialect::kAveraging, builder.getUnitAttr());
    facts.append(PipelineDialect::kName,
                 builder.getStringAttr("averaging/" + name));
    facts.append(attributeOf(builder.getContext(), pipeline::Role::State));
    NamedAttrList replaced = facts;
    facts.append(number(PipelineDialect::kPosition, argument));
    replaced.append(number(PipelineDialect::kPosition, position++));
    replaced.append(number(PipelineDialect::kOf, inputs.size()));
    replaced.append(attributeOf(builder.getContext(), pipeline::Combine::Last));
    auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
    inputs.push_back(tensor);
    results.push_back(tensor);
    inputFacts.push_back(facts.getDictionary(builder.getContext()));
    resultFacts.push_back(replaced.getDictionary(builder.getContext()));
  }

  void finish() {
    step.setFunctionType(builder.getFunctionType(inputs, results));
    step.setArgAttrsAttr(builder.getArrayAttr(inputFacts));
    step.setResAttrsAttr(builder.getArrayAttr(resultFacts));
  }

private:
  rank::StepOp step;
  Builder builder;
  SmallVector<Type> inputs, results;
  SmallVector<Attribute> inputFacts, resultFacts;
  int64_t position = 0;
};

} // namespace

static MemRefType countType(MLIRContext *context) {
  return MemRefType::get({1}, IntegerType::get(context, 64));
}

void emitAverageInterface(const Plan &plan, rank::StepOp step) {
  if (plan.averages.empty())
    return;
  StateWriter writer(step);
  for (const AveragePlan &average : plan.averages) {
    std::string number = "." + std::to_string(average.bucket);
    writer.add("step" + number, average.step, countType(step.getContext()));
    writer.add("average" + number, average.sum, average.type);
    for (auto [rank, position] : average.snapshots)
      writer.add("rank" + std::to_string(rank) + "/snapshot" + number, position,
                 average.type);
  }
  for (auto [of, position] : plan.ownPositions) {
    auto [number, rank] = of;
    const UpdateArgument &argument = plan.update->arguments[number];
    std::string name = argument.name;
    if (argument.slice)
      name += "." + std::to_string(*argument.slice);
    func::FuncOp function = plan.update->function;
    writer.add("rank" + std::to_string(rank) + "/" +
                   stringifyRole(argument.role).str() + "/" + name,
               position, memoryOf(function.getArgumentTypes()[number]));
  }
  writer.finish();
}

/// Marks the buffers that differ from those of other replicas.
void RankEmitter::markOwn() {
  for (unsigned number : plan.update->parts[rank].last.replaced) {
    auto own = plan.ownPositions.find({number, rank});
    if (own == plan.ownPositions.end())
      continue;
    const UpdateArgument &argument = plan.update->arguments[number];
    bool isParameter = argument.role == pipeline::Role::Parameter;
    Value buffer = isParameter || argument.ofStep ? arguments[argument.number]
                                                  : updateBuffers[number];
    auto op = buffer.getDefiningOp<rank::BufferOp>();
    op.setOwn(own->second);
    if (!isParameter)
      continue;
    auto average = llvm::find_if(plan.averages, [&](const AveragePlan &it) {
      return llvm::is_contained(it.parameters, number);
    });
    if (average != plan.averages.end())
      op.setWeight(APFloat(plan.weightOf(plan.buckets[average->bucket], rank)));
  }
}

void RankEmitter::declareAverages() {
  averageBuffers.resize(plan.averages.size());
  for (auto [average, buffers] : llvm::zip(plan.averages, averageBuffers)) {
    if (!llvm::is_contained(plan.buckets[average.bucket].ranks, rank))
      continue;
    std::string number = "." + std::to_string(average.bucket);
    auto state = [&](StringRef name, int64_t position, MemRefType type) {
      return declare(name + number, rank::BufferKind::State,
                     Place{position, std::nullopt}, 1, type);
    };
    buffers.step =
        state("averaging/step", average.step, countType(builder.getContext()));
    buffers.sum = state("averaging/average", average.sum, average.type);
    if (auto snapshot = average.snapshots.find(rank);
        snapshot != average.snapshots.end())
      buffers.snapshot =
          state("averaging/snapshot", snapshot->second, average.type);
  }
}

/// Emits the averages in the order of their buckets, which is the same on every
/// rank.
void RankEmitter::emitAverages() {
  for (auto [average, buffers] : llvm::zip(plan.averages, averageBuffers)) {
    if (!buffers.sum)
      continue;
    Plan::Share share = plan.shareOf(rank);
    SmallVector<Value> parameters;
    for (unsigned number : average.parameters)
      parameters.push_back(arguments[plan.update->arguments[number].number]);
    rank::AverageOp::create(
        builder, loc, names.averages[average.bucket], parameters, buffers.step,
        buffers.sum, buffers.snapshot,
        builder.getI64IntegerAttr(plan.averaging.getEvery()),
        builder.getI64IntegerAttr(plan.averaging.getDelay()),
        plan.averaging.getXi(),
        plan.averaging.isCorrected() ? builder.getUnitAttr() : UnitAttr(),
        builder.getF64FloatAttr(
            plan.weightOf(plan.buckets[average.bucket], rank)),
        builder.getI64IntegerAttr(share.inTurn ? share.all : 1));
  }
}

/// Turns the sum of an accumulator into the result of the step. A replica that
/// averages counts only what it computes: it scales the result by all samples /
/// its own samples. If replicas take microbatches in turn, it divides a mean by
/// its own number of microbatches, and scales a sum by the number of replicas.
void RankEmitter::combine(unsigned accumulator) {
  int64_t result = plan.accumulators[accumulator].result;
  Value target = slots[accumulators.at(accumulator)];
  Value count = entry.getMicrobatches();
  bool isMean = plan.combineOf(result) == pipeline::Combine::Mean;
  FloatAttr scale;
  if (plan.averaging && isSummed(accumulator)) {
    Plan::Share share = plan.shareOf(rank);
    if (!share.inTurn || !isMean)
      scale = builder.getF64FloatAttr(double(share.all) / double(share.own));
    else if (plan.pipelines > 1)
      count = microbatches;
    else
      count = constant(plan.runsOf(rank));
  }
  rank::CombineOp::create(builder, loc,
                          isMean ? rank::Combine::Mean : rank::Combine::Sum,
                          target, count, scale);
}

} // namespace stagewright::torank
