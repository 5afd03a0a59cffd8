//===- Library.cpp - libraries that are opened at run time ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include "stagewright/Runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace stagewright::runtime::cuda {

namespace {
std::string lastError() {
  const char *text = dlerror();
  return text ? text : "no reason given";
}
} // namespace

Library::Library(const LibraryName &name) : name(name) {
  std::vector<std::string> names; // Files or a path, see LibraryName.
  std::vector<std::string> folders = {""};
  const char *chosen = std::getenv(name.variable);
  if (chosen && *chosen) {
    names.emplace_back(chosen);
  } else {
    for (const char *file : name.files)
      if (file)
        names.emplace_back(file);
    for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char *home = std::getenv(variable); home && *home)
        folders.push_back(std::string(home) + "/lib64/");
  }
  std::string reason, tried;
  for (const std::string &folder : folders)
    for (const std::string &file : names) {
      handle = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) {
        opened = folder + file;
        return;
      }
      if (reason.empty())
        reason = lastError();
    }
  for (const std::string &file : names)
    tried += (tried.empty() ? "'" : " or '") + file + "'";
  raise("cannot open ", tried, ", and ", name.purpose, ": ", reason,
        "; it comes with ", name.package, "; if it is elsewhere, set ",
        name.variable, " to its path");
}

void *Library::symbol(const char *symbol) const {
  void *address = dlsym(handle, symbol);
  if (!address)
    raise("'", opened, "' has no function '", symbol, "', and ", name.purpose,
          "; a newer version comes with ", name.package);
  return address;
}

} // namespace stagewright::runtime::cuda
