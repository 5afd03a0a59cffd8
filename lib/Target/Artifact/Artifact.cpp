//===- Artifact.cpp - from the LLVM dialect to a file that runs --------===//
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
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace stagewright {

void registerArtifactTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static llvm::json::Object describe(const Processor &processor) {
  return llvm::json::Object{
      {"cpu", processor.machine->getTargetCPU().str()},
      {"features", llvm::json::Array(processor.features)}};
}

/// The manifest with what is known about the target.
static std::string completeManifest(StringRef text,
                                    ArrayRef<Processor> processors) {
  llvm::json::Value manifest = llvm::cantFail(llvm::json::parse(text));
  llvm::json::Object target = describe(processors.front());
  target["triple"] = processors.front().machine->getTargetTriple().str();
  llvm::json::Array others;
  for (const Processor &processor : processors.drop_front()) {
    llvm::json::Object other = describe(processor);
    other["suffix"] = processor.suffix;
    others.push_back(std::move(other));
  }
  if (!others.empty())
    target["others"] = std::move(others);
  llvm::json::Object &object = *manifest.getAsObject();
  // A device's part is known already, with the libraries it needs.
  if (llvm::json::Object *device = object.getObject("target"))
    for (auto &entry : *device)
      target[entry.first] = std::move(entry.second);
  else
    object["libraries"] = llvm::json::Array{"blas"};
  object["target"] = std::move(target);
  std::string complete;
  llvm::raw_string_ostream(complete) << manifest;
  return complete;
}

/// The module of one processor; the first holds the manifest.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context,
          const Processor &processor, StringRef manifest) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "stagewright");
  if (!result)
    return llvm::createStringError("no LLVM IR can be made of this module");
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

/// The processors and the complete manifest, or nothing after an error.
static FailureOr<std::pair<std::vector<Processor>, std::string>>
prepare(ModuleOp module, const ArtifactOptions &options) {
  auto manifest = module->getAttrOfType<StringAttr>("rank.manifest");
  if (!manifest || !llvm::json::parse(manifest.getValue()))
    return module.emitError("no manifest; run lower-rank-to-host first");
  auto processors = processorsOf(options);
  if (!processors)
    return module.emitError() << llvm::toString(processors.takeError());
  std::string complete = completeManifest(manifest.getValue(), *processors);
  return std::pair(std::move(*processors), std::move(complete));
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
