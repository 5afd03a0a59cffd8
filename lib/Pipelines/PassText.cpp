//===- PassText.cpp - passes as a user would type them --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassText.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace stagewright {

std::string passText(StringRef flag,
                     ArrayRef<std::pair<StringRef, std::string>> options) {
  std::string given;
  for (auto &[name, value] : options)
    if (!value.empty())
      given += (given.empty() ? "" : " ") + name.str() + "=" + value;
  return given.empty() ? flag.str() : flag.str() + "{" + given + "}";
}

LogicalResult runPasses(ModuleOp module, TimingScope &timing,
                        function_ref<LogicalResult(OpPassManager &)> build) {
  PassManager manager(module.getContext());
  manager.enableTiming(timing);
  if (failed(build(manager)))
    return failure();
  return manager.run(module);
}

LogicalResult runText(ModuleOp module, TimingScope &timing,
                      ArrayRef<std::string> passes) {
  return runPasses(module, timing, [&](OpPassManager &manager) {
    std::string all = llvm::join(passes, ",");
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (succeeded(parsePassPipeline(all, manager, stream)))
      return success();
    return LogicalResult(module.emitError()
                         << "no such road: " << all << ": " << message);
  });
}

} // namespace stagewright
