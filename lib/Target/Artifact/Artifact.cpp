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
#include "stagewright/Support/Text.h"
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

/// The manifest, extended by the facts about the target and about `device`,
/// which may be null.
static std::string completeManifest(StringRef text,
                                    const llvm::json::Object *device,
                                    ArrayRef<Processor> processors) {
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
  llvm::json::Array libraries;
  if (!device)
    libraries.push_back("blas");
  else
    for (const auto &entry : *device)
      target[entry.first] = entry.second;
  std::string more;
  llvm::raw_string_ostream(more) << llvm::json::Value(llvm::json::Object{
      {"libraries", std::move(libraries)}, {"target", std::move(target)}});
  return withMembers(text, more);
}

/// Translates the code of one processor. The first one's module holds the
/// manifest.
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

/// The processors and the complete manifest; failure after an error.
static FailureOr<std::pair<std::vector<Processor>, std::string>>
prepare(ModuleOp module, const ArtifactOptions &options) {
  auto manifest = module->getAttrOfType<StringAttr>("rank.manifest");
  if (!manifest || !manifest.getValue().starts_with("{") ||
      !manifest.getValue().ends_with("}"))
    return module.emitError("no manifest; run lower-rank-to-host first");
  auto processors = processorsOf(options);
  if (!processors)
    return module.emitError() << llvm::toString(processors.takeError());
  llvm::json::Value device = nullptr;
  if (auto text = module->getAttrOfType<StringAttr>(kDeviceTarget)) {
    auto parsed = llvm::json::parse(text.getValue());
    if (!parsed || !parsed->getAsObject())
      return module.emitError()
             << "'" << kDeviceTarget << "' is not a JSON object"
             << (parsed ? "" : ": ") << llvm::toString(parsed.takeError());
    device = std::move(*parsed);
  }
  std::string complete =
      completeManifest(manifest.getValue(), device.getAsObject(), *processors);
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
