//===- Driver.cpp - CUDA's driver API -------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

namespace {

constexpr LibraryName driverName = {
    {"libcuda.so.1"},
    "STAGEWRIGHT_CUDA_LIBRARY",
    "an artifact for a GPU needs it to run",
    "NVIDIA's driver (Debian package libcuda1)"};

/// The table of functions. It is filled before the first call that may fail,
/// so that fail() can use it.
Driver &table() {
  static Driver it;
  return it;
}

bool openDriver() {
  Library library(driverName);
  Driver it;
  STAGEWRIGHT_CUDA_DRIVER(STAGEWRIGHT_LOOK_UP)
  it.path = library.path();
  table() = it;
  int count = 0;
  it.init(0u);
  it.deviceCount(&count);
  if (count == 0)
    raise("'", it.path, "' finds no GPU");
  return true;
}

} // namespace

const Driver &driver() {
  static bool opened = openDriver();
  (void)opened;
  return table();
}

void DriverErrors::fail(const char *symbol, int status) {
  const char *code = nullptr, *text = nullptr;
  table().errorName.status(status, &code);
  table().errorString.status(status, &text);
  raise(symbol, ": ", text ? text : "unknown error", " (",
        code ? code : "an error of the driver", " ", status, ")");
}

} // namespace stagewright::runtime::cuda
