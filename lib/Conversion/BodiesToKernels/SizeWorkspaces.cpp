//===- SizeWorkspaces.cpp - size and layout of workspaces -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workspace has the values of actions, the temporaries of calls and, if that
// saves bytes, stashes of a fixed depth. Either the ring of a stash is one
// item, which is live while any of its slots is held, or each slot is an item
// (StashFrames.h). Rings of gathers need fixed places, so they are always
// items, beside temporaries. Lifetimes are computed from the unrolled programs,
// for the numbers of microbatches at which loops change their form, with one
// run after another on a common time axis. The k-th call is at 4 k + 1, copies
// after it at 4 k + 2, releases at 4 k + 3, and slots acquired for the next
// call at 4 k + 4.
//
//===----------------------------------------------------------------------===//

#include "StashFrames.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Support/Packing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYSIZEWORKSPACES
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// All items that may be in the workspace of one program, with lifetimes.
class Contents {
public:
  explicit Contents(rank::ProgramOp program);
  /// Adds the lifetimes of one run.
  void read(const rank::RankEvents &events);
  /// Places all items; returns the size of the workspace in bytes.
  int64_t place(LifePacker &packer);

private:
  void readViews();
  void applyPlaces(ArrayRef<PackItem> items, size_t first);

  rank::ProgramOp program;
  llvm::MapVector<Operation *, std::vector<Life>> calls, views, gathers,
      stashes;
  /// The times of each call in the current run.
  DenseMap<Operation *, SmallVector<int64_t>> times;
  int64_t now = 0; ///< Number of calls and finished runs so far.
  StashFrames frames;
};

/// End of the lifetime of views that no call delimits.
constexpr int64_t kAlways = int64_t(1) << 60;

/// Bytes of all slots of a ring.
int64_t bytesOf(rank::BufferOp buffer) {
  return rank::getSlotStride(buffer.getType()) * int64_t(buffer.getDepth());
}

/// The call at or before `user` in its block, or null.
Operation *callBefore(Operation *user) {
  while (user && !isa<rank::CallOp>(user))
    user = user->getPrevNode();
  return user;
}

} // namespace

/// Whether a copy writes into `slot`, or into a part of it.
static bool isCopyTarget(Value slot) {
  return llvm::any_of(slot.getUsers(), [](Operation *user) {
    auto part = dyn_cast<rank::PartOp>(user);
    return part ? isCopyTarget(part.getPart()) : isa<rank::CopyOp>(user);
  });
}

Contents::Contents(rank::ProgramOp program)
    : program(program), frames(program) {
  for (auto buffer : program.getBody().getOps<rank::BufferOp>())
    if (buffer.getKind() == rank::BufferKind::Stash && !buffer.isDepthAll() &&
        !program.isReadyFirst()) {
      if (!buffer.isCopied())
        stashes[buffer];
      else if (llvm::any_of(buffer.getBuffer().getUsers(),
                            llvm::IsaPred<rank::AllGatherOp>))
        gathers[buffer];
    }
  program.getEntry().walk([&](Operation *op) {
    if (auto call = dyn_cast<rank::CallOp>(op); call && call.getWorkspace())
      calls[call];
    else if (isa<rank::ViewOp>(op))
      views[op];
  });
}

void Contents::read(const rank::RankEvents &events) {
  frames.read(events);
  times.clear();
  struct Busy {
    int64_t slots = 0, from = 0;
  };
  DenseMap<Operation *, Busy> busy;
  for (const rank::Event &event : events.events) {
    auto *op =
        const_cast<Operation *>(static_cast<const Operation *>(event.origin));
    if (event.kind == rank::EventKind::Call) {
      int64_t at = 4 * ++now + 1;
      times[op].push_back(at);
      if (auto call = calls.find(op); call != calls.end())
        call->second.push_back({at, at});
    } else if (auto acquire = dyn_cast<rank::AcquireOp>(op)) {
      bool copied = isCopyTarget(acquire.getSlot());
      Busy &ring = busy[acquire.getBuffer().getDefiningOp()];
      if (ring.slots++ == 0)
        ring.from = 4 * now + (copied ? 2 : 4);
    } else if (auto release = dyn_cast<rank::ReleaseOp>(op)) {
      Operation *buffer = release.getBuffer().getDefiningOp();
      Busy &ring = busy[buffer];
      if (--ring.slots > 0)
        continue;
      for (auto *rings : {&stashes, &gathers})
        if (auto found = rings->find(buffer); found != rings->end())
          found->second.push_back(
              {ring.from, std::max(ring.from, 4 * now + 3)});
    }
  }
  readViews();
  ++now;
}

/// A view is live from the first call that uses it until after the copies that
/// follow the last such call.
void Contents::readViews() {
  for (auto &[op, lives] : views) {
    Operation *first = nullptr, *last = nullptr;
    bool known = !op->use_empty();
    for (Operation *user : op->getUsers()) {
      Operation *call = callBefore(user);
      known &= call != nullptr;
      if (!call)
        continue;
      if (!first || call->isBeforeInBlock(first))
        first = call;
      if (!last || last->isBeforeInBlock(call))
        last = call;
    }
    if (!known) {
      lives.assign(1, {0, kAlways});
      continue;
    }
    for (auto [from, to] : llvm::zip_equal(times[first], times[last]))
      lives.push_back({from, to + 1});
  }
}

/// Sets the offsets of calls, views and gathers to those of `items` from
/// `first` on.
void Contents::applyPlaces(ArrayRef<PackItem> items, size_t first) {
  for (auto &entry : calls)
    cast<rank::CallOp>(entry.first).setWorkspaceOffset(items[first++].offset);
  for (auto &entry : views)
    cast<rank::ViewOp>(entry.first).setOffset(items[first++].offset);
  for (auto &entry : gathers)
    cast<rank::BufferOp>(entry.first).setPlace(items[first++].offset);
}

int64_t Contents::place(LifePacker &packer) {
  std::vector<PackItem> own;
  for (auto &[op, lives] : calls)
    own.push_back({int64_t(llvm::alignTo(
                       cast<rank::CallOp>(op).getWorkspaceBytes(), kAlignment)),
                   lives, 0});
  for (auto &[op, lives] : views)
    own.push_back(
        {rank::getSlotStride(cast<rank::ViewOp>(op).getValue().getType()),
         lives, 0});
  for (auto &[op, lives] : gathers)
    own.push_back({bytesOf(cast<rank::BufferOp>(op)), lives, 0});

  // Stashes with equal lifetimes are placed as one item.
  std::map<std::vector<int64_t>, SmallVector<rank::BufferOp>> groups;
  int64_t apart = 0;
  for (auto &[op, lives] : stashes) {
    std::vector<int64_t> key;
    for (const Life &life : lives)
      key.insert(key.end(), {life.first, life.last});
    groups[key].push_back(cast<rank::BufferOp>(op));
    apart += bytesOf(cast<rank::BufferOp>(op));
  }
  std::vector<PackItem> all;
  for (auto &[key, members] : groups) {
    PackItem &item = all.emplace_back();
    for (rank::BufferOp member : members)
      item.bytes += bytesOf(member);
    item.lives = stashes[members.front()];
  }
  llvm::append_range(all, own);
  Packing separate = pack(own), shared = pack(all);
  int64_t least = std::min(separate.total + apart, shared.total);
  if (std::optional<int64_t> framed = frames.bytes(packer);
      framed && *framed + separate.total < least) {
    applyPlaces(own, 0);
    frames.place(separate.total);
    return *framed + separate.total;
  }
  if (shared.total >= separate.total + apart) {
    applyPlaces(own, 0);
    return separate.total;
  }
  size_t number = 0;
  for (auto &[key, members] : groups) {
    int64_t offset = all[number++].offset;
    for (rank::BufferOp member : members) {
      member.setPlace(offset);
      offset += bytesOf(member);
    }
  }
  applyPlaces(all, number);
  return shared.total;
}

namespace {

struct BodySizeWorkspacesPass
    : impl::BodySizeWorkspacesBase<BodySizeWorkspacesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
    llvm::sort(programs, [](rank::ProgramOp a, rank::ProgramOp b) {
      return a.getRank() < b.getRank();
    });
    std::vector<Contents> contents;
    for (rank::ProgramOp program : programs) {
      giveWorkspaces(program, symbols);
      contents.emplace_back(program);
    }
    for (int64_t microbatches : runsOf(programs)) {
      FailureOr<rank::Machine> machine = rank::unroll(module, microbatches);
      if (failed(machine))
        return signalPassFailure();
      for (auto [content, events] : llvm::zip_equal(contents, machine->ranks))
        content.read(events);
    }
    LifePacker packer; // Replicas have equal stashes, packed once.
    for (auto [program, content] : llvm::zip_equal(programs, contents))
      resize(workspaceOf(program), content.place(packer));
  }

  /// The numbers of microbatches at which loops take each of their forms.
  static SmallVector<int64_t> runsOf(ArrayRef<rank::ProgramOp> programs) {
    llvm::SmallSetVector<int64_t, 8> runs;
    for (rank::ProgramOp program : programs)
      if (program.getOnly())
        return {program.getMicrobatches()};
    if (programs.empty())
      return {};
    auto forms = formsOfLoops(int64_t(programs.size()));
    forms.back() = std::min<int64_t>(
        forms.back(), rank::ProgramOp(programs.front()).getMicrobatches());
    runs.insert(forms.begin(), forms.end());
    return runs.takeVector();
  }

  static rank::BufferOp workspaceOf(rank::ProgramOp program) {
    for (auto buffer : program.getBody().getOps<rank::BufferOp>())
      if (buffer.getKind() == rank::BufferKind::Workspace)
        return buffer;
    return {};
  }

  static void resize(rank::BufferOp workspace, int64_t bytes) {
    if (bytes == 0)
      return workspace.erase();
    auto type =
        MemRefType::get({bytes}, IntegerType::get(workspace.getContext(), 8));
    workspace->setAttr(workspace.getTypeAttrName(), TypeAttr::get(type));
  }

  /// Adds a workspace to `program` if it has none, and passes it to the calls
  /// that need one.
  void giveWorkspaces(rank::ProgramOp program, SymbolTable &symbols) {
    rank::BufferOp workspace = workspaceOf(program);
    OpBuilder builder(program.getEntry());
    if (!workspace)
      workspace = rank::BufferOp::create(
          builder, program.getLoc(), rank::BufferType::get(&getContext()),
          builder.getStringAttr("workspace"),
          rank::BufferKindAttr::get(&getContext(), rank::BufferKind::Workspace),
          IntegerAttr(), IntegerAttr(), builder.getI64IntegerAttr(1),
          TypeAttr::get(MemRefType::get({0}, builder.getI8Type())),
          IntegerAttr(), DenseI64ArrayAttr(), /*on_host=*/UnitAttr(),
          /*own=*/IntegerAttr(), /*weight=*/FloatAttr(),
          /*turns=*/DenseI64ArrayAttr(), /*period=*/IntegerAttr());
    program.getEntry().walk([&](rank::CallOp call) {
      auto body = symbols.lookup<func::FuncOp>(call.getCallee());
      auto bytes =
          body ? body->getAttrOfType<IntegerAttr>(kWorkspace) : IntegerAttr();
      bool needs = bytes && bytes.getInt() > 0;
      if (needs)
        call.getWorkspaceMutable().assign(workspace.getBuffer());
      else
        call.getWorkspaceMutable().clear();
      call.setWorkspaceOffset(0);
      call.setWorkspaceBytes(needs ? bytes.getInt() : 0);
    });
  }
};

} // namespace
} // namespace stagewright::bodies
