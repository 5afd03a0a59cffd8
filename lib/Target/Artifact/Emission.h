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

namespace stagewright {

/// A target machine for `options.cpu` on this architecture.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(
    const ArtifactOptions &options,
    llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// Features of the processor that generated code may use and a runtime can
/// check, by LLVM's names.
std::vector<std::string> featuresOf(const llvm::TargetMachine &machine);

/// One of the processors that an artifact is for.
struct Processor {
  ArtifactOptions options; ///< With this processor alone.
  std::unique_ptr<llvm::TargetMachine> machine;
  std::vector<std::string> features;
  std::string suffix; ///< Of the names of its functions; the first has none.
};

/// The processors of `options`, first those that ask most of a machine.
llvm::Expected<std::vector<Processor>>
processorsOf(const ArtifactOptions &options);

/// Makes `module` the code of one more processor: what it defines ends with
/// `suffix`, and data and the runtime's table are those of the first module.
void addSuffix(llvm::Module &module, llvm::StringRef suffix);

/// Gives every declaration `sw_x` a body that jumps through member x of the
/// table behind `stagewright_api`. Fails for a function the table lacks.
llvm::Error defineRuntimeCalls(llvm::Module &module);

/// Places `json` in the section that the runtime reads first.
void embedManifest(llvm::Module &module, llvm::StringRef json);

/// Object files in memory, one per function, always in the same order.
struct Objects {
  std::vector<llvm::SmallVector<char, 0>> code;
  size_t cached = 0; ///< Of them, those that an earlier compile made.
};

/// Optimises and generates code with up to `threads` threads.
llvm::Expected<Objects> emitObjects(std::unique_ptr<llvm::Module> module,
                                    const ArtifactOptions &options,
                                    mlir::TimingScope &timing);

/// Links `objects` to a shared object at `path`, atomically.
llvm::Error linkObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                        llvm::StringRef path);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_ARTIFACT_EMISSION_H
