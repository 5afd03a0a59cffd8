//===- Places.cpp - a home for every value, a channel for every transfer --===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"

namespace stagewright::torank {

namespace {

/// Decides the homes, stashes, channels and accumulators of a plan.
class Placer {
public:
  explicit Placer(Plan &plan) : plan(plan) {}
  LogicalResult place(bool gathers);

private:
  void addUse(Value value, ActionKey key, unsigned position);
  void addStash(ValuePlan &made, ActionKey key, unsigned position);
  LogicalResult addResult(Value value, int64_t result);
  LogicalResult checkSum(Type type, int64_t result);
  void passThrough(BlockArgument argument, int64_t result);
  void addOutput(int64_t result, int64_t stage);
  void addAccumulator(int64_t result, int64_t stage);
  LogicalResult chooseOwner(int64_t result);
  void chooseHomes();
  void countSums();
  void findReads();

  pipeline::YieldOp yield() {
    return cast<pipeline::YieldOp>(
        plan.graph.getBody().front().getTerminator());
  }

  Plan &plan;
  std::map<std::pair<int64_t, int64_t>, unsigned> channelOf; ///< (value, stage)
  DenseMap<Value, int64_t> numberOf;
};

} // namespace

/// Whether a stage runs `a` before `b` for one microbatch, which is the same in
/// every schedule (Dependences.h).
static bool before(const ActionKey &a, const ActionKey &b) {
  auto place = [](ActionKind kind) {
    return kind == ActionKind::Forward          ? 0
           : kind == ActionKind::Recompute      ? 1
           : kind == ActionKind::WeightGradient ? 3
                                                : 2;
  };
  return place(a.kind) < place(b.kind);
}

/// Makes the use at `position` of `key` the last use, if it is later.
template <typename Ring>
static void extend(Ring &ring, const ActionKey &key, unsigned position) {
  if (before(ring.last, key) || (ring.last == key && ring.lastAt < position)) {
    ring.last = key;
    ring.lastAt = position;
  }
}

void StashPlan::extend(const ChannelPlan &channel) {
  if (before(channel.first, first))
    first = channel.first;
  torank::extend(*this, channel.last, channel.lastAt);
}

void Placer::addStash(ValuePlan &made, ActionKey key, unsigned position) {
  for (StashPlan &stash : made.stashes)
    if (stash.stage == key.stage) {
      if (before(key, stash.first))
        stash.first = key;
      return extend(stash, key, position);
    }
  made.stashes.push_back({key.stage, key, position, {}, key});
}

void Placer::addUse(Value value, ActionKey key, unsigned position) {
  ValuePlan &made = plan.values[value];
  if (key == made.made) {
    made.lastHere = std::max(made.lastHere, position);
    return;
  }
  int64_t from = plan.rankOf(made.made), to = plan.rankOf(key);
  if (from == to)
    return addStash(made, key, position);
  auto [entry, isNew] =
      channelOf.try_emplace({numberOf[value], key.stage}, plan.channels.size());
  if (isNew) {
    auto node = value.getDefiningOp<pipeline::NodeOp>();
    std::string name =
        (node.getNodeName() + "." +
         Twine(cast<OpResult>(value).getResultNumber()) + ".to" + Twine(to))
            .str();
    if (plan.numStages != plan.numRanks() || plan.numCopies() > 1)
      name += ".stage" + plan.nameOfStage(key.stage);
    made.channels.push_back(plan.channels.size());
    plan.channels.push_back(
        {value, name, from, to, key.stage, key, key, position, {}});
    return;
  }
  ChannelPlan &channel = plan.channels[entry->second];
  if (before(key, channel.first))
    channel.first = key;
  extend(channel, key, position);
}

void Placer::addAccumulator(int64_t result, int64_t stage) {
  stage = plan.summingStage(stage);
  for (const AccumulatorPlan &known : plan.accumulators)
    if (known.result == result && known.stage == stage)
      return;
  plan.accumulators.push_back({result, stage, false});
}

/// A result that is an argument of the graph: the first stage that uses the
/// argument writes it, or stage 0 if none does.
void Placer::passThrough(BlockArgument argument, int64_t result) {
  int64_t stage = -1;
  for (Operation *user : argument.getUsers())
    if (isa<pipeline::NodeOp>(user)) {
      int64_t candidate = plan.keys[user].stage;
      stage = stage < 0 ? candidate : std::min(stage, candidate);
    }
  stage = std::max<int64_t>(stage, 0);
  for (int64_t copy = 0; copy < plan.numCopies(); ++copy) {
    bool isLast =
        plan.microbatchesOf[copy].back() + 1 == plan.data.microbatches;
    if (plan.combineOf(result) == pipeline::Combine::Last && !isLast)
      continue;
    int64_t taker = copy * plan.numStages + stage;
    plan.actions[{ActionKind::Forward, taker}].passedThrough.push_back(
        {argument, result});
    if (plan.isAccumulated(result))
      addAccumulator(result, taker);
    else
      addOutput(result, taker);
  }
}

/// Records that the rank of `stage` makes `result`, which is not summed.
void Placer::addOutput(int64_t result, int64_t stage) {
  int64_t rank = plan.rankOfStage[stage];
  const auto &microbatches = plan.microbatchesOf[stage / plan.numStages];
  plan.outputs[{result, rank}].insert(microbatches.begin(), microbatches.end());
}

/// Checks that a sum over microbatches is of numbers, and a mean of floats.
LogicalResult Placer::checkSum(Type type, int64_t result) {
  Type element = cast<RankedTensorType>(type).getElementType();
  bool mean = plan.combineOf(result) == pipeline::Combine::Mean;
  if (isa<FloatType>(element) ||
      (!mean && element.isInteger() && !element.isInteger(1)))
    return success();
  return emitError(plan.graph.getLoc())
         << "result " << result << " is combined by \""
         << stringifyCombine(plan.combineOf(result)) << "\" and must be of "
         << (mean ? "floats" : "numbers") << ", got " << type
         << "; use \"concat\" or \"last\"";
}

LogicalResult Placer::addResult(Value value, int64_t result) {
  bool sums = plan.isAccumulated(result);
  if (sums && failed(checkSum(value.getType(), result)))
    return failure();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    passThrough(argument, result);
    return success();
  }
  ValuePlan &made = plan.values[value];
  if (sums) {
    NodePlan &node = plan.actions[made.made].nodes[made.madeAt];
    node.accumulated.push_back(
        {cast<OpResult>(value).getResultNumber(), result});
    addAccumulator(result, made.made.stage);
    return success();
  }
  made.outputs.push_back(result);
  addOutput(result, made.made.stage);
  return success();
}

/// The owner of a gradient is the first stage that uses its parameter; the
/// owner of another result is the stage that makes the first of its parts, in
/// the order in which the graph yields them.
LogicalResult Placer::chooseOwner(int64_t result) {
  int64_t owner = -1;
  auto of = plan.graph.getResultAttrOfType<IntegerAttr>(
      result, pipeline::PipelineDialect::kOf);
  if (of && of.getInt() >= 0 && of.getInt() < plan.graph.getNumArguments())
    for (Operation *user :
         plan.graph.getBody().getArgument(of.getInt()).getUsers())
      if (isa<pipeline::NodeOp>(user)) {
        int64_t stage = plan.keys[user].stage;
        owner = owner < 0 ? stage : std::min(owner, stage);
      }
  for (const AccumulatorPlan &part : plan.accumulators)
    if (part.result == result && owner < 0)
      owner = part.stage;
  owner = plan.summingStage(owner);
  addAccumulator(result, owner);
  for (AccumulatorPlan &part : plan.accumulators)
    if (part.result == result && part.stage == owner)
      part.owner = true;
  plan.rankOfResult[result] = plan.rankOfStage[owner];
  return success();
}

void Placer::countSums() {
  for (auto [number, sum] : llvm::enumerate(plan.accumulators)) {
    Plan::Sums &here = plan.sums[{sum.result, plan.rankOfStage[sum.stage]}];
    if (here.count++ == 0 || sum.owner)
      here.first = number;
  }
}

void Placer::findReads() {
  Block &body = plan.graph.getBody().front();
  for (BlockArgument argument : body.getArguments())
    for (Operation *user : argument.getUsers())
      if (isa<pipeline::NodeOp>(user))
        plan.readBy.insert(
            {plan.rankOf(plan.keys.lookup(user)), argument.getArgNumber()});
  for (const auto &[key, action] : plan.actions)
    for (auto [argument, result] : action.passedThrough)
      plan.readBy.insert({plan.rankOf(key), argument.getArgNumber()});
}

void Placer::chooseHomes() {
  for (auto &[value, made] : plan.values) {
    // If an output keeps only the last microbatch, its slot may be overwritten
    // before a later action reads it.
    bool keeps = !made.outputs.empty() &&
                 (made.stashes.empty() ||
                  plan.combineOf(made.outputs[0]) != pipeline::Combine::Last);
    if (keeps)
      made.stashes.clear();
    if (keeps)
      made.home = Home::Output;
    else if (!made.stashes.empty())
      made.home = Home::Stash;
    else if (!made.channels.empty() && made.lastHere == made.madeAt)
      made.home = Home::Channel;
    NodePlan &node = plan.actions[made.made].nodes[made.madeAt];
    unsigned number = cast<OpResult>(value).getResultNumber();
    bool onlyAccumulated =
        made.home == Home::Workspace && made.lastHere == made.madeAt &&
        llvm::any_of(node.accumulated,
                     [&](auto sum) { return sum.first == number; });
    if (!onlyAccumulated)
      node.written.push_back(number);
  }
}

LogicalResult Placer::place(bool gathers) {
  plan.rankOfResult.assign(plan.graph.getNumResults(), 0);
  DenseMap<Operation *, unsigned> positions;
  for (auto &[key, action] : plan.actions)
    for (auto [position, node] : llvm::enumerate(action.nodes))
      positions[node.node] = position;
  auto nodes = plan.graph.getBody().front().getOps<pipeline::NodeOp>();
  for (pipeline::NodeOp node : nodes)
    for (Value result : node.getOutputs()) {
      ValuePlan &made = plan.values[result];
      made.made = plan.keyOf(node);
      made.madeAt = made.lastHere = positions[node];
      numberOf[result] = numberOf.size();
    }
  for (pipeline::NodeOp node : nodes)
    for (Value input : node.getInputs())
      if (isa<OpResult>(input))
        addUse(input, plan.keyOf(node), positions[node]);
  for (auto [value, result] :
       llvm::zip(yield().getValues(), yield().getResults()))
    if (failed(addResult(value, result)))
      return failure();
  for (int64_t result = 0; result < int64_t(plan.rankOfResult.size()); ++result)
    if (plan.isAccumulated(result) && failed(chooseOwner(result)))
      return failure();
  llvm::stable_sort(plan.accumulators, [](const auto &a, const auto &b) {
    return std::tie(a.result, a.stage) < std::tie(b.result, b.stage);
  });
  countSums();
  findReads();
  if (gathers)
    chooseGathers(plan);
  chooseHomes();
  chooseOffload(plan);
  if (failed(chooseDepths(plan)))
    return failure();
  for (auto &[value, made] : plan.values)
    if (made.gather >= 0) {
      int64_t &depth = plan.gathers[made.gather].depth;
      depth = std::max(depth, made.stashes.front().depth.slots);
    }
  return success();
}

LogicalResult placeValues(Plan &plan, bool gathers) {
  return Placer(plan).place(gathers);
}

} // namespace stagewright::torank
