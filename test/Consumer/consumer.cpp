//===- consumer.cpp - Stagewright used as a library -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/InitAllPasses.h"

/// A step without roles: its argument becomes a batch, its result an output.
static constexpr llvm::StringLiteral source = R"mlir(
func.func @step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
)mlir";

int main() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  stagewright::registerAllDialects(registry);
  stagewright::registerAllPasses();

  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  mlir::PassManager manager(&context);
  if (!module ||
      failed(mlir::parsePassPipeline("pipeline-infer-roles", manager)) ||
      failed(manager.run(*module)))
    return 1;
  auto step = module->lookupSymbol<mlir::func::FuncOp>("step");
  auto role = step.getArgAttrOfType<mlir::StringAttr>(0, "pipeline.role");
  return role && role.getValue() == "batch" ? 0 : 1;
}
