//===- Processors.cpp - one artifact for several processors ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"

namespace stagewright {

llvm::Expected<std::vector<Processor>>
processorsOf(const ArtifactOptions &options) {
  std::vector<Processor> processors;
  llvm::StringSet<> names;
  for (llvm::StringRef name : llvm::split(options.cpu, ',')) {
    if (!names.insert(name).second)
      return llvm::createStringError("processor '%s' is named twice",
                                     name.str().c_str());
    Processor &processor = processors.emplace_back();
    processor.options = options;
    processor.options.cpu = name.str();
    auto machine = createTargetMachine(processor.options);
    if (!machine)
      return machine.takeError();
    processor.machine = std::move(*machine);
    processor.features = featuresOf(*processor.machine);
  }
  llvm::stable_sort(processors, [](const Processor &a, const Processor &b) {
    return a.features.size() > b.features.size();
  });
  for (Processor &processor : llvm::drop_begin(processors))
    processor.suffix = "." + processor.options.cpu;
  return processors;
}

void addSuffix(llvm::Module &module, llvm::StringRef suffix) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setName(function.getName() + suffix);
  for (llvm::GlobalVariable &variable : module.globals())
    if (!variable.hasLocalLinkage())
      variable.setInitializer(nullptr);
}

} // namespace stagewright
