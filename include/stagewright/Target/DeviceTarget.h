//===- DeviceTarget.h - machine code for one vendor's devices ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface to one vendor: it compiles kernels in the gpu dialect to the
// binary that the vendor's driver loads. All steps before and after it are the
// same for every vendor. A new vendor needs a class like the one in
// Target/Cuda, a line in `createDeviceTarget`, and libraries for the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_DEVICETARGET_H
#define STAGEWRIGHT_TARGET_DEVICETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace stagewright {

class DeviceTarget {
public:
  virtual ~DeviceTarget() = default;

  /// Compiles the `gpu.module` in `module` and replaces it by data that the
  /// runtime finds; `rank.artifact` then names the device and the constants.
  virtual mlir::LogicalResult embed(mlir::ModuleOp module) = 0;

  /// Whether a library of the vendor multiplies 8-bit floats on one of the
  /// architectures.
  virtual bool multipliesBytes() const = 0;

  /// The input of the vendor's assembler, for the first architecture. The
  /// kernels in `module` are lowered in place.
  virtual llvm::Expected<std::string> assembly(mlir::ModuleOp module) = 0;
};

/// The target for a name such as `cuda` or `cuda:sm_90a,sm_100`. Machine code
/// is cached in `cacheFolder`; empty: no cache. `ptx` selects the architectures
/// for which PTX, which drivers compile at load time, is added to the machine
/// code: `none`, `all` of the target, or a list such as `sm_80,sm_90`; empty:
/// one baseline for all devices from the lowest architecture of the target on.
llvm::Expected<std::unique_ptr<DeviceTarget>>
createDeviceTarget(llvm::StringRef name, llvm::StringRef cacheFolder,
                   llvm::StringRef ptx = "");

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_DEVICETARGET_H
