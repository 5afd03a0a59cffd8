//===- Emission.h - parts of the emission of an artifact --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_ARTIFACT_EMISSION_H
#define STAGEWRIGHT_LIB_TARGET_ARTIFACT_EMISSION_H

#include "stagewright/Target/Artifact.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace stagewright::rank {
class ArtifactOp;
} // namespace stagewright::rank

namespace stagewright {

/// A target machine for `options.cpu` on this architecture.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(
    const ArtifactOptions &options,
    llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// The features that generated code may use and that a runtime can check, by
/// LLVM's names.
std::vector<std::string> featuresOf(const llvm::TargetMachine &machine);

/// A processor that an artifact contains code for.
struct Processor {
  ArtifactOptions options; ///< With this processor only.
  std::unique_ptr<llvm::TargetMachine> machine;
  std::vector<std::string> features;
  std::string suffix; ///< Of its functions' names; "" for the first.
};

/// The processors of `options`, those with the most features first.
llvm::Expected<std::vector<Processor>>
processorsOf(const ArtifactOptions &options);

/// Makes `module` the code of an additional processor: appends `suffix` to the
/// names of its functions, and declares data and the runtime's table, which the
/// first module defines.
void addSuffix(llvm::Module &module, llvm::StringRef suffix);

/// Gives every declaration `sw_x` a body that jumps through member x of the
/// table behind `stagewright_api`. Fails for a function the table lacks.
llvm::Error defineRuntimeCalls(llvm::Module &module);

/// The manifest of `artifact` with code for `processors`, as JSON.
std::string writeManifest(rank::ArtifactOp artifact,
                          llvm::ArrayRef<Processor> processors);

/// Places `json` in the section that the runtime reads first.
void embedManifest(llvm::Module &module, llvm::StringRef json);

/// Object files in memory, one per unit (Units.h), in a deterministic order.
struct Objects {
  std::vector<llvm::SmallVector<char, 0>> code;
  size_t cached = 0; ///< Number of these taken from the cache.
};

/// Optimises `module` and generates code, with `options.threads` threads.
llvm::Expected<Objects> emitObjects(std::unique_ptr<llvm::Module> module,
                                    const ArtifactOptions &options,
                                    mlir::TimingScope &timing);

/// Links `objects` to a shared object at `path`, atomically.
llvm::Error linkObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                        llvm::StringRef path);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_EMISSION_H
