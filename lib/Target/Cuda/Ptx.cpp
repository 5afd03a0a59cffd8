//===- Ptx.cpp - translates the NVVM dialect to PTX -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "stagewright/Target/Optimise.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

namespace stagewright::cuda {

static llvm::Error linkLibrary(llvm::Module &module) {
  bool needed = llvm::any_of(module, [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!needed)
    return llvm::Error::success();
  auto path =
      findInToolkit("nvvm/libdevice/libdevice.10.bc", "cuda-nvvm (libnvvm)");
  if (!path)
    return path.takeError();
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::getLazyIRFileModule(*path, diagnostic, module.getContext());
  if (!library)
    return llvm::createStringError("cannot read '%s': %s", path->c_str(),
                                   diagnostic.getMessage().str().c_str());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  if (failed)
    return llvm::createStringError("cannot link '%s'", path->c_str());
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallString<0>> translate(mlir::Operation *kernels) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return llvm::createStringError("kernels cannot be translated to LLVM IR");
  module->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  if (llvm::Error error = linkLibrary(*module))
    return std::move(error);
  llvm::SmallString<0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

static const llvm::Triple &tripleOfPtx() {
  static const llvm::Triple triple("nvptx64-nvidia-cuda");
  return triple;
}

static llvm::Expected<const llvm::Target *> findTarget() {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(tripleOfPtx(), error);
  if (!target)
    return llvm::createStringError("this LLVM writes no PTX: %s",
                                   error.c_str());
  return target;
}

llvm::Expected<bool> isArchitecture(llvm::StringRef name) {
  auto target = findTarget();
  if (!target)
    return target.takeError();
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(tripleOfPtx(), "", ""));
  return info->isCPUStringValid(name);
}

/// A target machine that writes the lowest PTX version that supports the
/// architecture, so that as many assemblers as possible read it.
static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(llvm::StringRef architecture) {
  auto target = findTarget();
  if (!target)
    return target.takeError();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>((*target)->createTargetMachine(
      tripleOfPtx(), architecture, /*Features=*/"", options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<std::string> toPtx(llvm::StringRef bitcode,
                                  llvm::StringRef architecture) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "kernels"), context);
  if (!module)
    return module.takeError();
  auto machine = createMachine(architecture);
  if (!machine)
    return machine.takeError();
  (*module)->setDataLayout((*machine)->createDataLayout());
  optimise(**module, **machine, /*packs=*/false);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM cannot write PTX");
  passes.run(**module);
  return text.str().str();
}

} // namespace stagewright::cuda
