//===- CudaTarget.cpp - kernels for NVIDIA's devices ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Artifact/CodeCache.h"
#include "../Constants.h"
#include "Cuda.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Target/Artifact.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;

namespace stagewright::cuda {
namespace {

/// 90 of `sm_90a`; 0 where there is none.
unsigned numberOf(llvm::StringRef architecture) {
  unsigned number = 0;
  bool named = architecture.consume_front("sm_");
  return named && !architecture.consumeInteger(10, number) ? number : 0;
}

class CudaTarget : public DeviceTarget {
public:
  CudaTarget(std::vector<std::string> architectures,
             std::vector<std::string> ptx, llvm::StringRef folder)
      : names(std::move(architectures)), ptxNames(std::move(ptx)),
        cache(folder) {}

  LogicalResult embed(ModuleOp module) override {
    auto kernels = *module.getOps<gpu::GPUModuleOp>().begin();
    auto code = compile(kernels);
    if (!code)
      return module.emitError() << llvm::toString(code.takeError());
    kernels.erase();
    exportConstants(module);
    OpBuilder builder(module.getBodyRegion());
    LLVM::GlobalOp::create(
        builder, module.getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), unsigned(code->size())),
        /*isConstant=*/true, LLVM::Linkage::External, "stagewright_fatbin",
        builder.getStringAttr(StringRef(code->data(), code->size())),
        /*alignment=*/64);
    describe(module);
    return success();
  }

  /// From compute capability 8.9 on: "cuBLAS", section "cublasLtMatmul()".
  bool multipliesBytes() const override {
    return llvm::any_of(
        names, [](llvm::StringRef name) { return numberOf(name) >= 89; });
  }

  llvm::Expected<std::string> assembly(ModuleOp module) override {
    auto bitcode = lower(*module.getOps<gpu::GPUModuleOp>().begin());
    if (!bitcode)
      return bitcode.takeError();
    return toPtx(*bitcode, names.front());
  }

private:
  static llvm::Expected<llvm::SmallString<0>> lower(Operation *kernels) {
    if (failed(lowerToNvvm(kernels)))
      return llvm::createStringError("kernels have no form in NVVM");
    return translate(kernels);
  }

  llvm::Expected<llvm::SmallVector<char, 0>> compile(Operation *kernels) {
    auto bitcode = lower(kernels);
    if (!bitcode)
      return bitcode.takeError();
    auto assembler = stampOfAssembler();
    if (!assembler)
      return assembler.takeError();
    std::vector<Image> images;
    for (const std::string &name : names)
      images.push_back({/*isPtx=*/false, name, {}});
    for (const std::string &name : ptxNames)
      images.push_back({/*isPtx=*/true, name, {}});
    std::vector<std::string> errors(images.size());
    {
      llvm::DefaultThreadPool pool;
      for (size_t i = 0; i < images.size(); ++i)
        pool.async([&, i] {
          Image &image = images[i];
          auto part = image.isPtx
                          ? findPtx(*bitcode, image.architecture)
                          : findCode(*bitcode, image.architecture, *assembler);
          if (part)
            image.bytes = std::move(*part);
          else
            errors[i] = llvm::toString(part.takeError());
        });
      pool.wait();
    }
    for (const std::string &error : errors)
      if (!error.empty())
        return llvm::createStringError("%s", error.c_str());
    return join(images);
  }

  /// From the cache, or by LLVM.
  llvm::Expected<llvm::SmallVector<char, 0>> findPtx(StringRef bitcode,
                                                     StringRef architecture) {
    std::string key = cache.keyOf({"ptx", architecture, bitcode});
    if (auto known = cache.find(key))
      return std::move(*known);
    auto text = toPtx(bitcode, architecture);
    if (!text)
      return text.takeError();
    llvm::SmallVector<char, 0> bytes(text->begin(), text->end());
    cache.add(key, bytes);
    return bytes;
  }

  /// From the cache, or by ptxas.
  llvm::Expected<llvm::SmallVector<char, 0>>
  findCode(StringRef bitcode, StringRef architecture, StringRef assembler) {
    std::string key = cache.keyOf({"cubin", architecture, assembler, bitcode});
    if (auto known = cache.find(key))
      return std::move(*known);
    auto ptx = findPtx(bitcode, architecture);
    if (!ptx)
      return ptx.takeError();
    std::string log;
    auto code = assemble({ptx->data(), ptx->size()}, architecture, log);
    if (code)
      cache.add(key, *code);
    return code;
  }

  /// Says for the manifest for which devices the kernels are.
  void describe(ModuleOp module) {
    std::string target;
    llvm::raw_string_ostream(target) << llvm::json::Value(
        llvm::json::Object{{"kind", "cuda"},
                           {"architectures", llvm::json::Array(names)},
                           {"ptx", llvm::json::Array(ptxNames)}});
    module->setAttr(kDeviceTarget,
                    StringAttr::get(module.getContext(), target));
  }

  std::vector<std::string> names;    ///< of architectures
  std::vector<std::string> ptxNames; ///< of those with PTX
  CodeCache cache;
};

} // namespace

/// The architectures of a list as `sm_80,sm_90a`; an error says also what
/// `others` are allowed.
static llvm::Expected<std::vector<std::string>>
parseArchitectures(llvm::StringRef list, const char *others = "") {
  std::vector<std::string> names;
  for (llvm::StringRef name : llvm::split(list, ',')) {
    auto known = isArchitecture(name);
    if (!known)
      return known.takeError();
    if (!*known || numberOf(name) < 80)
      return llvm::createStringError(
          "architecture '%s' is unknown; expected sm_80 or later, as "
          "sm_90a%s",
          name.str().c_str(), others);
    if (llvm::is_contained(names, name))
      return llvm::createStringError("architecture '%s' is named twice",
                                     name.str().c_str());
    names.push_back(name.str());
  }
  return names;
}

/// A driver compiles PTX for its device and all later ones, unless the name of
/// the architecture ends with a letter ("a": that device alone, "f": its
/// family). The lowest architecture asks for the least version of PTX, so the
/// oldest drivers read it. Source: "PTX ISA", section ".target", and "Release
/// Notes" there.
static std::string baselineOf(llvm::ArrayRef<std::string> names) {
  unsigned lowest = ~0u;
  for (llvm::StringRef name : names)
    lowest = std::min(lowest, numberOf(name));
  return "sm_" + std::to_string(lowest);
}

llvm::Expected<std::unique_ptr<DeviceTarget>>
createTarget(llvm::StringRef architectures, llvm::StringRef ptx,
             llvm::StringRef cacheFolder) {
  auto names = parseArchitectures(architectures);
  if (!names)
    return names.takeError();
  std::vector<std::string> ptxNames;
  if (ptx.empty()) {
    ptxNames = {baselineOf(*names)};
  } else if (ptx == "all") {
    ptxNames = *names;
  } else if (ptx != "none") {
    auto given = parseArchitectures(ptx, ", or for PTX none or all");
    if (!given)
      return given.takeError();
    ptxNames = std::move(*given);
  }
  return std::make_unique<CudaTarget>(std::move(*names), std::move(ptxNames),
                                      cacheFolder);
}

} // namespace stagewright::cuda
