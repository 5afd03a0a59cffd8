//===- Objects.cpp - parallel optimisation and code generation ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "Units.h"
#include "stagewright/Target/CodeCache.h"
#include "stagewright/Target/Optimise.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/TargetParser/Host.h"

namespace stagewright {

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const ArtifactOptions &options,
                    llvm::CodeGenOptLevel level) {
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
    // Sorted, so that the same machine gives the same artifact.
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
        "processor '%s' is unknown; expected 'native' or one of LLVM's names, "
        "such as x86-64-v3",
        cpu.c_str());
  // Fuse multiply-adds only if both operations have the `contract` flag.
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, targetOptions,
                                  llvm::Reloc::PIC_, std::nullopt, level));
  return machine;
}

std::vector<std::string> featuresOf(const llvm::TargetMachine &machine) {
  // Features that instruction selection uses on its own, and that the operating
  // system or an older processor may lack.
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

/// The cache key: all parts of `machine` and `unit` that affect the code.
static std::string keyOf(const CodeCache &cache, const Unit &unit,
                         const llvm::TargetMachine &machine) {
  return cache.keyOf({unit.name, unit.isProgram ? "program" : "kernel",
                      machine.getTargetTriple().str(), machine.getTargetCPU(),
                      machine.getTargetFeatureString(), unit.bitcode});
}

/// Optimises and compiles one unit, in its own LLVM context.
static llvm::Error compileUnit(const Unit &unit, llvm::TargetMachine &machine,
                               llvm::SmallVector<char, 0> &object) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(unit.bitcode, "stagewright"), context);
  if (!module)
    return module.takeError();
  if (llvm::Function *function = (*module)->getFunction(kUnitName))
    function->setName(unit.name);
  if (!unit.isProgram)
    optimise(**module, machine, /*packs=*/true);
  return generate(**module, machine, object);
}

namespace {
/// The target machines of one thread. A machine keeps state from its last use;
/// with one for kernels and one for programs, code does not depend on which
/// thread compiles what.
struct Machines {
  std::unique_ptr<llvm::TargetMachine> kernels;
  /// For rank programs, which are thousands of calls in a row: an optimising
  /// register allocator takes more than linear time and has no measurable
  /// benefit.
  std::unique_ptr<llvm::TargetMachine> programs;

  static llvm::Expected<Machines> create(const ArtifactOptions &options) {
    auto kernels = createTargetMachine(options);
    if (!kernels)
      return kernels.takeError();
    return Machines{std::move(*kernels),
                    llvm::cantFail(createTargetMachine(
                        options, llvm::CodeGenOptLevel::None))};
  }
};
} // namespace

llvm::Expected<Objects> emitObjects(std::unique_ptr<llvm::Module> module,
                                    const ArtifactOptions &options,
                                    mlir::TimingScope &timing) {
  mlir::TimingScope scope = timing.nest("optimise and generate code");
  auto machines = Machines::create(options);
  if (!machines)
    return machines.takeError();
  std::vector<Unit> units = splitUnits(std::move(module));
  CodeCache cache(options.cacheFolder);

  Objects objects;
  objects.code.resize(units.size());
  std::vector<std::string> errors(units.size());
  std::atomic<size_t> next = 0, cached = 0;
  auto work = [&](const Machines &machines) {
    for (size_t i; (i = next++) < units.size();) {
      llvm::TargetMachine &machine =
          units[i].isProgram ? *machines.programs : *machines.kernels;
      // The unit without a name contains the manifest and is never cached.
      bool keeps = !options.cacheFolder.empty() && !units[i].name.empty();
      std::string key = keeps ? keyOf(cache, units[i], machine) : "";
      auto known = keeps ? cache.find(key) : std::nullopt;
      if (known) {
        objects.code[i] = std::move(*known);
        ++cached;
        continue;
      }
      if (llvm::Error error = compileUnit(units[i], machine, objects.code[i]))
        errors[i] = llvm::toString(std::move(error));
      else if (keeps)
        cache.add(key, objects.code[i]);
    }
  };
  size_t threads = options.threads
                       ? options.threads
                       : llvm::hardware_concurrency().compute_thread_count();
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    for (size_t i = 1; i < std::min(threads, units.size()); ++i)
      pool.async([&] { work(llvm::cantFail(Machines::create(options))); });
    work(*machines);
    pool.wait();
  }
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError("%s", error.c_str());
  cache.prune(options.cacheBytes);
  objects.cached = cached;
  return objects;
}

} // namespace stagewright
