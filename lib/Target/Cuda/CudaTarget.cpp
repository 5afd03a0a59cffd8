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

class CudaTarget : public DeviceTarget {
public:
  CudaTarget(std::vector<std::string> architectures, llvm::StringRef folder)
      : names(std::move(architectures)), cache(folder) {}

  LogicalResult embed(ModuleOp module, TimingScope &timing) override {
    auto kernels = *module.getOps<gpu::GPUModuleOp>().begin();
    auto code = compile(kernels, timing);
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
    return llvm::any_of(names, [](llvm::StringRef name) {
      unsigned number = 0;
      name.consume_front("sm_");
      return !name.consumeInteger(10, number) && number >= 89;
    });
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

  llvm::Expected<llvm::SmallVector<char, 0>> compile(Operation *kernels,
                                                     TimingScope &timing) {
    TimingScope lowering = timing.nest("kernels to NVVM");
    auto bitcode = lower(kernels);
    if (!bitcode)
      return bitcode.takeError();
    lowering.stop();
    TimingScope scope = timing.nest("kernels to machine code");
    auto assembler = stampOfAssembler();
    if (!assembler)
      return assembler.takeError();
    std::vector<llvm::SmallVector<char, 0>> parts(names.size());
    std::vector<std::string> errors(names.size());
    {
      llvm::DefaultThreadPool pool;
      for (size_t i = 0; i < names.size(); ++i)
        pool.async([&, i] {
          if (auto part = compileFor(*bitcode, names[i], *assembler))
            parts[i] = std::move(*part);
          else
            errors[i] = llvm::toString(part.takeError());
        });
      pool.wait();
    }
    for (const std::string &error : errors)
      if (!error.empty())
        return llvm::createStringError("%s", error.c_str());
    return join(parts, names);
  }

  llvm::Expected<llvm::SmallVector<char, 0>>
  compileFor(StringRef bitcode, StringRef architecture, StringRef assembler) {
    std::string key = cache.keyOf({"cubin", architecture, assembler, bitcode});
    if (auto known = cache.find(key))
      return std::move(*known);
    auto ptx = toPtx(bitcode, architecture);
    if (!ptx)
      return ptx.takeError();
    std::string log;
    auto code = assemble(*ptx, architecture, log);
    if (code)
      cache.add(key, *code);
    return code;
  }

  /// Says for the manifest for which devices the kernels are.
  void describe(ModuleOp module) {
    llvm::json::Array architectures;
    for (const std::string &name : names)
      architectures.push_back(name);
    std::string target;
    llvm::raw_string_ostream(target) << llvm::json::Value(llvm::json::Object{
        {"kind", "cuda"}, {"architectures", std::move(architectures)}});
    module->setAttr(kDeviceTarget,
                    StringAttr::get(module.getContext(), target));
  }

  std::vector<std::string> names; ///< of architectures
  CodeCache cache;
};

} // namespace

llvm::Expected<std::unique_ptr<DeviceTarget>>
createTarget(llvm::StringRef architectures, llvm::StringRef cacheFolder) {
  std::vector<std::string> names;
  for (llvm::StringRef name : llvm::split(architectures, ',')) {
    llvm::StringRef digits = name;
    unsigned number;
    auto known = isArchitecture(name);
    if (!known)
      return known.takeError();
    if (!*known || !digits.consume_front("sm_") ||
        digits.consumeInteger(10, number) || number < 80)
      return llvm::createStringError(
          "architecture '%s' is unknown; expected sm_80 or later, as sm_90a, "
          "or host",
          name.str().c_str());
    if (llvm::is_contained(names, name))
      return llvm::createStringError("architecture '%s' is named twice",
                                     name.str().c_str());
    names.push_back(name.str());
  }
  return std::make_unique<CudaTarget>(std::move(names), cacheFolder);
}

} // namespace stagewright::cuda
