//===- pp-compile.cpp - compiles an imported step to an artifact ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Cost/StepTime.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/InitAllPasses.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Text.h"
#include "stagewright/Target/DeviceTarget.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace stagewright;

namespace {

Level levelOf(Emit emit) {
  switch (emit) {
  case Emit::Graph:
    return Level::Graph;
  case Emit::Program:
    return Level::Program;
  case Emit::Schedule:
    return Level::Schedule;
  case Emit::Rank:
    return Level::Rank;
  case Emit::Host:
    return Level::Host;
  case Emit::Kernels:
  case Emit::Assembly:
    return Level::Kernels;
  case Emit::LLVM:
  case Emit::Artifact:
    return Level::LLVM;
  }
  llvm_unreachable("all forms are handled");
}

/// Writes the output of `print`, completely or not at all.
LogicalResult writeText(const Options &options,
                        llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  llvm::outs().flush();
  Status status =
      writeTextFile(options.output.empty() ? "-" : options.output, text);
  if (status)
    return success();
  llvm::errs() << "error: " << status.error().message << "\n";
  return failure();
}

LogicalResult writeAssembly(const Options &options, ModuleOp module) {
  auto device = createDeviceTarget(options.compile.target, /*cacheFolder=*/"");
  llvm::Expected<std::string> text =
      device ? (*device)->assembly(module)
             : llvm::Expected<std::string>(device.takeError());
  if (text)
    return writeText(options,
                     [&](llvm::raw_ostream &stream) { stream << *text; });
  llvm::errs() << "error: " << llvm::toString(text.takeError()) << "\n";
  return failure();
}

/// With --explain-time, writes the estimate for the artifact that was written.
LogicalResult explainArtifact(const Options &options) {
  if (!options.explainTime)
    return success();
  const std::string &how = *options.explainTime;
  auto fail = [](const std::string &problem) {
    llvm::errs() << "error: --explain-time: " << problem << "\n";
    return failure();
  };
  std::unique_ptr<sw_program, void (*)(sw_program *)> program(
      sw_load(options.output.c_str()), sw_unload);
  const char *counts = program ? sw_count_step(program.get(), 0) : nullptr;
  if (!counts)
    return fail(sw_error());
  Result<std::string> text =
      explainStep(counts, options.compile.cluster, /*json=*/!how.empty());
  if (!text)
    return fail(text.error().message);
  bool toFile = !how.empty() && how != "json";
  llvm::outs().flush();
  Status status = writeTextFile(toFile ? how : "-", *text);
  return status ? success() : fail(status.error().message);
}

LogicalResult compile(const Options &options, MLIRContext &context,
                      TimingScope &scope) {
  std::string message;
  auto file = openInputFile(options.input, &message);
  if (!file) {
    llvm::errs() << "error: " << message << "\n";
    return failure();
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  TimingScope parsing = scope.nest("parse");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  parsing.stop();
  if (!module) {
    llvm::errs() << "error: '" << options.input << "' is not an MLIR module\n";
    return failure();
  }

  CompileReport report;
  Emit emit = options.emit;
  if (failed(compileTo(levelOf(emit), *module, options.compile, scope, &report,
                       applyPassManagerCLOptions)))
    return failure();
  if (emit == Emit::Artifact) {
    ArtifactReport code;
    if (failed(writeArtifact(*module, options.output, options.artifact, scope,
                             &code)))
      return failure();
    if (!options.quiet)
      llvm::outs() << report.plan << "\n"
                   << report.grid << "\n"
                   << (options.explainMemory ? report.stash + "\n" : "")
                   << report.memory << "native code: " << code.units
                   << " units, " << code.cached << " from the cache\n";
    return explainArtifact(options);
  }
  if (emit == Emit::Assembly)
    return writeAssembly(options, *module);
  if (emit == Emit::LLVM) {
    llvm::LLVMContext llvmContext;
    auto translated = translateArtifact(*module, llvmContext, options.artifact);
    if (!translated)
      return failure();
    return writeText(options, [&](llvm::raw_ostream &stream) {
      translated->print(stream, nullptr);
    });
  }
  return writeText(options, [&](llvm::raw_ostream &stream) {
    module->print(stream);
    stream << "\n";
  });
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(stagewright::kFaultReport);
  mlir::registerAllPasses();
  stagewright::registerAllPasses();
  FailureOr<Options> options = readOptions(argc, argv);
  if (failed(options))
    return 1;

  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  stagewright::registerAllDialects(registry);
  registerArtifactTranslations(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);

  DefaultTimingManager timings;
  timings.setEnabled(options->timing);
  timings.setDisplayMode(DefaultTimingManager::DisplayMode::List);
  TimingScope scope = timings.getRootScope();
  return failed(compile(*options, context, scope));
}
