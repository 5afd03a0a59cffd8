//===- ShareRings.cpp - rank-share-rings ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageNumbers.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

namespace stagewright::rank {
#define GEN_PASS_DEF_SHARERINGS
#include "stagewright/Dialect/Rank/Transforms/Passes.h.inc"

namespace {

/// Slots beyond those needed in lockstep, so that a sender may run ahead.
constexpr int64_t kAhead = 2;

/// A channel that may share one ring with others.
struct Member {
  ChannelOp channel;
  int32_t object; ///< Its index in Machine::channels.
  int64_t slots;
  /// Max number of messages that the group claims from a claim of the member to
  /// the release of that message.
  int64_t held = 0;
};

/// The channels from one rank to another with one type of slot. Their messages
/// are numbered in the order in which the sender claims slots.
struct Group {
  SmallVector<Member> members;
  DenseMap<std::pair<int32_t, int64_t>, int64_t> numbers;
  std::vector<bool> released; ///< By message number.
  int64_t claimed = 0;        ///< Messages claimed so far.
  int64_t first = 0;          ///< The smallest number not released.
  int64_t window = 0; ///< Max count of numbers from `first` to a claimed one.

  void see(const Event &event, Member &member);
  /// Removes members that hold messages so long that sharing would need more
  /// slots than leaving them their own rings.
  void select();
  int64_t depth() const {
    return std::min(window + kAhead, int64_t(released.size()));
  }
  bool saves() const {
    int64_t slots = 0;
    for (const Member &member : members)
      slots += member.slots;
    return members.size() > 1 && depth() < slots;
  }
};

void Group::see(const Event &event, Member &member) {
  int64_t number = numbers.lookup({event.object, event.microbatch});
  if (event.kind == EventKind::Claim) {
    ++claimed;
    window = std::max(window, number - first + 1);
  }
  if (event.kind != EventKind::ReleaseChannel)
    return;
  member.held = std::max(member.held, claimed - number);
  released[size_t(number)] = true;
  while (size_t(first) < released.size() && released[size_t(first)])
    ++first;
}

void Group::select() {
  llvm::stable_sort(members, [](const Member &a, const Member &b) {
    return a.held > b.held;
  });
  // Find how many of the first members to leave out for the fewest slots.
  size_t best = members.size();
  int64_t fewest = std::numeric_limits<int64_t>::max(), apart = 0;
  for (size_t count = 0; count < members.size(); ++count) {
    if (apart + members[count].held < fewest) {
      fewest = apart + members[count].held;
      best = count;
    }
    apart += members[count].slots;
  }
  members.erase(members.begin(), members.begin() + best);
  llvm::stable_sort(members, [](const Member &a, const Member &b) {
    return a.object < b.object;
  });
}

class Sharing {
public:
  Sharing(ModuleOp module, const Machine &machine)
      : module(module), machine(machine) {}

  /// Returns the net number of channels removed. Changes nothing if the
  /// simulated run deadlocks.
  int64_t run();

private:
  void findGroups();
  bool measure();
  void rewrite();
  /// The group and the member of a channel; null if it keeps its ring.
  struct Place {
    Group *group = nullptr;
    Member *member = nullptr;
  };
  Place placeOf(const Event &event) {
    return event.kind <= EventKind::ReleaseChannel ? of[event.object] : Place();
  }

  ModuleOp module;
  const Machine &machine;
  llvm::MapVector<std::tuple<int64_t, int64_t, Type>, Group> groups;
  std::vector<Place> of; ///< By channel index.
};

void Sharing::findGroups() {
  for (auto [object, channel] : llvm::enumerate(module.getOps<ChannelOp>()))
    if (!channel.getOnce() && !channel.isDepthAll() && !channel.getMessages())
      groups[{channel.getFrom(), channel.getTo(), channel.getType()}]
          .members.push_back(
              {channel, int32_t(object), machine.channels[object].slots});
}

/// Numbers the messages and measures a simulated run; false if it deadlocks.
bool Sharing::measure() {
  of.assign(machine.channels.size(), {});
  for (auto &[key, group] : groups) {
    group.numbers.clear();
    group.released.clear();
    group.claimed = group.first = group.window = 0;
    for (Member &member : group.members)
      of[size_t(member.object)] = {&group, &member};
  }
  for (const RankEvents &rank : machine.ranks)
    for (const Event &event : rank.events)
      if (Group *group = placeOf(event).group;
          group && event.kind == EventKind::Claim) {
        int64_t number = int64_t(group->released.size());
        group->numbers[{event.object, event.microbatch}] = number;
        group->released.push_back(false);
      }
  return !runInStep(machine, [&](size_t, const Event &event) {
    if (Place place = placeOf(event); place.group)
      place.group->see(event, *place.member);
  });
}

void Sharing::rewrite() {
  SymbolTable symbols(module);
  DenseMap<Group *, FlatSymbolRefAttr> names;
  DenseMap<Attribute, FlatSymbolRefAttr> sharedBy; // By old channel.
  for (auto &[key, group] : groups) {
    if (!group.saves())
      continue;
    ChannelOp first = group.members.front().channel;
    OpBuilder builder(first);
    std::string name = "from" + std::to_string(first.getFrom()) + ".to" +
                       std::to_string(first.getTo());
    auto shared = ChannelOp::create(
        builder, first.getLoc(), builder.getStringAttr(name),
        builder.getI64IntegerAttr(first.getFrom()),
        builder.getI64IntegerAttr(first.getTo()),
        builder.getI64IntegerAttr(group.depth()), UnitAttr(), UnitAttr(),
        builder.getI64IntegerAttr(int64_t(group.released.size())),
        first.getTypeAttr());
    symbols.insert(shared); // Renames it if the name is taken.
    names[&group] = FlatSymbolRefAttr::get(shared);
    for (Member &member : group.members)
      sharedBy[FlatSymbolRefAttr::get(member.channel)] = names[&group];
  }
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  for (ProgramOp program : programs) {
    llvm::MapVector<Operation *, std::pair<Group *, MessageNumbers>> found;
    for (const Event &event : machine.ranks[program.getRank()].events)
      if (Group *group = placeOf(event).group; group && names.contains(group)) {
        // Event::origin is const, since the machine does not change operations.
        auto *op = const_cast<Operation *>(
            static_cast<const Operation *>(event.origin));
        auto &[own, numbers] = found[op];
        own = group;
        numbers[event.microbatch] =
            group->numbers.lookup({event.object, event.microbatch});
      }
    MessageNumberer numberer(program);
    for (auto &[op, entry] : found)
      numberer.note(op, names[entry.first], entry.second);
    for (auto &[op, entry] : found)
      op->setOperand(0, numberer.numberOf(op, entry.second));
    program.walk([&](Operation *op) { // Also of transfers that never run.
      if (auto shared = sharedBy.lookup(op->getAttr("channel")))
        op->setAttr("channel", shared);
    });
  }
  for (auto &[group, name] : names)
    for (Member &member : group->members)
      member.channel.erase();
}

int64_t Sharing::run() {
  findGroups();
  if (!measure())
    return 0;
  for (auto &[key, group] : groups)
    group.select();
  if (!measure())
    return 0;
  int64_t merged = 0;
  for (auto &[key, group] : groups)
    if (group.saves())
      merged += int64_t(group.members.size()) - 1;
  if (merged > 0)
    rewrite();
  return merged;
}

struct ShareRingsPass : impl::ShareRingsBase<ShareRingsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = module.getOps<ProgramOp>();
    if (programs.empty() || !llvm::all_of(programs, [](ProgramOp op) {
          // Without an order, each ring must have one lane that fills it.
          return op.getOnly() && !op.isReadyFirst();
        }))
      return markAllAnalysesPreserved();
    FailureOr<Machine> machine = unroll(module, 0);
    if (failed(machine))
      return signalPassFailure();
    numMerged += Sharing(module, *machine).run();
  }
};

} // namespace

} // namespace stagewright::rank
