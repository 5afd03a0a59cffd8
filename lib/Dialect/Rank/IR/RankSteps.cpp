//===- RankSteps.cpp - step -----------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembly and verifiers of the step, and of the places of its arguments and
// results in the buffers of programs. Labels such as step_c1 are those of the
// constraints in RankProgramOps.td and of their tests.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/FunctionLike.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

using namespace mlir;
using namespace stagewright::rank;
using stagewright::pipeline::PipelineDialect;

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  return stagewright::parseFunctionLike<StepOp>(parser, result);
}

void StepOp::print(OpAsmPrinter &printer) {
  stagewright::printFunctionLike(printer, *this);
}

LogicalResult StepOp::verify() {
  if (getBody().empty()) // step_c1
    return success();
  return emitOpError() << "must have no body: its programs are its body";
}

static StepOp::TypeByPlace
collectPlaces(ArrayRef<Type> types,
              function_ref<DictionaryAttr(unsigned)> facts) {
  auto number = [](DictionaryAttr of, StringRef name, int64_t otherwise) {
    auto value = of ? of.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : otherwise;
  };
  StepOp::TypeByPlace places;
  for (auto [index, type] : llvm::enumerate(types)) {
    DictionaryAttr of = facts(index);
    places.try_emplace({number(of, PipelineDialect::kPosition, index),
                        number(of, PipelineDialect::kSlice, -1)},
                       dyn_cast<RankedTensorType>(type));
  }
  return places;
}

StepOp::TypeByPlace StepOp::collectArguments() {
  return collectPlaces(getArgumentTypes(), [&](unsigned index) {
    return function_interface_impl::getArgAttrDict(*this, index);
  });
}

StepOp::TypeByPlace StepOp::collectResults() {
  return collectPlaces(getResultTypes(), [&](unsigned index) {
    return function_interface_impl::getResultAttrDict(*this, index);
  });
}

static MemRefType memoryOf(RankedTensorType type) {
  return type ? MemRefType::get(type.getShape(), type.getElementType())
              : MemRefType();
}

/// Checks rank_program_c5.
static LogicalResult verifyPlaces(StepOp step, ProgramOp program,
                                  const StepOp::TypeByPlace &arguments,
                                  const StepOp::TypeByPlace &results) {
  for (BufferOp buffer : program.getBody().front().getOps<BufferOp>()) {
    if (std::optional<int64_t> own = buffer.getOwn()) { // buffer_c9
      auto found = arguments.find({*own, -1});
      if (found == arguments.end() ||
          memoryOf(found->second) != buffer.getType())
        return buffer.emitOpError()
               << "is a replica's own at position " << *own << ", but @"
               << step.getSymName() << " has no argument of type "
               << buffer.getType() << " there";
    }
    if (!buffer.getPosition())
      continue;
    int64_t position = *buffer.getPosition();
    int64_t slice = buffer.getSlice().value_or(-1);
    bool isResult = buffer.getKind() == BufferKind::Gradient ||
                    buffer.getKind() == BufferKind::Accumulator ||
                    buffer.getKind() == BufferKind::Output;
    const StepOp::TypeByPlace &places = isResult ? results : arguments;
    auto found = places.find({position, slice});
    MemRefType slot = buffer.getType();
    if (found == places.end() || !found->second)
      return buffer.emitOpError()
             << "@" << step.getSymName() << " has no "
             << (isResult ? "result" : "argument") << " at position "
             << position << (slice < 0 ? "" : " with this slice");
    RankedTensorType type = found->second;
    if (type.getShape() != slot.getShape() ||
        type.getElementType() != slot.getElementType())
      return buffer.emitOpError()
             << "type differs from " << (isResult ? "result" : "argument")
             << " " << position << " of @" << step.getSymName() << ", got "
             << slot << " and " << type;
  }
  return success();
}

/// Checks all programs of the step, perhaps a thousand, so that its arguments
/// are collected only once.
LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  TypeByPlace arguments = collectArguments(), results = collectResults();
  for (ProgramOp program : (*this)->getParentRegion()->getOps<ProgramOp>())
    if (program.getStep() == getSymName() &&
        failed(verifyPlaces(*this, program, arguments, results)))
      return failure();
  return success();
}
