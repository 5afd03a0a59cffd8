//===- SplitSlices.cpp - pipeline-split-slices ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SPLITSLICES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"
namespace {
struct SplitSlicesPass : impl::SplitSlicesBase<SplitSlicesPass> {
  using SplitSlicesBase::SplitSlicesBase;
  void runOnOperation() override {}
};
} // namespace
} // namespace stagewright::pipeline
