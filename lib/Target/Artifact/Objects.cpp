//===- Objects.cpp - optimisation and code generation, in parallel -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/SplitModule.h"

namespace stagewright {

/// Functions below which a second thread costs more than it saves.
constexpr size_t kFunctionsPerPart = 12;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const ArtifactOptions &options) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("%s", error.c_str());
  bool native = options.cpu == "native";
  std::string cpu = native ? llvm::sys::getHostCPUName().str() : options.cpu;
  std::string features;
  if (native) {
    // Sorted: the same machine gives the same artifact.
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (auto &entry : host)
      names.push_back((entry.second ? "+" : "-") + entry.first().str());
    llvm::sort(names, [](const std::string &a, const std::string &b) {
      return a.substr(1) < b.substr(1);
    });
    features = llvm::join(names, ",");
  }
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget->isCPUStringValid(cpu))
    return llvm::createStringError(
        "processor '%s' is unknown; expected 'native' or a name of LLVM, as "
        "x86-64-v3",
        cpu.c_str());
  // Products are fused into sums where both carry `contract`, not everywhere.
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  return machine;
}

std::vector<std::string> featuresOf(const llvm::TargetMachine &machine) {
  // What instruction selection uses by itself, and the operating system or an
  // older processor may lack.
  static const llvm::StringSet<> checked = {
      "sse3",         "ssse3",          "sse4.1",     "sse4.2",
      "popcnt",       "lzcnt",          "bmi",        "bmi2",
      "avx",          "f16c",           "fma",        "avx2",
      "avxvnni",      "avx512f",        "avx512bw",   "avx512cd",
      "avx512dq",     "avx512vl",       "avx512ifma", "avx512vbmi",
      "avx512vbmi2",  "avx512vnni",     "avx512bf16", "avx512fp16",
      "avx512bitalg", "avx512vpopcntdq"};
  std::vector<std::string> names;
  for (const auto &feature :
       machine.getMCSubtargetInfo()->getEnabledProcessorFeatures())
    if (checked.contains(feature.Key))
      names.push_back(feature.Key);
  llvm::sort(names);
  return names;
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

static llvm::Error generate(llvm::Module &module, llvm::TargetMachine &machine,
                            llvm::SmallVector<char, 0> &object) {
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("this target cannot write object files");
  passes.run(module);
  return llvm::Error::success();
}

/// Optimises and compiles one part, from bitcode, in a context of its own.
static llvm::Error compilePart(llvm::StringRef bitcode,
                               const ArtifactOptions &options,
                               llvm::SmallVector<char, 0> &object) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "stagewright"), context);
  if (!module)
    return module.takeError();
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  optimise(**module, **machine);
  return generate(**module, **machine, object);
}

llvm::Expected<std::vector<llvm::SmallVector<char, 0>>>
emitObjects(std::unique_ptr<llvm::Module> module,
            const ArtifactOptions &options, mlir::TimingScope &timing) {
  mlir::TimingScope scope = timing.nest("optimise and generate code");
  size_t defined = llvm::count_if(
      *module, [](llvm::Function &f) { return !f.isDeclaration(); });
  size_t threads = options.threads
                       ? options.threads
                       : llvm::hardware_concurrency().compute_thread_count();
  size_t parts = std::clamp<size_t>(defined / kFunctionsPerPart, 1, threads);

  std::vector<llvm::SmallString<0>> bitcode;
  auto write = [&](llvm::Module &part) {
    llvm::raw_svector_ostream stream(bitcode.emplace_back());
    llvm::WriteBitcodeToFile(part, stream);
  };
  if (parts == 1)
    write(*module);
  else
    llvm::SplitModule(
        *module, parts,
        [&](std::unique_ptr<llvm::Module> part) { write(*part); },
        /*PreserveLocals=*/false, /*RoundRobin=*/true);
  module.reset();

  std::vector<llvm::SmallVector<char, 0>> objects(bitcode.size());
  std::vector<std::string> errors(bitcode.size());
  auto compile = [&](size_t i) {
    if (llvm::Error error = compilePart(bitcode[i], options, objects[i]))
      errors[i] = llvm::toString(std::move(error));
  };
  if (bitcode.size() == 1) {
    compile(0);
  } else {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parts));
    for (size_t i = 0; i < bitcode.size(); ++i)
      pool.async(compile, i);
    pool.wait();
  }
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError("%s", error.c_str());
  return objects;
}

} // namespace stagewright
