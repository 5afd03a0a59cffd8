//===- Update.cpp - the optimizer at the end of a rank's program ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

using pipeline::PipelineDialect;
using pipeline::Role;

/// Calls `visit` for every parameter that @update replaces and every rank that
/// reads it but does not own it, with the parameter, the first rank of its
/// owner, and that rank.
static void
forCopies(const Plan &plan,
          function_ref<void(const UpdateArgument &, int64_t, int64_t)> visit) {
  pipeline::GraphOp graph = plan.graph;
  for (auto [number, argument] : llvm::enumerate(plan.update->arguments)) {
    if (argument.role != Role::Parameter || argument.replacedBy < 0)
      continue;
    func::FuncOp function = plan.update->function;
    int64_t owner = plan.update->homeOf(function.getArgument(number));
    BlockArgument parameter = graph.getBody().getArgument(argument.number);
    for (int64_t rank = 0; rank < plan.numRanks(); ++rank)
      if (!plan.update->owns(rank, owner) && plan.reads(rank, parameter))
        visit(argument, plan.update->owners[owner].front(), rank);
  }
}

void emitUpdateInterface(const Plan &plan, rank::StepOp step) {
  if (!plan.update)
    return;
  Builder builder(step.getContext());
  SmallVector<Type> inputs(step.getArgumentTypes()),
      results(step.getResultTypes());
  SmallVector<Attribute> inputFacts(step.getArgAttrsAttr().getValue()),
      resultFacts(step.getResAttrsAttr().getValue());
  func::FuncOp function = plan.update->function;
  pipeline::GraphOp graph = plan.graph;
  int64_t position = 0;
  for (unsigned i = 0; i < results.size(); ++i) {
    auto known =
        graph.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kPosition);
    position = std::max(position, (known ? known.getInt() : int64_t(i)) + 1);
  }
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  for (auto [index, argument] : llvm::enumerate(plan.update->arguments)) {
    int64_t of = argument.number;
    bool own = argument.role == Role::State || argument.role == Role::Constant;
    if (own && !argument.ofStep) {
      of = inputs.size();
      inputs.push_back(function.getArgumentTypes()[index]);
      NamedAttrList facts(argument.sliceFacts);
      facts.append(text(PipelineDialect::kName, argument.name));
      facts.append(number(PipelineDialect::kPosition, argument.position));
      facts.append(attributeOf(function.getContext(), argument.role));
      inputFacts.push_back(facts.getDictionary(builder.getContext()));
    }
    if (argument.replacedBy < 0)
      continue;
    results.push_back(function.getArgumentTypes()[index]);
    // The slices of one array have one position.
    position += argument.slice.value_or(0) == 0;
    NamedAttrList facts(argument.sliceFacts);
    facts.append(attributeOf(function.getContext(), pipeline::Combine::Last));
    facts.append(text(PipelineDialect::kName, argument.name));
    facts.append(number(PipelineDialect::kOf, of));
    facts.append(number(PipelineDialect::kPosition, position - 1));
    facts.append(attributeOf(function.getContext(), argument.role));
    resultFacts.push_back(facts.getDictionary(builder.getContext()));
  }
  step.setFunctionType(builder.getFunctionType(inputs, results));
  step.setArgAttrsAttr(builder.getArrayAttr(inputFacts));
  step.setResAttrsAttr(builder.getArrayAttr(resultFacts));
}

void emitUpdateChannels(
    const Plan &plan, ModuleNames &names,
    function_ref<FlatSymbolRefAttr(std::string, int64_t, int64_t, Type)>
        create) {
  if (!plan.update)
    return;
  for (auto [number, pack] : llvm::enumerate(plan.update->packs))
    for (int64_t to = 0; to < plan.numRanks(); ++to)
      if (int64_t from = plan.update->senderOf(pack, to);
          to != from && plan.update->parts[to].reads(number))
        names.packs[{number, to}] = create("update." + std::to_string(number) +
                                               ".to" + std::to_string(to),
                                           from, to, pack.type);
  pipeline::GraphOp graph = plan.graph;
  forCopies(plan, [&](const UpdateArgument &it, int64_t from, int64_t to) {
    names.parameters[{it.number, to}] = create(
        "parameter." + std::to_string(it.number) + ".to" + std::to_string(to),
        from, to, graph.getFunctionType().getInput(it.number));
  });
}

LogicalResult RankEmitter::declareUpdate() {
  if (!plan.update)
    return success();
  pipeline::GraphOp graph = plan.graph;
  func::FuncOp function = plan.update->function;
  const UpdatePart &part = plan.update->parts[rank];
  llvm::SmallSetVector<unsigned, 16> used;
  for (const UpdateCall &call : part.rounds)
    used.insert(call.inputs.begin(), call.inputs.end());
  used.insert(part.last.inputs.begin(), part.last.inputs.end());
  used.insert(part.last.replaced.begin(), part.last.replaced.end());
  for (unsigned number : used) {
    const UpdateArgument &argument = plan.update->arguments[number];
    if (argument.role == Role::Gradient)
      continue;
    if (argument.role == Role::Parameter || argument.ofStep) {
      if (!arguments.count(argument.number) &&
          failed(declareArgument(graph.getBody().getArgument(argument.number))))
        return failure();
      continue;
    }
    auto kind = rank::symbolizeBufferKind(stringifyRole(argument.role));
    updateBuffers[number] =
        declare(argument.name, *kind, Place{argument.position, argument.slice},
                1, memoryOf(function.getArgumentTypes()[number]));
  }
  markOwn();
  return success();
}

/// The slot of argument `number` of @update.
Value RankEmitter::updateSlot(unsigned number) {
  const UpdateArgument &argument = plan.update->arguments[number];
  if (argument.role == Role::Gradient)
    return ownedSlot(argument.number);
  if (argument.role == Role::Parameter || argument.ofStep)
    return slots[arguments[argument.number]];
  return slots[updateBuffers[number]];
}

void RankEmitter::emitUpdate(Value zero) {
  const Update &update = *plan.update;
  const UpdatePart &part = update.parts[rank];
  std::map<unsigned, Value> packs;
  auto call = [&](const UpdateCall &it) {
    if (!it.body)
      return;
    SmallVector<Value> inputs, outputs, replaced;
    for (unsigned number : it.inputs)
      inputs.push_back(updateSlot(number));
    for (unsigned number : it.packs)
      inputs.push_back(packs[number]);
    for (unsigned number : it.made)
      outputs.push_back(packs[number] = rank::ViewOp::create(
                            builder, loc, memoryOf(update.packs[number].type),
                            workspace, update.offsetOf(number)));
    for (unsigned number : it.replaced)
      replaced.push_back(updateSlot(number));
    func::FuncOp body = it.body;
    names.called.insert(body);
    rank::CallOp::create(builder, loc, body.getSymName(), inputs, outputs,
                         replaced, workspace, update.packsEnd(), 0, it.node);
  };
  for (auto [round, made] : llvm::enumerate(part.rounds)) {
    call(made);
    for (auto [key, channel] : names.packs) {
      auto [number, to] = key;
      const UpdatePack &pack = update.packs[number];
      if (update.senderOf(pack, to) != rank || pack.round != int64_t(round))
        continue;
      Value slot = rank::ClaimOp::create(builder, loc, memoryOf(pack.type),
                                         channel, zero);
      rank::CopyOp::create(builder, loc, packs[number], slot);
      rank::SendOp::create(builder, loc, channel, zero);
    }
    for (auto [number, pack] : llvm::enumerate(update.packs))
      if (update.senderOf(pack, rank) != rank && pack.round == int64_t(round) &&
          part.reads(number))
        packs[number] = rank::RecvOp::create(builder, loc, memoryOf(pack.type),
                                             names.packs[{number, rank}], zero);
  }
  call(part.last);
  for (auto [number, pack] : llvm::enumerate(update.packs))
    if (update.senderOf(pack, rank) != rank && part.reads(number))
      rank::ReleaseChannelOp::create(builder, loc, names.packs[{number, rank}],
                                     zero);
  sendParameters(zero);
}

/// Sends updated parameters from their owners to the other ranks that read
/// them, and receives them there.
void RankEmitter::sendParameters(Value zero) {
  auto emit = [&](bool sends) {
    forCopies(plan, [&](const UpdateArgument &it, int64_t from, int64_t to) {
      FlatSymbolRefAttr channel = names.parameters[{it.number, to}];
      if (sends ? from != rank : to != rank)
        return;
      Value own = slots[arguments[it.number]];
      if (sends) {
        Value slot =
            rank::ClaimOp::create(builder, loc, own.getType(), channel, zero);
        rank::CopyOp::create(builder, loc, own, slot);
        rank::SendOp::create(builder, loc, channel, zero);
        return;
      }
      Value slot =
          rank::RecvOp::create(builder, loc, own.getType(), channel, zero);
      rank::CopyOp::create(builder, loc, slot, own);
      rank::ReleaseChannelOp::create(builder, loc, channel, zero);
    });
  };
  emit(/*sends=*/true);
  emit(/*sends=*/false);
}

} // namespace stagewright::torank
