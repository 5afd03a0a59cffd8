//===- DeviceTarget.cpp - devices by their names --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/DeviceTarget.h"
#include "Cuda/Cuda.h"
#include "Twin/WriteTwins.h"

using namespace mlir;

namespace stagewright {
namespace {

/// What runs a program unless the user says: A100, H100 and H200, B200.
constexpr llvm::StringLiteral kArchitectures = "sm_80,sm_90a,sm_100";

/// No device: an artifact for the host, whose kernels are checked as they run.
class TwinTarget : public DeviceTarget {
public:
  LogicalResult embed(ModuleOp module, TimingScope &timing) override {
    TimingScope scope = timing.nest("kernels to code of the host");
    auto kernels = *module.getOps<gpu::GPUModuleOp>().begin();
    if (failed(writeTwins(module, kernels)))
      return failure();
    kernels.erase();
    return success();
  }

  bool isHost() const override { return true; }
  bool multipliesBytes() const override { return true; }

  llvm::Expected<std::string> assembly(ModuleOp) override {
    return llvm::createStringError(
        "kernels for the host have no assembly; name an architecture, as "
        "--target=cuda:sm_90a");
  }
};

} // namespace

llvm::Expected<std::unique_ptr<DeviceTarget>>
createDeviceTarget(llvm::StringRef name, llvm::StringRef cacheFolder,
                   llvm::StringRef ptx) {
  auto [kind, list] = name.split(':');
  if (kind != "cuda" || (name.contains(':') && list.empty()))
    return llvm::createStringError(
        "target '%s' is unknown; expected host, cuda, or cuda with "
        "architectures, as cuda:sm_80,sm_90a",
        name.str().c_str());
  if (list == "host" && !ptx.empty())
    return llvm::createStringError(
        "kernels for the host have no PTX; name an architecture, as "
        "--target=cuda:sm_90a");
  if (list == "host")
    return std::make_unique<TwinTarget>();
  return cuda::createTarget(
      list.empty() ? llvm::StringRef(kArchitectures) : list, ptx, cacheFolder);
}

} // namespace stagewright
