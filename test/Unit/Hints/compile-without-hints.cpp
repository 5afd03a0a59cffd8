//===- compile-without-hints.cpp - compiles with attributes lost ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compile-without-hints INPUT OUTPUT TARGET PLACE
//
// Compiles a step as pp-compile does, on one device, and removes a discardable
// attribute after a pass: PLACE is `NUMBER:NAME`, or `all` for all attributes
// `host.*` and `device.*` after every pass. With `list` it prints the numbers
// of the passes after which there are such attributes, and their names, and
// removes nothing.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/InitAllPasses.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Target/Artifact.h"
#include <map>
#include <set>

using namespace mlir;
using namespace stagewright;

namespace {

/// What is found after each pass, and where it is removed.
struct Places {
  std::string place;
  std::map<const Pass *, size_t> numbers;
  std::map<size_t, std::pair<std::string, std::set<std::string>>> found;

  bool isRemovedAt(size_t number, StringRef name) const {
    return place == "all" || place == (Twine(number) + ":" + name).str();
  }
};

class RemoveHints : public PassInstrumentation {
public:
  explicit RemoveHints(Places &places) : places(places) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    size_t number =
        places.numbers.try_emplace(pass, places.numbers.size()).first->second;
    op->walk([&](Operation *inner) {
      SmallVector<StringAttr> names;
      for (NamedAttribute attr : inner->getDiscardableAttrs())
        if (StringRef name = attr.getName();
            name.starts_with("host.") || name.starts_with("device."))
          names.push_back(attr.getName());
      for (StringAttr name : names) {
        auto &[argument, kinds] = places.found[number];
        argument = pass->getName().str();
        kinds.insert(name.str());
        if (places.isRemovedAt(number, name))
          inner->removeDiscardableAttr(name);
      }
    });
  }

private:
  Places &places;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: " << argv[0] << " INPUT OUTPUT TARGET PLACE\n";
    return 2;
  }
  mlir::registerAllPasses();
  stagewright::registerAllPasses();
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  stagewright::registerAllDialects(registry);
  registerArtifactTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 2;
  CompileOptions options;
  options.cluster = "local:1";
  options.stages = 1;
  options.microbatches = 2;
  options.target = argv[3];
  if (options.target != "host") {
    options.ptx = "all";
    options.scoreBytes = 0; // All attention is one operation.
  }
  Places places{argv[4], {}, {}};
  auto configure = [&](PassManager &manager) {
    manager.addInstrumentation(std::make_unique<RemoveHints>(places));
    return success();
  };
  DefaultTimingManager timings;
  TimingScope scope = timings.getRootScope();
  if (failed(compileTo(Level::LLVM, *module, options, scope,
                       /*report=*/nullptr, configure)))
    return 1;
  if (places.place != "list")
    return failed(writeArtifact(*module, argv[2], {}, scope));
  for (auto &[number, what] : places.found)
    llvm::outs() << number << " " << what.first << " "
                 << llvm::join(what.second, ",") << "\n";
  return 0;
}
