//===- Scope.cpp - the user's scope of an operation -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Scope.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "stagewright/Dialect/LLVM.h"
#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace stagewright::pipeline {

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

/// Calls `take` on each name in one component, without the transformations
/// around it, as in `jvp(h/0)`. A call, such as `jit(f)`, has no name.
static void eachName(StringRef component,
                     llvm::function_ref<void(StringRef)> take) {
  while (component.ends_with(")")) {
    auto [word, rest] = component.split('(');
    if (!isTransformation(word))
      return;
    component = rest.drop_back();
  }
  SmallVector<StringRef> parts = splitPath(component);
  if (parts.size() == 1)
    return take(component);
  for (StringRef part : parts)
    eachName(part, take);
}

/// Appends `name` if it is a scope of the user.
static void appendScope(StringRef name, ScopePath &scopes) {
  bool isName = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == ':' || c == '-';
  });
  // The arrow excludes einsum formulas without a comma: "ij->ji".
  if (isName && !isFrameworkName(name) && !isAnnotationScope(name))
    scopes.push_back(name);
}

ScopePath parseScopePath(StringRef path) {
  ScopePath scopes;
  SmallVector<StringRef> parts = splitPath(path);
  for (StringRef part : ArrayRef(parts).drop_back())
    eachName(part, [&](StringRef name) { appendScope(name, scopes); });
  return scopes;
}

llvm::SmallVector<StringRef, 1> annotationScopesOf(Location location) {
  llvm::SmallVector<StringRef, 1> found;
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named || !named.getName().getValue().contains(kAnnotationScope))
      return WalkResult::advance();
    for (StringRef part : splitPath(named.getName().getValue()))
      eachName(part, [&](StringRef name) {
        if (isAnnotationScope(name) && !llvm::is_contained(found, name))
          found.push_back(name);
      });
    return WalkResult::advance();
  });
  return found;
}

ScopePath scopeOf(Location location) {
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

} // namespace stagewright::pipeline
