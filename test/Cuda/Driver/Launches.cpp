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
  ptx::Kernel *kernel; ///< null: launches do nothing
  int64_t dynamicShared = sharedUntold;
};

struct Code {
  ptx::Module module;
  std::map<std::string, Function> functions;
};

std::atomic<bool> anyExecutes = false; ///< threads of messages read it

/// Counters of all launches by kernel, written to a file at exit.
struct Totals {
  std::map<std::string, ptx::Counters> counters;

  ~Totals() {
    std::ofstream file(variable("COUNTERS"));
    file << "kernel launches blocks instructions barriers loads sectors bytes "
            "stores sectors bytes shared waves\n";
    for (auto &[name, it] : counters) {
      file << name;
      // All members are numbers, in the order of the columns.
      for (int64_t number : std::bit_cast<std::array<int64_t, 12>>(it))
        file << " " << number;
      file << "\n";
    }
  }
} totals;

// The layout is that of NVIDIA's fatbinary, as LLVM's and other readers define
// it. Constants are defined only if they are used here.

struct Header {
  uint32_t magic;
  uint16_t version, size;
  uint64_t bytes; ///< after the header
};
constexpr uint32_t fatbinMagic = 0xba55ed50;

struct Entry {
  uint16_t kind, version;
  uint32_t headerSize;
  uint64_t bytes;
  uint32_t compressed, options;
  uint16_t minor, major;
  uint32_t architecture, nameOffset, nameSize;
  uint64_t flags, reserved, wholeSize; ///< wholeSize: before compression
};
constexpr uint16_t ptxKind = 1;
/// Flags of code for one architecture (sm_90a) or for one family (sm_100f).
constexpr uint64_t isExact = 1 << 20, isOfFamily = 1 << 21;

/// "GPU Compilation": a device runs machine code of its major version up to its
/// minor one, and PTX up to its version.
bool runs(const Entry &it, uint32_t device) {
  bool isOfMajor = it.kind != ptxKind || it.flags & isOfFamily;
  return it.flags & isExact
             ? it.architecture == device
             : it.architecture <= device &&
                   (!isOfMajor || it.architecture / 10 == device / 10);
}

/// The PTX of an image that a device (90: sm_90) runs; of several, that of the
/// highest architecture. Empty if it runs only the image's machine code; none
/// if it runs nothing of the image. Throws `ptx::Unknown` if the image has
/// another format.
std::optional<std::string_view> ptxOf(const void *image, uint32_t device) {
  // An image may also be null-terminated PTX text.
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, "//", 2) == 0 || *text == '.')
    return text;
  Header header;
  std::memcpy(&header, image, sizeof(header));
  if (header.magic != fatbinMagic)
    throw ptx::Unknown("an image of another format");
  const char *at = text + header.size, *end = at + header.bytes;
  std::optional<std::string_view> found;
  uint32_t best = 0;
  while (at + sizeof(Entry) <= end) {
    Entry entry;
    std::memcpy(&entry, at, sizeof(entry));
    const char *content = at + entry.headerSize;
    at = content + entry.bytes;
    if (!runs(entry, device))
      continue;
    found = found.value_or("");
    if (entry.kind == ptxKind && !entry.wholeSize &&
        entry.architecture >= best) {
      found = {content, strnlen(content, entry.bytes)};
      best = entry.architecture;
    }
  }
  return found;
}

bool isAllowed(const Function &function, const ptx::Launch &launch) {
  constexpr unsigned most[] = {0x7fffffff, 65535, 65535};
  int64_t threads = launch.threads();
  bool fits = threads > 0 && threads <= 1024 && launch.block[2] <= 64 &&
              launch.dynamicShared <= function.dynamicShared;
  for (size_t i = 0; i < 3; ++i)
    fits &= launch.grid[i] > 0 && launch.grid[i] <= most[i];
  if (!launch.kernel)
    return fits;
  auto [x, y, z] = launch.kernel->most;
  int64_t largest = int64_t(x) * y * z;
  return fits && launch.kernel->shared + launch.dynamicShared <= mostShared() &&
         (largest == 0 || threads <= largest);
}

/// With FAULT=barriers it first runs without each barrier in turn, unless an
/// earlier launch has failed without it.
void run(const ptx::Launch &launch) {
  auto runOnce = [&] {
    ptx::Counters &counters = totals.counters[launch.kernel->name];
    ptx::BlockRunner(launch, memory(), counters).run(chance());
  };
  bool removes = variable("FAULT") == "barriers";
  for (ptx::Instruction &it : launch.kernel->code) {
    if (!removes || it.act != &ptx::Warp::barrier || it.isNeeded)
      continue;
    it.act = &ptx::Warp::nothing;
    try {
      runOnce();
    } catch (const Violation &error) {
      it.isNeeded = true;
      LOG("needed line=%d %s", it.line, error.what());
    }
    it.act = &ptx::Warp::barrier;
  }
  runOnce();
}

} // namespace

bool emulator::executes() { return anyExecutes; }

EMULATED int cuModuleLoadData(Code **code, const void *image) {
  ENTER();
  // Never freed: kernels are used after their module was unloaded.
  static auto &all = *new std::vector<std::unique_ptr<Code>>;
  *code = all.emplace_back(std::make_unique<Code>()).get();
  LOG("load device=%d", currentDevice());
  try {
    auto text = ptxOf(image, uint32_t(architecture()));
    if (!text)
      return noBinaryForGpu;
    if (!text->empty() && !setting("RECORDS", 0))
      (*code)->module = ptx::parse(*text, memory(), currentDevice());
    anyExecutes = anyExecutes || !(*code)->module.kernels.empty();
  } catch (const ptx::Unknown &error) {
    std::fprintf(stderr, "the emulator does not know this PTX: %s\n",
                 error.what());
    return invalidImage;
  }
  return success;
}
EMULATED int cuModuleUnload(Code *) {
  return LOG("unload device=%d", currentDevice()), 0;
}
EMULATED int cuModuleGetFunction(Function **function, Code *code,
                                 const char *name) {
  ENTER();
  auto kernel = code->module.kernels.find(name);
  bool known = kernel != code->module.kernels.end();
  if (anyExecutes && !known)
    return notFound;
  Function fresh = {name, known ? &kernel->second : nullptr};
  *function = &code->functions.try_emplace(name, fresh).first->second;
  return success;
}
EMULATED int cuFuncSetAttribute(Function *function, int attribute, int value) {
  ENTER(function, attribute, value);
  constexpr int maxDynamicShared = 8;
  LOG("function kernel=%s attribute=%d value=%d", function->name.c_str(),
      attribute, value);
  if (attribute != maxDynamicShared || value > mostShared())
    return invalidValue;
  function->dynamicShared = value;
  return success;
}

/// `arguments` must end with a null pointer, as the runtime's lists do.
EMULATED int cuLaunchKernel(Function *function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, Stream *stream, void **arguments,
                            void **) {
  std::vector<uint64_t> values;
  for (; *arguments; ++arguments)
    values.push_back(*static_cast<uint64_t *>(*arguments));
  ENTER(function, gx, gy, gz, bx, by, bz, shared, stream, values);
  std::string list;
  for (uint64_t it : values)
    list += text("%s%#lx", list.empty() ? "" : ",", it);
  LOG("launch stream=%d kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%u "
      "arguments=%s",
      idOf(stream), function->name.c_str(), gx, gy, gz, bx, by, bz, shared,
      list.c_str());
  ptx::Launch launch = {
      function->kernel, {gx, gy, gz}, {bx, by, bz}, int64_t(shared), values};
  if (!isAllowed(*function, launch))
    return invalidValue;
  if (!launch.kernel)
    return enqueue(stream, nullptr);
  if (values.size() != launch.kernel->parameters.size())
    return invalidValue;
  return enqueue(stream, [launch = std::move(launch)] { run(launch); });
}
