//===- OwnFolder.h - the folder of the runtime library ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of the runtime with dependencies that a machine may lack are separate
// libraries, in the same folder as the file that contains this code.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_OWNFOLDER_H
#define STAGEWRIGHT_LIB_RUNTIME_OWNFOLDER_H

#include <dlfcn.h>
#include <string>

namespace stagewright::runtime {

/// The folder of the file that contains this code, with a trailing slash; empty
/// if unknown.
inline std::string ownFolder() {
  static const char here = 0;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname)
    return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_OWNFOLDER_H
