//===- Plugin.cpp - Stagewright inside an unmodified mlir-opt ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two entry points that MLIR's plugin loader looks for:
//   mlir-opt --load-dialect-plugin=StagewrightPlugin.so
//            --load-pass-plugin=StagewrightPlugin.so --pipeline-partition ...
// It links to the same libMLIR as the tool: with its own copy, the type IDs of
// dialects and passes would differ from the tool's.
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/InitAllPasses.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Stagewright", STAGEWRIGHT_VERSION,
          [](mlir::DialectRegistry *registry) {
            stagewright::registerAllDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Stagewright", STAGEWRIGHT_VERSION, [] {
            stagewright::registerAllPasses();
            stagewright::registerPassFlags();
          }};
}
