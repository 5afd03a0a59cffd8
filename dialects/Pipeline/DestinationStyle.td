//===- DestinationStyle.td - operations that write to operands ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operations in destination-passing style without a region have in common
// (DestinationStyle.h): their memory effects, and that they are bufferized in
// place.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_DESTINATION_STYLE_TD
#define STAGEWRIGHT_PIPELINE_DESTINATION_STYLE_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The traits of such an operation, whose extraClassDefinition is `DestinationStyle<...>.definition`.
defvar DestinationStyleTraits = [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface, [
        "bufferizesToMemoryRead", "bufferizesToMemoryWrite", "getAliasingValues", "bufferize"]>];

/// `readsInits`: a condition in C++ under which the former contents of the inits are read.
class DestinationStyle<string readsInits> {
  code definition = [{
    void $cppClass::getEffects(::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects) {
      ::stagewright::pipeline::listEffects(*this, effects, }] # readsInits # [{);
    }
    bool $cppClass::bufferizesToMemoryRead(::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      return !isDpsInit(&operand) || }] # readsInits # [{;
    }
    bool $cppClass::bufferizesToMemoryWrite(::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      return isDpsInit(&operand);
    }
    ::mlir::bufferization::AliasingValueList $cppClass::getAliasingValues(
        ::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      return ::stagewright::pipeline::aliasesOf(*this, operand);
    }
    ::llvm::LogicalResult $cppClass::bufferize(
        ::mlir::RewriterBase &rewriter, const ::mlir::bufferization::BufferizationOptions &options,
        ::mlir::bufferization::BufferizationState &state) {
      return ::stagewright::pipeline::bufferizeInPlace(*this, rewriter, options, state);
    }
  }];
}

#endif // STAGEWRIGHT_PIPELINE_DESTINATION_STYLE_TD
