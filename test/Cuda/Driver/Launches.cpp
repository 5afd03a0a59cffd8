//===- Launches.cpp - modules, kernels and their launches -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are parsed from the PTX stored beside the machine code. If there is
// no PTX, as in test fixtures, kernels do nothing.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "Ptx/Block.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace emulator;

namespace {

/// Max dynamic shared memory of a block by compute capability, in bytes.
int64_t mostShared() {
  int version = architecture();
  bool isLarge = version >= 90 && version < 120;
  return (isLarge ? 227 : version == 80 || version == 87 ? 163 : 99) << 10;
}
constexpr int64_t sharedUntold = 48 << 10;

struct Function {
  std::string name;
  const ptx::Kernel *kernel; ///< null: launches do nothing
  int64_t dynamicShared = sharedUntold;
};

struct Code {
  ptx::Module module;
  std::map<std::string, Function> functions;
};

std::atomic<bool> anyExecutes = false; ///< threads of messages read it

/// Counters of all launches by kernel, written to a file at exit.
class Totals {
public:
  ptx::Counters &of(const std::string &kernel) { return counters[kernel]; }

  ~Totals() {
    const char *path = std::getenv("STAGEWRIGHT_EMULATOR_COUNTERS");
    if (!path)
      return;
    std::ofstream file(path);
    file << "kernel launches blocks instructions barriers loads sectors bytes "
            "stores sectors bytes shared waves\n";
    for (auto &[name, it] : counters) {
      file << name;
      for (int64_t number :
           {it.launches, it.blocks, it.instructions, it.barriers,
            it.loads.requests, it.loads.sectors, it.loads.bytes,
            it.stores.requests, it.stores.sectors, it.stores.bytes,
            it.shared.requests, it.shared.waves})
        file << " " << number;
      file << "\n";
    }
  }

private:
  std::map<std::string, ptx::Counters> counters;
};
Totals totals;

/// A barrier counts as a call whose symbol is the name of its kernel.
void dropBarrier(ptx::Module &module) {
  for (auto &[name, kernel] : module.kernels)
    for (ptx::Instruction &it : kernel.code)
      if (it.act == &ptx::BlockRunner::barrier && isDropped(name.c_str()))
        it.act = &ptx::BlockRunner::nothing;
}

bool isAllowed(const Function &function, const ptx::Launch &launch) {
  auto [x, y, z] = launch.block;
  auto [gx, gy, gz] = launch.grid;
  constexpr unsigned most = 65535;
  int64_t threads = int64_t(x) * y * z;
  if (!gx || gx > 0x7fffffff || !gy || gy > most || !gz || gz > most ||
      threads == 0 || threads > 1024 || z > 64 ||
      launch.dynamicShared > function.dynamicShared)
    return false;
  if (!launch.kernel)
    return true;
  const auto &limit = launch.kernel->most;
  int64_t largest = int64_t(limit[0]) * limit[1] * limit[2];
  return launch.kernel->shared + launch.dynamicShared <= mostShared() &&
         (largest == 0 || threads <= largest);
}

} // namespace

bool emulator::executes() { return anyExecutes; }

EMULATED(int) cuModuleLoadData(Code **code, const void *image) {
  ENTER();
  // Never freed: kernels are used after their module was unloaded.
  static auto &all = *new std::vector<std::unique_ptr<Code>>;
  *code = all.emplace_back(std::make_unique<Code>()).get();
  log("load device=%d", currentDevice());
  try {
    auto text = ptxOf(image, uint32_t(architecture()));
    if (!text)
      return noBinaryForGpu;
    if (!text->empty() && !setting("STAGEWRIGHT_EMULATOR_RECORDS", 0))
      (*code)->module = ptx::parse(*text, memory(), currentDevice());
    dropBarrier((*code)->module);
    anyExecutes = anyExecutes || !(*code)->module.kernels.empty();
  } catch (const ptx::Unknown &error) {
    std::fprintf(stderr, "the emulator does not know this PTX: %s\n",
                 error.what());
    return invalidImage;
  }
  return success;
}
EMULATED(int) cuModuleUnload(Code *) {
  return log("unload device=%d", currentDevice()), 0;
}
EMULATED(int)
cuModuleGetFunction(Function **function, Code *code, const char *name) {
  ENTER();
  auto kernel = code->module.kernels.find(name);
  bool known = kernel != code->module.kernels.end();
  if (anyExecutes && !known)
    return notFound;
  Function fresh = {name, known ? &kernel->second : nullptr};
  *function = &code->functions.try_emplace(name, fresh).first->second;
  return success;
}
EMULATED(int) cuFuncSetAttribute(Function *function, int attribute, int value) {
  ENTER(function, attribute, value);
  constexpr int maxDynamicShared = 8;
  log("function kernel=%s attribute=%d value=%d", function->name.c_str(),
      attribute, value);
  if (attribute != maxDynamicShared || value > mostShared())
    return invalidValue;
  function->dynamicShared = value;
  return success;
}

/// `arguments` must end with a null pointer, as the runtime's lists do.
EMULATED(int)
cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz,
               unsigned bx, unsigned by, unsigned bz, unsigned shared,
               Stream *stream, void **arguments, void **) {
  std::vector<uint64_t> values;
  for (; *arguments; ++arguments)
    values.push_back(*static_cast<uint64_t *>(*arguments));
  ENTER(function, gx, gy, gz, bx, by, bz, shared, stream, values);
  std::string list;
  for (uint64_t it : values) {
    char value[24];
    std::snprintf(value, sizeof(value), "%s%#lx", list.empty() ? "" : ",", it);
    list += value;
  }
  log("launch stream=%d kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%u "
      "arguments=%s",
      streamOf(stream).id, function->name.c_str(), gx, gy, gz, bx, by, bz,
      shared, list.c_str());
  ptx::Launch launch = {
      function->kernel, {gx, gy, gz}, {bx, by, bz}, int64_t(shared), {}};
  if (!isAllowed(*function, launch))
    return invalidValue;
  if (!launch.kernel)
    return enqueue(stream, nullptr);
  const auto &parameters = launch.kernel->parameters;
  if (values.size() != parameters.size())
    return invalidValue;
  launch.arguments.resize(size_t(launch.kernel->argumentBytes));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&launch.arguments[size_t(parameters[i].offset)], &values[i],
                size_t(parameters[i].bytes));
  return enqueue(stream, [launch = std::move(launch)] {
    ptx::Counters &counters = totals.of(launch.kernel->name);
    ptx::BlockRunner(launch, memory(), counters).run(chance());
    return true;
  });
}
