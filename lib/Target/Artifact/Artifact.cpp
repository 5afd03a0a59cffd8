//===- Artifact.cpp - from the LLVM dialect to a file that runs --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/Artifact.h"
#include "Emission.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
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
}

/// The manifest with what is known about the target.
static std::string completeManifest(StringRef text,
                                    const llvm::TargetMachine &machine) {
  llvm::json::Value manifest = llvm::cantFail(llvm::json::parse(text));
  llvm::json::Array features;
  for (std::string &name : featuresOf(machine))
    features.push_back(std::move(name));
  llvm::json::Object &object = *manifest.getAsObject();
  object["target"] = llvm::json::Object{
      {"triple", machine.getTargetTriple().str()},
      {"cpu", machine.getTargetCPU().str()},
      {"features", std::move(features)},
  };
  object["libraries"] = llvm::json::Array{"blas"};
  std::string complete;
  llvm::raw_string_ostream(complete) << manifest;
  return complete;
}

std::unique_ptr<llvm::Module>
translateArtifact(ModuleOp module, llvm::LLVMContext &context,
                  const ArtifactOptions &options) {
  auto manifest = module->getAttrOfType<StringAttr>("rank.manifest");
  if (!manifest || !llvm::json::parse(manifest.getValue())) {
    module.emitError("no manifest; run lower-rank-to-host first");
    return nullptr;
  }
  auto fail = [&](llvm::Error error) {
    module.emitError() << llvm::toString(std::move(error));
    return nullptr;
  };
  auto machine = createTargetMachine(options);
  if (!machine)
    return fail(machine.takeError());
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "stagewright");
  if (!result)
    return nullptr;
  result->setTargetTriple((*machine)->getTargetTriple());
  result->setDataLayout((*machine)->createDataLayout());
  result->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &function : *result) {
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    if (options.vectorBits)
      function.addFnAttr("prefer-vector-width",
                         std::to_string(options.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (llvm::Error error = defineRuntimeCalls(*result))
    return fail(std::move(error));
  embedManifest(*result, completeManifest(manifest.getValue(), **machine));
  return result;
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
  auto context = std::make_unique<llvm::LLVMContext>();
  TimingScope translation = timing.nest("translate to LLVM IR");
  std::unique_ptr<llvm::Module> llvmModule =
      translateArtifact(module, *context, options);
  translation.stop();
  if (!llvmModule)
    return failure();
  auto objects = emitObjects(std::move(llvmModule), options, timing);
  if (!objects)
    return module.emitError() << llvm::toString(objects.takeError());
  TimingScope link = timing.nest("link");
  if (llvm::Error error = linkObjects(objects->code, path))
    return module.emitError() << llvm::toString(std::move(error));
  if (report)
    *report = {objects->code.size(), objects->cached};
  return success();
}

} // namespace stagewright
