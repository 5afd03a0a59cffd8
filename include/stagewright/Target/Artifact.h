//===- Artifact.h - LLVM dialect to shared object ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of compilation. An artifact is an ordinary ELF shared object:
// native code, the manifest in a section `.stagewright` that the runtime checks
// before it maps any code, and one exported pointer, `stagewright_api`, through
// which the code calls the runtime. So it has no undefined symbol of ours and
// needs only the C library and libm.
//
// It is not a general LLVM driver: one target (the host's architecture), fixed
// optimisation levels.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_ARTIFACT_H
#define STAGEWRIGHT_TARGET_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace stagewright {

/// The error for a module without `rank.artifact`.
inline constexpr llvm::StringLiteral kNoArtifact =
    "no 'rank.artifact'; run lower-rank-to-host first";

struct ArtifactOptions {
  /// Processor to compile for, by LLVM's name; "native" is this machine's. If
  /// several are separated by commas, the runtime selects the best supported.
  std::string cpu = "native";
  /// Widest vectors the vectorizer prefers, in bits; 0 leaves it to LLVM.
  unsigned vectorBits = 512;
  /// Threads that optimise and generate code; 0 is one per processor.
  unsigned threads = 0;
  /// Folder with the code of earlier compiles; empty for none. It affects only
  /// the time of a compile, never its output.
  std::string cacheFolder;
  /// Max bytes of that folder; 0: a default.
  uint64_t cacheBytes = 0;
};

/// Statistics on the writing of an artifact.
struct ArtifactReport {
  size_t units = 0;  ///< Parts whose code is generated separately.
  size_t cached = 0; ///< Parts taken from the cache.
};

/// The user's cache folder: `stagewright` in `$XDG_CACHE_HOME` or `~/.cache`;
/// empty if there is neither.
std::string defaultCacheFolder();

/// Adds the translations that `translateArtifact` needs.
void registerArtifactTranslations(mlir::DialectRegistry &registry);

/// The LLVM module of `module` for the first processor, complete but not
/// optimised: calls of the runtime go through its table, and the manifest
/// (`rank.artifact` as JSON) is in its section. Returns null after an
/// error.
std::unique_ptr<llvm::Module>
translateArtifact(mlir::ModuleOp module, llvm::LLVMContext &context,
                  const ArtifactOptions &options = {});

/// Optimises, generates code, links, and writes the artifact to `path`. The
/// file is written under another name and then renamed, so that no reader sees
/// an incomplete one. The times of the parts are added to `timing`.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, llvm::StringRef path,
                                  const ArtifactOptions &options,
                                  mlir::TimingScope &timing,
                                  ArtifactReport *report = nullptr);

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_ARTIFACT_H
