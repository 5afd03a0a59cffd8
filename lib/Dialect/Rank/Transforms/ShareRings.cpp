//===- ShareRings.cpp - rank-share-rings ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Dialect/Rank/Transforms/Memory.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace stagewright::rank {
#define GEN_PASS_DEF_SHARERINGS
#include "stagewright/Dialect/Rank/Transforms/Passes.h.inc"
} // namespace stagewright::rank

using namespace mlir;
using namespace stagewright::rank;

namespace {

/// Slots beside those that ranks at one pace need.
constexpr int64_t kAhead = 2;

/// A channel that may share the ring of others.
struct Member {
  ChannelOp channel;
  int32_t object; ///< Its number in the machine.
  int64_t slots;
  int64_t held = 0; ///< Most messages claimed from its claim to its release.
};

/// Channels of one pair of ranks with slots of one type, and their messages
/// numbered as they are claimed.
struct Group {
  SmallVector<Member> members;
  DenseMap<std::pair<int32_t, int64_t>, int64_t> numbers;
  std::vector<bool> released; ///< By number.
  int64_t claimed = 0;        ///< So far.
  int64_t first = 0;          ///< The first number that is not released.
  int64_t window = 0;         ///< Most numbers from there to the one claimed.

  void see(const Event &event);
  /// Leaves out whose messages are held so long that slots of their own are
  /// fewer than those that others would need.
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

void Group::see(const Event &event) {
  int64_t number = numbers.lookup({event.object, event.microbatch});
  if (event.kind == EventKind::Claim) {
    ++claimed;
    window = std::max(window, number - first + 1);
  }
  if (event.kind != EventKind::ReleaseChannel)
    return;
  auto member = llvm::find_if(
      members, [&](const Member &it) { return it.object == event.object; });
  member->held = std::max(member->held, claimed - number);
  released[size_t(number)] = true;
  while (size_t(first) < released.size() && released[size_t(first)])
    ++first;
}

void Group::select() {
  llvm::stable_sort(members, [](const Member &a, const Member &b) {
    return a.held > b.held;
  });
  // The slots if the first members stay by themselves.
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

/// The numbers of an operation's messages, by microbatch.
using Numbers = std::map<int64_t, int64_t>;

/// The table of an order that chooses an operation, and the rows that do.
struct Choice {
  TableOp table;
  scf::IndexSwitchOp choice;
  unsigned region = 0; ///< 0: the default.

  bool takes(int64_t which) {
    ArrayRef<int64_t> cases = choice.getCases();
    return region == 0 ? !llvm::is_contained(cases, which)
                       : cases[region - 1] == which;
  }
};

std::optional<Choice> choiceOf(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (auto choice = dyn_cast<scf::IndexSwitchOp>(region->getParentOp()))
      if (auto table = choice.getArg().getDefiningOp<TableOp>();
          table && choice.getArg() == table.getWhich())
        return Choice{table, choice, region->getRegionNumber()};
  return std::nullopt;
}

/// Rewrites the operations of one program.
class Numberer {
public:
  explicit Numberer(ProgramOp program)
      : entry(&program.getEntry().getBody().front()) {}

  // Operations of a block come in their order.

  /// Notes numbers of an operation in an order that a table gives; false where
  /// they do not follow from its rows by what `op` alone adds.
  bool note(Operation *op, StringRef stream, const Numbers &numbers);
  /// The number of the message of `op`, whose microbatch is its operand.
  Value numberOf(Operation *op, StringRef stream, const Numbers &numbers);

private:
  /// Of every row of a table, the number of a message; -1 where nobody asks.
  struct Column {
    std::vector<int64_t> numbers;
    Value value;
  };
  Column &columnOf(TableOp table, StringRef stream) {
    Column &column = columns[{table.getOperation(), stream.str()}];
    column.numbers.resize(table.getCases().size(), -1);
    return column;
  }
  Value constant(int64_t number);
  /// `slope` times `of` and `number`, before `op`.
  Value linear(Operation *op, Value of, int64_t slope, int64_t number);
  Value readTable(OpBuilder &builder, Location loc, Value row,
                  ArrayRef<int64_t> numbers);

  Block *entry;
  DenseMap<int64_t, Value> constants;
  std::map<std::tuple<Block *, void *, int64_t, int64_t>, Value> linears;
  std::map<std::pair<Operation *, std::string>, Column> columns;
  DenseMap<Operation *, int64_t> offsets; ///< From the column to the number.
};

bool Numberer::note(Operation *op, StringRef stream, const Numbers &numbers) {
  std::optional<Choice> choice = choiceOf(op);
  if (!choice || op->getOperand(0) != choice->table.getMicrobatch())
    return false;
  TableOp table = choice->table;
  Column &column = columnOf(table, stream);
  std::vector<int64_t> known = column.numbers;
  std::optional<int64_t> offset;
  for (auto [row, which, m] :
       llvm::enumerate(table.getCases(), table.getMicrobatches())) {
    auto number = numbers.find(m);
    if (number == numbers.end() || !choice->takes(which))
      continue;
    if (known[row] < 0)
      known[row] = number->second;
    int64_t own = number->second - known[row];
    if (offset && *offset != own)
      return false;
    offset = own;
  }
  column.numbers = std::move(known);
  offsets[op] = offset.value_or(0);
  return true;
}

Value Numberer::numberOf(Operation *op, StringRef stream,
                         const Numbers &numbers) {
  OpBuilder builder(op);
  Value m = op->getOperand(0);
  if (auto offset = offsets.find(op); offset != offsets.end()) {
    TableOp table = choiceOf(op)->table;
    Column &column = columnOf(table, stream);
    if (!column.value) {
      builder.setInsertionPointAfter(table);
      column.value =
          readTable(builder, table.getLoc(), table.getRow(), column.numbers);
    }
    return linear(op, column.value, 1, offset->second);
  }
  auto [m0, n0] = *numbers.begin();
  auto [m1, n1] = *numbers.rbegin();
  if (m0 == m1)
    return constant(n0);
  int64_t slope = (n1 - n0) / (m1 - m0);
  bool isLinear = llvm::all_of(numbers, [&, m0 = m0, n0 = n0](const auto &it) {
    return it.second == n0 + slope * (it.first - m0);
  });
  if (isLinear)
    return linear(op, m, slope, n0 - slope * m0);
  std::vector<int64_t> rows(size_t(m1 + 1), -1);
  for (auto [of, number] : numbers)
    rows[size_t(of)] = number;
  return readTable(builder, op->getLoc(), m, rows);
}

Value Numberer::constant(int64_t number) {
  Value &known = constants[number];
  if (!known) {
    auto builder = OpBuilder::atBlockBegin(entry);
    known = arith::ConstantIndexOp::create(
        builder, entry->getParentOp()->getLoc(), number);
  }
  return known;
}

Value Numberer::linear(Operation *op, Value of, int64_t slope, int64_t number) {
  Value &known =
      linears[{op->getBlock(), of.getAsOpaquePointer(), slope, number}];
  if (known)
    return known;
  OpBuilder builder(op);
  known = of;
  if (slope != 1)
    known =
        arith::MulIOp::create(builder, op->getLoc(), known, constant(slope));
  if (number != 0)
    known =
        arith::AddIOp::create(builder, op->getLoc(), known, constant(number));
  return known;
}

Value Numberer::readTable(OpBuilder &builder, Location loc, Value row,
                          ArrayRef<int64_t> numbers) {
  SmallVector<int64_t> values = llvm::map_to_vector(
      numbers, [](int64_t number) { return std::max<int64_t>(number, 0); });
  SmallVector<int64_t> cases(values.size(), 0);
  Type index = builder.getIndexType();
  return TableOp::create(builder, loc, index, index, row, cases, values)
      .getMicrobatch();
}

class Sharing {
public:
  Sharing(ModuleOp module, const Machine &machine)
      : module(module), machine(machine) {}

  /// How many channels have gone; the module is as it was where ranks would
  /// wait for ever.
  int64_t run();

private:
  void findGroups();
  bool measure();
  void rewrite();
  Group *groupOf(const Event &event) {
    return event.kind <= EventKind::ReleaseChannel ? of[event.object] : nullptr;
  }

  ModuleOp module;
  const Machine &machine;
  llvm::MapVector<std::tuple<int64_t, int64_t, Type>, Group> groups;
  std::vector<Group *> of; ///< By channel; null: it stays.
};

void Sharing::findGroups() {
  for (auto [object, channel] : llvm::enumerate(module.getOps<ChannelOp>()))
    if (!channel.getOnce() && !channel.isDepthAll() && !channel.getMessages())
      groups[{channel.getFrom(), channel.getTo(), channel.getType()}]
          .members.push_back(
              {channel, int32_t(object), machine.channels[object].slots});
}

/// Numbers messages and looks at a run; false where that does not end.
bool Sharing::measure() {
  of.assign(machine.channels.size(), nullptr);
  for (auto &[key, group] : groups) {
    group.numbers.clear();
    group.released.clear();
    group.claimed = group.first = group.window = 0;
    for (const Member &member : group.members)
      of[size_t(member.object)] = &group;
  }
  for (const RankEvents &rank : machine.ranks)
    for (const Event &event : rank.events)
      if (Group *group = groupOf(event);
          group && event.kind == EventKind::Claim) {
        int64_t number = int64_t(group->released.size());
        group->numbers[{event.object, event.microbatch}] = number;
        group->released.push_back(false);
      }
  return !runInStep(machine, [&](size_t, const Event &event) {
    if (Group *group = groupOf(event))
      group->see(event);
  });
}

void Sharing::rewrite() {
  SymbolTable symbols(module);
  DenseMap<Group *, FlatSymbolRefAttr> names;
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
    symbols.insert(shared); // Under another name where it is taken.
    names[&group] = FlatSymbolRefAttr::get(shared);
  }
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  for (ProgramOp program : programs) {
    llvm::MapVector<Operation *, std::pair<Group *, Numbers>> found;
    for (const Event &event : machine.ranks[program.getRank()].events)
      if (Group *group = groupOf(event); group && names.contains(group)) {
        // The machine only passes the operations through.
        auto *op = const_cast<Operation *>(
            static_cast<const Operation *>(event.origin));
        auto &[own, numbers] = found[op];
        own = group;
        numbers[event.microbatch] =
            group->numbers.lookup({event.object, event.microbatch});
      }
    Numberer numberer(program);
    for (auto &[op, entry] : found)
      numberer.note(op, names[entry.first].getValue(), entry.second);
    for (auto &[op, entry] : found) {
      auto &[group, numbers] = entry;
      FlatSymbolRefAttr name = names[group];
      op->setOperand(0, numberer.numberOf(op, name.getValue(), numbers));
      op->setAttr("channel", name);
    }
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

struct ShareRingsPass
    : stagewright::rank::impl::ShareRingsBase<ShareRingsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = module.getOps<ProgramOp>();
    if (programs.empty() ||
        !llvm::all_of(programs, [](ProgramOp op) { return op.getOnly(); }))
      return markAllAnalysesPreserved();
    FailureOr<Machine> machine = unroll(module, 0);
    if (failed(machine))
      return signalPassFailure();
    numMerged += Sharing(module, *machine).run();
  }
};

} // namespace
