//===- LowerRankToHost.cpp - rank programs as functions -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeArtifact.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::host {
#define GEN_PASS_DEF_LOWERRANKTOHOST
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Whether the first argument of `body` is the `sw_rank *`, as in bodies for a
/// GPU.
bool takesRank(func::FuncOp body) {
  return body.getNumArguments() > 0 &&
         isa<LLVM::LLVMPointerType>(body.getArgumentTypes()[0]);
}

/// Writes one program as a function `(rank, microbatches)`.
struct Writer {
  ModuleOp module;
  SymbolTable &symbols; ///< Of `module`, with thousands of symbols.
  rank::ProgramOp program;
  OpBuilder &builder;
  const llvm::StringMap<int64_t> &channels, &collectives;

  DenseMap<Value, int64_t> buffers = numberBuffers(program);
  llvm::MapVector<StringAttr, int64_t> nodes = numberNodes(program);
  rank::LiveWorkspaces workspaces = {};
  IRMapping mapping = {};
  Value context = {};   ///< the `sw_rank *` of the entry
  int64_t averages = 0; ///< written so far

  LLVM::LLVMPointerType pointer() {
    return LLVM::LLVMPointerType::get(builder.getContext());
  }

  void write() {
    Location loc = program.getLoc();
    builder.setInsertionPoint(program);
    auto function = func::FuncOp::create(
        builder, loc, program.getSymName(),
        builder.getFunctionType({pointer(), builder.getI64Type()}, {}));
    symbols.remove(program); // The function takes its name.
    symbols.insert(function);
    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    context = entry->getArgument(0);
    mapping.map(program.getEntry().getMicrobatches(),
                arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           entry->getArgument(1)));
    writeBlock(program.getEntry().getBody().front());
    func::ReturnOp::create(builder, loc);
    program.erase();
  }

  void writeBlock(Block &block) {
    for (Operation &op : block)
      writeOp(op);
  }

  void writeOp(Operation &op) {
    Location loc = op.getLoc();
    llvm::TypeSwitch<Operation *>(&op)
        .Case<rank::SlotOp>([&](auto slot) {
          Value m = slot.getMicrobatch() ? index(loc, slot.getMicrobatch())
                                         : constant(loc, 0);
          returned(slot.getSlot(), "sw_slot",
                   {bufferId(loc, slot.getBuffer()), m});
        })
        .Case<rank::AcquireOp>([&](auto acquire) {
          returned(acquire.getSlot(), "sw_acquire",
                   {bufferId(loc, acquire.getBuffer()),
                    index(loc, acquire.getMicrobatch())});
        })
        .Case<rank::ReleaseOp>([&](auto release) {
          call(loc, "sw_release",
               {bufferId(loc, release.getBuffer()),
                index(loc, release.getMicrobatch())});
        })
        .Case<rank::OffloadOp>(
            [&](auto copy) { call(loc, "sw_offload", copied(copy)); })
        .Case<rank::FetchOp>(
            [&](auto copy) { call(loc, "sw_fetch", copied(copy)); })
        .Case<rank::FetchedOp>([&](auto fetched) {
          returned(fetched.getSlot(), "sw_fetched",
                   {bufferId(loc, fetched.getBuffer()),
                    index(loc, fetched.getMicrobatch())});
        })
        .Case<rank::ClaimOp>(
            [&](auto op) { returned(op.getSlot(), "sw_claim", transfer(op)); })
        .Case<rank::RecvOp>(
            [&](auto op) { returned(op.getSlot(), "sw_recv", transfer(op)); })
        // A received message stays in its slot, so a second sw_recv does not
        // wait.
        .Case<rank::ReceivedOp>(
            [&](auto op) { returned(op.getSlot(), "sw_recv", transfer(op)); })
        .Case<rank::SendOp>(
            [&](auto op) { call(loc, "sw_send", transfer(op)); })
        .Case<rank::ReleaseChannelOp>(
            [&](auto op) { call(loc, "sw_release_channel", transfer(op)); })
        .Case<rank::AllReduceOp>(
            [&](rank::AllReduceOp sum) { writeAllReduce(sum); })
        .Case<rank::AwaitReducedOp>([&](rank::AwaitReducedOp sum) {
          call(loc, "sw_await_reduced", {collective(sum)});
        })
        .Case<rank::AllGatherOp>([&](rank::AllGatherOp gather) {
          call(loc, "sw_all_reduce", {slotOfGather(gather)});
        })
        .Case<rank::AwaitGatheredOp>([&](rank::AwaitGatheredOp gather) {
          call(loc, "sw_await_reduced", {slotOfGather(gather)});
        })
        .Case<rank::PartOp>([&](rank::PartOp part) {
          int64_t bytes = rank::getSlotBytes(part.getPart().getType());
          asBuffer(part.getPart(), offset(loc, addressOf(loc, part.getSlot()),
                                          part.getNumber() * bytes));
        })
        .Case<rank::AverageOp>([&](rank::AverageOp average) {
          call(average.getLoc(), "sw_average",
               {constant(average.getLoc(), averages++)});
        })
        .Case<rank::ViewOp>([&](rank::ViewOp view) {
          Value base = slotOf(loc, view.getWorkspace());
          asBuffer(view.getValue(), offset(loc, base, view.getOffset()));
        })
        .Case<rank::TableOp>([&](rank::TableOp table) { writeTable(table); })
        .Case<rank::ChooseOp>([&](rank::ChooseOp choice) {
          // The rows and what they wait for are in the artifact.
          Value row = call(loc, "sw_choose", {}, builder.getI64Type());
          mapping.map(choice.getRow(),
                      arith::IndexCastOp::create(builder, loc,
                                                 builder.getIndexType(), row));
        })
        .Case<rank::ActionOp>(
            [&](rank::ActionOp action) { writeAction(action); })
        .Case<rank::CallOp>([&](rank::CallOp call) { writeCall(call); })
        .Case<rank::ZeroOp>([&](rank::ZeroOp zero) { writeFill(zero); })
        .Default([&](Operation *op) {
          Operation *copy = builder.cloneWithoutRegions(*op, mapping);
          OpBuilder::InsertionGuard guard(builder);
          for (auto [from, to] :
               llvm::zip_equal(op->getRegions(), copy->getRegions()))
            for (Block &block : from) {
              Block *written = builder.createBlock(&to, to.end());
              for (BlockArgument argument : block.getArguments())
                mapping.map(argument, written->addArgument(argument.getType(),
                                                           argument.getLoc()));
              builder.setInsertionPointToEnd(written);
              writeBlock(block);
            }
        });
  }

  /// The buffers to sum are listed in the artifact.
  void writeAllReduce(rank::AllReduceOp sum) {
    Location loc = sum.getLoc();
    OpBuilder::InsertionGuard guard(builder);
    if (sum.getLast()) {
      Value isLast = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq,
          mapping.lookup(sum.getMicrobatch()), mapping.lookup(sum.getLast()));
      auto choice = scf::IfOp::create(builder, loc, isLast);
      builder.setInsertionPointToStart(&choice.getThenRegion().front());
    }
    call(loc, "sw_all_reduce", {collective(sum)});
  }

  /// Writes the columns as constant data and reads the entry of the row from
  /// each.
  void writeTable(rank::TableOp table) {
    Location loc = table.getLoc();
    Value row = index(loc, table.getRow());
    auto column = [&](ArrayRef<int64_t> numbers, StringRef name, Value result) {
      OpBuilder top(module.getBodyRegion());
      Type type = LLVM::LLVMArrayType::get(top.getI64Type(), numbers.size());
      std::string symbol = (program.getSymName() + "." + name).str();
      auto data = LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true,
                                         LLVM::Linkage::Internal, symbol,
                                         top.getI64TensorAttr(numbers));
      symbols.insert(data); // Renamed if the name is taken.
      Value address =
          LLVM::GEPOp::create(builder, loc, pointer(), builder.getI64Type(),
                              LLVM::AddressOfOp::create(builder, loc, data),
                              ArrayRef<LLVM::GEPArg>{row});
      mapping.map(result,
                  arith::IndexCastOp::create(
                      builder, loc, builder.getIndexType(),
                      LLVM::LoadOp::create(builder, loc, builder.getI64Type(),
                                           address)));
    };
    column(table.getCases(), "cases", table.getWhich());
    column(table.getMicrobatches(), "microbatches", table.getMicrobatch());
  }

  void writeAction(rank::ActionOp action) {
    Location loc = action.getLoc();
    Value kind = arith::ConstantIntOp::create(
        builder, loc, builder.getI32Type(), letter(action.getKind()));
    call(loc, "sw_action_begin",
         {kind, constant(loc, action.getStage()),
          index(loc, action.getMicrobatch())});
    writeBlock(action.getBody().front());
    call(loc, "sw_action_end", {});
  }

  void writeCall(rank::CallOp op) {
    Location loc = op.getLoc();
    auto body = symbols.lookup<func::FuncOp>(op.getCallee());
    SmallVector<Value> arguments;
    if (takesRank(body))
      arguments.push_back(context);
    for (OperandRange range :
         {op.getInputs(), op.getOutputs(), op.getAccumulators()})
      for (Value value : range)
        arguments.push_back(mapping.lookup(value));
    if (body.getNumArguments() > arguments.size()) {
      Value base = op.getWorkspace()
                       ? offset(loc, slotOf(loc, op.getWorkspace()),
                                op.getWorkspaceOffset())
                       : LLVM::ZeroOp::create(builder, loc, pointer());
      arguments.push_back(
          UnrealizedConversionCastOp::create(
              builder, loc, body.getArgumentTypes().back(), base)
              .getResult(0));
    }
    Value node = constant(loc, nodes.lookup(op.getNodeAttr()));
    call(loc, "sw_node_begin", {node});
    func::CallOp::create(builder, loc, body, arguments);
    call(loc, "sw_node_end",
         {node, constant(loc, workspaces.of(op->getBlock()).bytesOf(op))});
  }

  /// A memset: a slot is contiguous, and zero of every type has only zero bits.
  void writeFill(rank::ZeroOp zero) {
    Location loc = zero.getLoc();
    auto type = cast<MemRefType>(zero.getTarget().getType());
    int64_t bits = type.getElementTypeBitWidth();
    Value slot = addressOf(loc, zero.getTarget());
    Value none =
        arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), 0);
    call(loc, "sw_fill",
         {slot, none, constant(loc, type.getNumElements() * ((bits + 7) / 8))});
  }

  Value constant(Location loc, int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                        value);
  }
  Value index(Location loc, Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      mapping.lookup(value));
  }
  Value bufferId(Location loc, Value buffer) {
    return constant(loc, buffers.lookup(buffer));
  }
  Value slotOf(Location loc, Value buffer) {
    return call(loc, "sw_slot", {bufferId(loc, buffer), constant(loc, 0)},
                pointer());
  }
  Value offset(Location loc, Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    // As a value, since a constant GEP index has only 29 bits.
    return LLVM::GEPOp::create(builder, loc, pointer(), builder.getI8Type(),
                               base, LLVM::GEPArg(constant(loc, bytes)));
  }
  template <typename Op> SmallVector<Value> transfer(Op op) {
    return {constant(op.getLoc(), channels.lookup(op.getChannel())),
            index(op.getLoc(), op.getMicrobatch())};
  }
  /// The arguments of a copy from or to the host: both buffers, the microbatch.
  template <typename Op> SmallVector<Value> copied(Op op) {
    return {bufferId(op.getLoc(), op.getSource()),
            bufferId(op.getLoc(), op.getTarget()),
            index(op.getLoc(), op.getMicrobatch())};
  }

  template <typename Op> Value collective(Op op) {
    return constant(op.getLoc(), collectives.lookup(op.getCollective()));
  }
  /// The slots of a gather are collectives with successive numbers.
  template <typename Op> Value slotOfGather(Op op) {
    Location loc = op.getLoc();
    auto gather = symbols.lookup<rank::GatherOp>(op.getCollective());
    Value slot =
        arith::RemUIOp::create(builder, loc, index(loc, op.getMicrobatch()),
                               constant(loc, gather.getDepth()));
    return arith::AddIOp::create(builder, loc, collective(op), slot);
  }

  Value addressOf(Location loc, Value buffer) {
    return UnrealizedConversionCastOp::create(builder, loc, pointer(),
                                              mapping.lookup(buffer))
        .getResult(0);
  }

  void asBuffer(Value result, Value address) {
    mapping.map(result, UnrealizedConversionCastOp::create(
                            builder, result.getLoc(), result.getType(), address)
                            .getResult(0));
  }
  void returned(Value result, StringRef name, ArrayRef<Value> arguments) {
    asBuffer(result, call(result.getLoc(), name, arguments, pointer()));
  }

  /// Calls a function of the runtime; the rank is always the first argument.
  Value call(Location loc, StringRef name, ArrayRef<Value> rest,
             Type result = {}) {
    SmallVector<Value> arguments = {context};
    llvm::append_range(arguments, rest);
    auto callee = symbols.lookup<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder top(module.getBodyRegion());
      callee = LLVM::LLVMFuncOp::create(
          top, module.getLoc(), name,
          LLVM::LLVMFunctionType::get(
              result ? result : LLVM::LLVMVoidType::get(top.getContext()),
              llvm::to_vector(ValueRange(arguments).getTypes())));
      symbols.insert(callee);
    }
    auto op = LLVM::CallOp::create(builder, loc, callee, arguments);
    return result ? op.getResult() : Value();
  }
};

struct LowerRankToHostPass : impl::LowerRankToHostBase<LowerRankToHostPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
    SymbolTable symbols(module);
    for (rank::ProgramOp program : programs)
      if (failed(checkCalls(program, symbols)))
        return signalPassFailure();
    FailureOr<rank::ArtifactOp> artifact = describeArtifact(module);
    if (failed(artifact))
      return signalPassFailure();
    module->removeAttr(rank::RankDialect::kPlan); // The artifact has it.
    for (auto step : module.getOps<rank::StepOp>())
      if (failed(writeData(step)))
        return signalPassFailure();

    llvm::StringMap<int64_t> channels = numberChannels(module);
    llvm::StringMap<int64_t> collectives = numberCollectives(module);
    OpBuilder builder(&getContext());
    for (rank::ProgramOp program : programs)
      Writer{module, symbols, program, builder, channels, collectives}.write();
    for (Operation &op :
         llvm::make_early_inc_range(module.getBody()->getOperations()))
      if (&op != artifact->getOperation() &&
          isa_and_present<rank::RankDialect, pipeline::PipelineDialect>(
              op.getDialect()))
        op.erase(); // no longer needed
  }

  /// Writes the data of parameters that were constants of the model, under the
  /// names that the artifact gives.
  LogicalResult writeData(rank::StepOp step) {
    OpBuilder builder(getOperation().getBodyRegion());
    for (unsigned i = 0; i < step.getArgumentTypes().size(); ++i) {
      DictionaryAttr facts = function_interface_impl::getArgAttrDict(step, i);
      auto value =
          facts ? facts.getAs<ElementsAttr>("pipeline.value") : ElementsAttr();
      if (!value)
        continue;
      if (auto resource = dyn_cast<DenseResourceElementsAttr>(value);
          resource && !resource.getRawHandle().getBlob())
        return step.emitError() << "parameter " << i << " has elided data ("
                                << resource.getRawHandle().getKey()
                                << "); print the model with its resources";
      Type type = value.getElementType();
      for (int64_t extent : llvm::reverse(value.getShapedType().getShape()))
        type = LLVM::LLVMArrayType::get(type, extent);
      LLVM::GlobalOp::create(builder, step.getLoc(), type, /*isConstant=*/true,
                             LLVM::Linkage::External, dataSymbol(i), value,
                             bodies::kAlignment);
    }
    return success();
  }

  LogicalResult checkCalls(rank::ProgramOp program,
                           const SymbolTable &symbols) {
    WalkResult walk = program.walk([&](rank::CallOp call) {
      auto body = symbols.lookup<func::FuncOp>(call.getCallee());
      auto isBuffer = [](Type type) { return isa<MemRefType>(type); };
      if (body && !body.isExternal() && body.getNumResults() == 0 &&
          llvm::all_of(body.getArgumentTypes().drop_front(takesRank(body)),
                       isBuffer))
        return WalkResult::advance();
      call.emitError() << "calls '" << call.getCallee()
                       << "', which is not a function on buffers; run the host "
                          "passes over its body first";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }
};

} // namespace
} // namespace stagewright::host
