//===- Elf.cpp - finding a section in an ELF file -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/Elf.h"

#include "stagewright/Runtime/Error.h"

#include <cstring>
#include <elf.h>

namespace stagewright::runtime {

namespace {

#if defined(__x86_64__)
constexpr uint16_t hostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t hostMachine = EM_AARCH64;
#else
#error "the artifact reader knows x86-64 and aarch64"
#endif

/// `count` bytes at `offset`; throws an error that names `what` if the file is
/// too short.
std::span<const std::byte> take(std::span<const std::byte> file,
                                uint64_t offset, uint64_t count,
                                std::string_view what) {
  if (offset > file.size() || count > file.size() - offset)
    raise("truncated artifact: ", what, " at byte ", offset, " needs ", count,
          " bytes, but the file has ", file.size());
  return file.subspan(offset, count);
}

template <typename T>
T read(std::span<const std::byte> file, uint64_t offset,
       std::string_view what) {
  T value;
  std::memcpy(&value, take(file, offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

Elf64_Ehdr readHeader(std::span<const std::byte> file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    raise("not an artifact: the file does not start as an ELF file");
  auto header = read<Elf64_Ehdr>(file, 0, "the file header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    raise("not an artifact: expected a 64-bit little-endian ELF file");
  if (header.e_type != ET_DYN)
    raise("not an artifact: expected a shared object (ELF type ", ET_DYN,
          ") but got type ", header.e_type);
  if (header.e_machine != hostMachine)
    raise("artifact is for another machine: expected ELF machine ", hostMachine,
          " but got ", header.e_machine);
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    raise("malformed artifact: entries of the section and program tables have ",
          header.e_shentsize, " and ", header.e_phentsize, " bytes, expected ",
          sizeof(Elf64_Shdr), " and ", sizeof(Elf64_Phdr));
  return header;
}

std::string_view sectionName(std::span<const std::byte> strings,
                             uint32_t offset) {
  if (offset >= strings.size())
    raise("malformed artifact: a section name lies at byte ", offset,
          " of a string table of ", strings.size());
  const char *begin = reinterpret_cast<const char *>(strings.data()) + offset;
  size_t length = strnlen(begin, strings.size() - offset);
  return {begin, length};
}

} // namespace

std::span<const std::byte> findElfSection(std::span<const std::byte> file,
                                          std::string_view name) {
  Elf64_Ehdr header = readHeader(file);

  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    auto segment = read<Elf64_Phdr>(
        file, header.e_phoff + i * sizeof(Elf64_Phdr), "the program table");
    if (segment.p_type == PT_LOAD)
      take(file, segment.p_offset, segment.p_filesz, "a loadable segment");
  }

  auto table = take(file, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr),
                    "the section table");
  auto section = [&](uint64_t index) {
    return read<Elf64_Shdr>(table, index * sizeof(Elf64_Shdr), "a section");
  };
  if (header.e_shstrndx >= header.e_shnum)
    raise("malformed artifact: section ", header.e_shstrndx,
          " should hold the names, but there are ", header.e_shnum);
  Elf64_Shdr names = section(header.e_shstrndx);
  auto strings =
      take(file, names.sh_offset, names.sh_size, "the section names");

  for (uint64_t i = 1; i < header.e_shnum; ++i) {
    Elf64_Shdr entry = section(i);
    if (sectionName(strings, entry.sh_name) != name)
      continue;
    if (entry.sh_type == SHT_NOBITS)
      raise("malformed artifact: section '", name, "' has no contents");
    return take(file, entry.sh_offset, entry.sh_size, "the manifest section");
  }
  raise("not an artifact: the shared object has no section '", name,
        "'; was it written by pp-compile?");
}

} // namespace stagewright::runtime
