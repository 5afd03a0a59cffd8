//===- DeviceTarget.cpp - device targets by name --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/DeviceTarget.h"
#include "Cuda/Cuda.h"

namespace stagewright {
namespace {

/// The default architectures: of A100, of H100 and H200, and of B200.
constexpr llvm::StringLiteral kArchitectures = "sm_80,sm_90a,sm_100";

} // namespace

llvm::Expected<std::unique_ptr<DeviceTarget>>
createDeviceTarget(llvm::StringRef name, llvm::StringRef cacheFolder,
                   llvm::StringRef ptx) {
  auto [kind, list] = name.split(':');
  if (kind != "cuda" || (name.contains(':') && list.empty()))
    return llvm::createStringError(
        "target '%s' is unknown; expected host, cuda, or cuda with "
        "architectures, such as cuda:sm_80,sm_90a",
        name.str().c_str());
  if (list == "host")
    return llvm::createStringError(
        "target 'cuda:host': GPU kernels do not run on the host itself, only "
        "on "
        "a GPU or on the emulator of the tests; name an architecture, such as "
        "--target=cuda:sm_90a, and run the artifact with scripts/emulate "
        "pp-run");
  return cuda::createTarget(
      list.empty() ? llvm::StringRef(kArchitectures) : list, ptx, cacheFolder);
}

} // namespace stagewright
