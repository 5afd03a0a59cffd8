//===- Artifact.cpp - a checked and opened artifact -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/Artifact.h"

#include "Artifact/CpuFeatures.h"
#include "Artifact/Elf.h"
#include "Cuda/Program.h"
#include "Files/MappedFile.h"
#include "Products/Blas.h"
#include "stagewright/Runtime/Error.h"

#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

constexpr size_t prefixSize = 24;

template <typename T>
T readInteger(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): detects damage, not manipulation.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325u;
  for (unsigned char byte : text)
    value = (value ^ byte) * 0x100000001b3u;
  return value;
}

constexpr std::string_view hostArchitecture =
#if defined(__x86_64__)
    "x86_64";
#else
    "aarch64";
#endif

/// The first (best) of the artifact's processors whose features this one has.
const ProcessorManifest &requireTarget(const Manifest &manifest) {
  std::string_view triple = manifest.triple;
  std::string_view machine = triple.substr(0, triple.find('-'));
  if (machine != hostArchitecture)
    raise("artifact is for another machine: expected ", hostArchitecture,
          " but got ", machine);
  for (const ProcessorManifest &processor : manifest.processors)
    if (hasCpuFeatures(processor.features))
      return processor;
  const ProcessorManifest &lowest = manifest.processors.back();
  requireCpuFeatures(lowest.features);
  return lowest;
}

} // namespace

std::string_view manifestText(std::span<const std::byte> file) {
  auto section = findElfSection(file, ".stagewright");
  if (section.size() < prefixSize)
    raise("truncated artifact: the manifest section has ", section.size(),
          " bytes, expected at least ", prefixSize);
  if (std::memcmp(section.data(), "SWX1", 4) != 0)
    raise("not an artifact: the manifest section does not start with 'SWX1'");
  auto version = readInteger<uint32_t>(section, 4);
  if (version != SW_ABI_VERSION)
    raise("artifact has version ", version, ", this runtime reads ",
          SW_ABI_VERSION, "; compile it again");
  auto length = readInteger<uint64_t>(section, 8);
  if (length > section.size() - prefixSize)
    raise("truncated artifact: the manifest has ", length,
          " bytes, but its section holds ", section.size() - prefixSize);
  std::string_view text(
      reinterpret_cast<const char *>(section.data()) + prefixSize, length);
  auto expected = readInteger<uint64_t>(section, 16);
  if (uint64_t actual = hash(text); actual != expected)
    raise("damaged artifact: the manifest's hash is ", std::hex, actual,
          ", expected ", expected);
  return text;
}

void Artifact::readManifest(std::span<const std::byte> file) {
  json = manifestText(file);
  description = parseManifest(json);
}

Artifact::Artifact(const std::string &path, bool run) {
  {
    MappedFile file(path);
    readManifest(file.bytes());
  }
  if (!run)
    return;
  // dlopen searches the system's folders for a name without a slash.
  std::string located =
      path.find('/') == std::string::npos ? "./" + path : path;
  try {
    open(located);
  } catch (...) {
    close();
    throw;
  }
}

Artifact::Artifact(std::span<const std::byte> bytes) {
  readManifest(bytes);
  try {
    memory = memfd_create("stagewright", MFD_CLOEXEC);
    if (memory < 0)
      raise("cannot make a file in memory: ", std::strerror(errno));
    for (size_t done = 0; done < bytes.size();) {
      ssize_t written =
          ::write(memory, bytes.data() + done, bytes.size() - done);
      if (written < 0)
        raise("cannot write a file in memory: ", std::strerror(errno));
      done += size_t(written);
    }
    open("/proc/self/fd/" + std::to_string(memory));
  } catch (...) {
    close();
    throw;
  }
}

const void *Artifact::data(const Interface &argument) const {
  if (argument.symbol.empty() || !handle)
    return nullptr;
  void *address = dlsym(handle, argument.symbol.c_str());
  if (!address)
    raise("malformed artifact: it does not export '", argument.symbol,
          "', the data of argument ", argument.label());
  return address;
}

const void *Artifact::constant(const ConstantArray &array) const {
  void *address = dlsym(handle, array.symbol.c_str());
  if (!address)
    raise("malformed artifact: it does not export '", array.symbol,
          "', which its kernels read");
  return address;
}

const void *Artifact::deviceCode() const {
  void *address = dlsym(handle, "stagewright_fatbin");
  if (!address)
    raise("malformed artifact: it does not export 'stagewright_fatbin', its "
          "device code");
  return address;
}

void Artifact::open(const std::string &path) {
  const ProcessorManifest &processor = requireTarget(description);
  for (const std::string &name : description.libraries) {
    if (name == "blas") {
      requireBlas();
      continue;
    }
    void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      raise("artifact needs library '", name, "': ", dlerror());
    libraries.push_back(library);
  }
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    raise("cannot open artifact: ", dlerror());
  auto *table = static_cast<const sw_api **>(dlsym(handle, "stagewright_api"));
  if (!table)
    raise("malformed artifact: it does not export 'stagewright_api'");
  // If the file is already open, do not write: its ranks may be reading it.
  const sw_api *api =
      description.cuda ? &cuda::deviceCodeApi() : &generatedCodeApi();
  if (*table != api)
    *table = api;
  for (const RankManifest &rank : description.ranks) {
    std::string name = rank.entry + processor.suffix;
    void *entry = dlsym(handle, name.c_str());
    if (!entry)
      raise("malformed artifact: it does not export '", name, "'");
    entries.push_back(reinterpret_cast<sw_entry>(entry));
  }
}

void Artifact::close() {
  if (handle)
    dlclose(handle);
  for (void *library : libraries)
    dlclose(library);
  if (memory >= 0)
    ::close(memory);
}

Artifact::~Artifact() { close(); }

} // namespace stagewright::runtime
