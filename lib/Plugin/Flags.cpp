//===- Flags.cpp - our passes as flags of an unmodified mlir-opt ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CommandLine.h"
#include <deque>

using namespace llvm;

/// The passes that flags have requested so far, in order.
static mlir::OpPassManager &requested() {
  static mlir::OpPassManager pipeline(mlir::ModuleOp::getOperationName(),
                                      mlir::OpPassManager::Nesting::Implicit);
  return pipeline;
}

/// Appends the pass to the tool's own option `--pass-pipeline`. Exits if the
/// user gives that option too, before the flag or after it.
static void request(StringRef pass, StringRef options, cl::Option &pipeline) {
  auto fail = [&](const Twine &message) {
    errs() << "error: --" << pass << ": " << message << "\n";
    exit(1);
    return mlir::failure();
  };
  if (failed(mlir::PassInfo::lookup(pass)->addToPipeline(requested(), options,
                                                         fail)))
    exit(1);
  std::string text;
  raw_string_ostream stream(text);
  requested().printAsTextualPipeline(stream);
  auto refuse = [pass](const std::string &) {
    errs() << "error: --" << pass << ": --pass-pipeline is given as well; "
           << "name all passes in it, or give only flags\n";
    exit(1);
  };
  auto &own = static_cast<cl::opt<std::string> &>(pipeline);
  static bool isOurs = false;
  if (isOurs)
    return own.setValue(text);
  if (pipeline.getNumOccurrences())
    refuse(text);
  pipeline.addOccurrence(0, pipeline.ArgStr, text);
  own.setCallback(refuse); // A later --pass-pipeline would replace ours.
  // The tool destroys its options after it has unloaded this code.
  static auto clear =
      make_scope_exit([option = &own] { option->setCallback({}); });
  isOurs = true;
}

void stagewright::registerPassFlags() {
  static std::deque<cl::opt<std::string>> flags;
  auto &known = cl::getRegisteredOptions();
  cl::Option *pipeline = known.lookup("pass-pipeline");
  if (!pipeline || !flags.empty())
    return;
  for (StringRef pass : {
#define STAGEWRIGHT_PASS(flag) flag,
#include "PassFlags.inc"
       })
    if (!known.contains(pass) && mlir::PassInfo::lookup(pass))
      flags.emplace_back(
          pass, cl::ValueOptional, cl::ZeroOrMore,
          cl::cb<void, std::string>([=](const std::string &options) {
            request(pass, options, *pipeline);
          }));
}
