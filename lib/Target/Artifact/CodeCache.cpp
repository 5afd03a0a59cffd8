//===- CodeCache.cpp - a cache of object code -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/CodeCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

namespace stagewright {

static constexpr llvm::StringLiteral kMagic = "SWOBJ1\n";
static constexpr size_t kDigestBytes = 32;
static constexpr uint64_t kDefaultLimit = uint64_t(1) << 30;
static constexpr std::chrono::hours kExpiration(30 * 24);

static llvm::BLAKE3Result<kDigestBytes> digestOf(llvm::ArrayRef<char> bytes) {
  return llvm::BLAKE3::hash<kDigestBytes>(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

std::string stampOfFile(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return "none";
  return std::to_string(status.getSize()) + "." +
         std::to_string(
             status.getLastModificationTime().time_since_epoch().count());
}

/// The stamp of the file that `code` was loaded from. For the executable
/// itself, dladdr() may return a wrong name or none.
static std::string stampOfCode(const void *code) {
  Dl_info info;
  return stampOfFile(dladdr(code, &info) && info.dli_fname ? info.dli_fname
                                                           : "");
}

CodeCache::CodeCache(llvm::StringRef folder) : folder(folder) {
  if (folder.empty())
    return;
  // Errors are ignored here: add() then fails too, which is harmless.
  (void)llvm::sys::fs::create_directories(folder);
  for (std::string part :
       {std::string(LLVM_VERSION_STRING), stampOfFile("/proc/self/exe"),
        stampOfCode(reinterpret_cast<const void *>(&stampOfFile)),
        stampOfCode(reinterpret_cast<const void *>(&llvm::WriteBitcodeToFile))})
    compiler += part + ",";
}

std::string CodeCache::keyOf(llvm::ArrayRef<llvm::StringRef> parts) const {
  llvm::BLAKE3 hash;
  hash.update(compiler);
  for (llvm::StringRef part : parts) {
    hash.update(";" + std::to_string(part.size()) + ";");
    hash.update(part);
  }
  return llvm::toHex(hash.final<20>(), /*LowerCase=*/true);
}

/// `llvm::pruneCache` only considers files with this prefix.
std::string CodeCache::pathOf(llvm::StringRef key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

std::optional<llvm::SmallVector<char, 0>>
CodeCache::find(llvm::StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  // The access time keeps entries in use from being pruned.
  auto file = llvm::sys::fs::openNativeFileForRead(
      pathOf(key), llvm::sys::fs::OF_UpdateAtime);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(
      *file, key, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  llvm::sys::fs::closeFile(*file);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef entry = (*buffer)->getBuffer();
  if (!entry.consume_front(kMagic) || entry.size() < kDigestBytes)
    return std::nullopt;
  llvm::StringRef object = entry.drop_front(kDigestBytes);
  auto digest = digestOf(llvm::ArrayRef(object.data(), object.size()));
  if (!llvm::equal(digest,
                   llvm::arrayRefFromStringRef(entry.take_front(kDigestBytes))))
    return std::nullopt;
  return llvm::SmallVector<char, 0>(object.begin(), object.end());
}

void CodeCache::add(llvm::StringRef key, llvm::ArrayRef<char> object) const {
  if (folder.empty())
    return;
  std::string path = pathOf(key);
  auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%");
  if (!file)
    return llvm::consumeError(file.takeError());
  auto digest = digestOf(object);
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << kMagic << llvm::toStringRef(digest);
  stream.write(object.data(), object.size());
  stream.flush();
  // If the disk is full, the entry is discarded.
  bool failed = stream.has_error();
  stream.clear_error();
  llvm::consumeError(failed ? file->discard() : file->keep(path));
}

void CodeCache::prune(uint64_t bytes) const {
  if (folder.empty())
    return;
  llvm::CachePruningPolicy policy;
  policy.Expiration = kExpiration;
  policy.MaxSizeBytes = bytes ? bytes : kDefaultLimit;
  if (bytes)
    policy.Interval = std::chrono::seconds(0);
  llvm::pruneCache(folder, policy);
}

} // namespace stagewright
