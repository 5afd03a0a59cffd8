//===- DeviceTarget.h - machine code for one vendor's devices ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The door to one vendor: kernels in the gpu dialect go in, bytes that the
// vendor's driver loads come out. Everything before is the same for all of
// them, and so is what follows: a new vendor is a class like the one in
// Target/Cuda, a line in `createDeviceTarget`, and libraries for the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_DEVICETARGET_H
#define STAGEWRIGHT_TARGET_DEVICETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace stagewright {

class DeviceTarget {
public:
  virtual ~DeviceTarget() = default;

  /// Compiles the `gpu.module` in `module` and puts data that the runtime finds
  /// in its place; the manifest (module attribute `rank.manifest`) then says
  /// for what it is.
  virtual mlir::LogicalResult embed(mlir::ModuleOp module) = 0;

  /// Whether a library of the vendor's multiplies floats of 8 bits on one of
  /// the architectures.
  virtual bool multipliesBytes() const = 0;

  /// What the vendor's assembler reads, for the first architecture. The kernels
  /// in `module` are lowered in place.
  virtual llvm::Expected<std::string> assembly(mlir::ModuleOp module) = 0;
};

/// The target that a user names as `cuda` or `cuda:sm_90a,sm_100`. Machine code
/// is kept in `cacheFolder` between compiles; an empty one keeps none. `ptx`
/// says for which architectures there is PTX beside machine code, which drivers
/// compile when they load it: `none`, `all` of the target, or a list as
/// `sm_80,sm_90`; empty: one baseline, which all devices from the lowest
/// architecture of the target on run.
llvm::Expected<std::unique_ptr<DeviceTarget>>
createDeviceTarget(llvm::StringRef name, llvm::StringRef cacheFolder,
                   llvm::StringRef ptx = "");

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_DEVICETARGET_H
