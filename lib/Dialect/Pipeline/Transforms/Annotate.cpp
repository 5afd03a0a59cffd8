//===- Annotate.cpp - pipeline-annotate -----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/Annotations.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Support/Files.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_ANNOTATE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
/// One line of a file of annotations.
struct Rule {
  std::string names;       ///< A valid glob.
  std::string named, form; ///< For error messages, and as in Annotation.h.
  bool used = false;
};
} // namespace

/// Parses "GLOB=split(2)". `file` and its line number are empty and 0 if the
/// text is an option.
static FailureOr<Rule> readRule(Location loc, StringRef text, int64_t number,
                                StringRef file, size_t line) {
  std::string place =
      file.empty() ? "'" + text.str() + "'" : (file + ":" + Twine(line)).str();
  std::string named = file.empty() ? place : place + ": '" + text.str() + "'";
  auto fail = [&](const Twine &why) {
    return emitError(loc) << named << " is not an annotation: " << why
                          << "; write GLOB=replicate(N) or GLOB=split(N), as "
                          << "in */mlp=split(2)";
  };
  auto [names, how] = text.rsplit('=');
  auto [kind, rest] = how.split('(');
  int64_t count = 0;
  if (names.empty() || (kind != "replicate" && kind != "split"))
    return fail("it has no name, or neither replicate nor split");
  if (!rest.consume_back(")") || rest.getAsInteger(10, count) || count < 1)
    return fail("the number of devices must be at least 1, got '" + rest + "'");
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(names);
  if (!glob)
    return fail(llvm::toString(glob.takeError()));
  return Rule{names.str(), named,
              formOf(kind == "split", count, number, place)};
}

/// Whether `text` is the annotations themselves, not the name of a file.
static bool isText(StringRef text) {
  return text.ends_with(")") &&
         (text.contains("=replicate(") || text.contains("=split("));
}

static FailureOr<std::vector<Rule>> readRules(Location loc, StringRef option) {
  std::vector<Rule> rules;
  auto add = [&](StringRef text, StringRef file, size_t line) {
    text = text.trim();
    if (text.empty() || text.starts_with("#"))
      return success();
    // Annotations of scopes have smaller numbers than those of globs.
    constexpr int64_t kFirst = 1'000'000;
    FailureOr<Rule> rule =
        readRule(loc, text, kFirst + int64_t(rules.size()), file, line);
    if (succeeded(rule))
      rules.push_back(std::move(*rule));
    return success(succeeded(rule));
  };
  if (isText(option)) {
    for (StringRef text : llvm::split(option, ','))
      if (failed(add(text, "", 0)))
        return failure();
    return rules;
  }
  Result<std::string> file = readTextFile(option.str());
  if (!file)
    return emitError(loc) << file.error().message;
  SmallVector<StringRef> lines;
  StringRef(*file).split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines))
    if (failed(add(line, option, number + 1)))
      return failure();
  if (rules.empty())
    return emitError(loc) << "'" << option << "' has no annotations; write "
                          << "lines such as */mlp=split(2)";
  return rules;
}

/// Whether `glob` matches `name`, or a module that holds it, with or without
/// the name of the argument in front. The parts of PyTorch's names are
/// separated by dots.
static bool matches(const llvm::GlobPattern &glob, StringRef name) {
  for (StringRef path : {name, name.split('/').second})
    while (!path.empty()) {
      if (glob.match(path))
        return true;
      size_t end = path.find_last_of("/.");
      path = end == StringRef::npos ? StringRef() : path.take_front(end);
    }
  return false;
}

namespace {
struct AnnotatePass : impl::AnnotateBase<AnnotatePass> {
  using AnnotateBase::AnnotateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (annotate.empty())
      return;
    if (!module.getOps<GraphOp>().empty()) {
      emitError(module.getLoc()) << "pipeline-annotate marks parameters of a "
                                    "step, but the module has a graph";
      return signalPassFailure();
    }
    FailureOr<func::FuncOp> step = ensureStep();
    FailureOr<std::vector<Rule>> rules = readRules(module.getLoc(), annotate);
    if (failed(step) || failed(rules))
      return signalPassFailure();
    std::vector<llvm::GlobPattern> globs; // Refer to strings of `rules`.
    for (const Rule &rule : *rules)
      globs.push_back(llvm::cantFail(llvm::GlobPattern::create(rule.names)));
    for (unsigned i = 0; i < step->getNumArguments(); ++i) {
      if (argumentRole(*step, i) != Role::Parameter)
        continue;
      auto named =
          step->getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
      StringRef name = named ? named.getValue() : StringRef();
      auto glob = llvm::find_if(
          globs, [&](const auto &it) { return matches(it, name); });
      if (glob == globs.end())
        continue;
      Rule &rule = (*rules)[size_t(glob - globs.begin())];
      rule.used = true;
      step->setArgAttr(i, kAnnotation,
                       StringAttr::get(&getContext(), rule.form));
      ++numAnnotated;
    }
    for (const Rule &rule : *rules)
      if (!rule.used) {
        emitError(module.getLoc())
            << rule.named << " matches no parameter, or only ones that an "
            << "earlier line matches; names are as in " << exampleOf(*step);
        return signalPassFailure();
      }
  }

private:
  /// The name of a parameter, in quotes.
  static std::string exampleOf(func::FuncOp step) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto name = step.getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
      if (name && argumentRole(step, i) == Role::Parameter)
        return "'" + name.getValue().str() + "'";
    }
    return "a step with parameters; this one has none";
  }
};
} // namespace
} // namespace stagewright::pipeline
