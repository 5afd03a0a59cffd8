//===- Scope.cpp - the user's scope of an operation -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Scope.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace stagewright::pipeline;

/// Whether `word(...)` is a transformation of a scope; else it is a call.
static bool isTransformation(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"jvp", "transpose", "vmap", "linearize", "remat", "checkpoint"},
             true)
      .Default(false);
}

/// Whether a framework, not the user, generates this name.
static bool isFrameworkName(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"while", "body", "cond", "scan", "closed_call", "core_call"},
             true)
      .Cases({"checkpoint", "remat", "rematted_computation", "custom_jvp_call",
              "custom_vjp_call", "pjit", "jit", "jvp", "transpose", "vmap"},
             true)
      // Equinox writes the class of a module, which all its instances share.
      .Default(name.starts_with("branch_") || name.starts_with("eqx.nn."));
}

/// Splits `path` at the slashes outside of parentheses.
static SmallVector<StringRef> splitPath(StringRef path) {
  SmallVector<StringRef> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    depth += path[i] == '(' ? 1 : path[i] == ')' ? -1 : 0;
    if (path[i] != '/' || depth > 0)
      continue;
    parts.push_back(path.slice(start, i));
    start = i + 1;
  }
  parts.push_back(path.substr(start));
  return parts;
}

/// Appends the scopes in one component, without the transformations around.
static void appendScopes(StringRef component, ScopePath &scopes) {
  while (component.ends_with(")")) {
    auto [word, rest] = component.split('(');
    if (!isTransformation(word))
      return;
    component = rest.drop_back();
  }
  if (component.contains('/')) {
    for (StringRef part : splitPath(component))
      appendScopes(part, scopes);
    return;
  }
  bool isName = !component.empty() && llvm::all_of(component, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == ':' || c == '-';
  });
  // The arrow excludes einsum formulas without a comma: "ij->ji".
  if (isName && !isFrameworkName(component))
    scopes.push_back(component);
}

ScopePath stagewright::pipeline::parseScopePath(StringRef path) {
  ScopePath scopes;
  SmallVector<StringRef> parts = splitPath(path);
  for (StringRef part : ArrayRef(parts).drop_back())
    appendScopes(part, scopes);
  return scopes;
}

ScopePath stagewright::pipeline::scopeOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    ScopePath scopes = parseScopePath(name.getName().getValue());
    return scopes.empty() ? scopeOf(name.getChildLoc()) : scopes;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    ScopePath scopes = scopeOf(call.getCaller());
    return scopes.empty() ? scopeOf(call.getCallee()) : scopes;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (ScopePath scopes = scopeOf(part); !scopes.empty())
        return scopes;
  return {};
}
