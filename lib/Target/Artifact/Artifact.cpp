//===- Artifact.cpp - LLVM dialect to shared object -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/Artifact.h"
#include "Emission.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

namespace stagewright {

namespace {
/// `rank.artifact` becomes the manifest, not code.
struct RankTranslation : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult convertOperation(Operation *op, llvm::IRBuilderBase &,
                                 LLVM::ModuleTranslation &) const final {
    return success(isa<rank::ArtifactOp>(op));
  }
};
} // namespace

void registerArtifactTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registry.addExtension(+[](MLIRContext *, rank::RankDialect *dialect) {
    dialect->addInterfaces<RankTranslation>();
  });
}

/// Translates the code of one processor. The first one's module holds the
/// manifest.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context,
          const Processor &processor, StringRef manifest) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "stagewright");
  if (!result)
    return llvm::createStringError(
        "this module cannot be translated to LLVM IR");
  const llvm::TargetMachine &machine = *processor.machine;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  result->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &function : *result) {
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (unsigned bits = processor.options.vectorBits)
      function.addFnAttr("prefer-vector-width", std::to_string(bits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (llvm::Error error = defineRuntimeCalls(*result))
    return error;
  if (processor.suffix.empty())
    embedManifest(*result, manifest);
  else
    addSuffix(*result, processor.suffix);
  return result;
}

/// The processors and the manifest; failure after an error.
static FailureOr<std::pair<std::vector<Processor>, std::string>>
prepare(ModuleOp module, const ArtifactOptions &options) {
  auto artifacts = module.getOps<rank::ArtifactOp>();
  if (artifacts.empty())
    return module.emitError(kNoArtifact);
  if (!llvm::hasSingleElement(artifacts))
    return module.emitError("has several 'rank.artifact', expected one");
  auto processors = processorsOf(options);
  if (!processors)
    return module.emitError() << llvm::toString(processors.takeError());
  std::string manifest = writeManifest(*artifacts.begin(), *processors);
  return std::pair(std::move(*processors), std::move(manifest));
}

std::unique_ptr<llvm::Module>
translateArtifact(ModuleOp module, llvm::LLVMContext &context,
                  const ArtifactOptions &options) {
  auto prepared = prepare(module, options);
  if (failed(prepared))
    return nullptr;
  auto &[processors, manifest] = *prepared;
  auto result = translate(module, context, processors.front(), manifest);
  if (result)
    return std::move(*result);
  module.emitError() << llvm::toString(result.takeError());
  return nullptr;
}

std::string defaultCacheFolder() {
  llvm::SmallString<128> folder;
  if (!llvm::sys::path::cache_directory(folder))
    return "";
  llvm::sys::path::append(folder, "stagewright");
  return folder.str().str();
}

LogicalResult writeArtifact(ModuleOp module, StringRef path,
                            const ArtifactOptions &options, TimingScope &timing,
                            ArtifactReport *report) {
  auto prepared = prepare(module, options);
  if (failed(prepared))
    return failure();
  auto fail = [&](llvm::Error error) {
    return module.emitError() << llvm::toString(std::move(error));
  };
  auto &[processors, manifest] = *prepared;
  Objects objects;
  for (const Processor &processor : processors) {
    llvm::LLVMContext context;
    TimingScope translation = timing.nest("translate to LLVM IR");
    auto llvmModule = translate(module, context, processor, manifest);
    translation.stop();
    if (!llvmModule)
      return fail(llvmModule.takeError());
    auto made = emitObjects(std::move(*llvmModule), processor.options, timing);
    if (!made)
      return fail(made.takeError());
    llvm::append_range(objects.code, std::move(made->code));
    objects.cached += made->cached;
  }
  TimingScope link = timing.nest("link");
  if (llvm::Error error = linkObjects(objects.code, path))
    return fail(std::move(error));
  if (report)
    *report = {objects.code.size(), objects.cached};
  return success();
}

} // namespace stagewright
