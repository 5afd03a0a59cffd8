//===- SizeWorkspaces.cpp - workspace of every rank --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTSIZEWORKSPACES
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostSizeWorkspacesPass
    : impl::HostSizeWorkspacesBase<HostSizeWorkspacesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<rank::ProgramOp>())
      size(program, symbols);
  }

  void size(rank::ProgramOp program, SymbolTable &symbols) {
    rank::BufferOp workspace;
    for (auto buffer : program.getBody().getOps<rank::BufferOp>())
      if (buffer.getKind() == rank::BufferKind::Workspace)
        workspace = buffer;
    OpBuilder builder(program.getEntry());
    // The type is fixed below, when the need is known.
    auto bytesType = [&](int64_t bytes) {
      return MemRefType::get({bytes}, builder.getI8Type());
    };
    if (!workspace)
      workspace = rank::BufferOp::create(
          builder, program.getLoc(), rank::BufferType::get(&getContext()),
          builder.getStringAttr("workspace"),
          rank::BufferKindAttr::get(&getContext(), rank::BufferKind::Workspace),
          IntegerAttr(), IntegerAttr(), builder.getI64IntegerAttr(1),
          TypeAttr::get(bytesType(0)));

    int64_t need = 0;
    program.getEntry().walk([&](rank::ActionOp action) {
      int64_t values = 0;
      action.walk([&](rank::ViewOp view) {
        int64_t end =
            view.getOffset() +
            rank::getSlotBytes(cast<MemRefType>(view.getValue().getType()));
        values = std::max<int64_t>(values, llvm::alignTo(end, kAlignment));
      });
      need = std::max(need, values);
      action.walk([&](rank::CallOp call) {
        auto body = symbols.lookup<func::FuncOp>(call.getCallee());
        auto bytes =
            body ? body->getAttrOfType<IntegerAttr>(kWorkspace) : IntegerAttr();
        if (!bytes || bytes.getInt() == 0) {
          call.getWorkspaceMutable().clear();
          call.setWorkspaceOffset(0);
          call.setWorkspaceBytes(0);
          return;
        }
        // A call that knows its place keeps it; others go behind all values.
        int64_t offset =
            call.getWorkspace() ? call.getWorkspaceOffset() : values;
        call.getWorkspaceMutable().assign(workspace.getBuffer());
        call.setWorkspaceOffset(offset);
        call.setWorkspaceBytes(bytes.getInt());
        need = std::max(need, offset + bytes.getInt());
      });
    });
    if (need > 0)
      workspace->setAttr(workspace.getTypeAttrName(),
                         TypeAttr::get(bytesType(need)));
    else
      workspace.erase();
  }
};

} // namespace
} // namespace stagewright::host
