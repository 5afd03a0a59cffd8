//===- Cuda.h - parts of the road to NVIDIA's devices -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_CUDA_CUDA_H
#define STAGEWRIGHT_LIB_TARGET_CUDA_CUDA_H

#include "mlir/IR/Operation.h"
#include "stagewright/Target/DeviceTarget.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace stagewright::cuda {

/// The target for a list of architectures, as `sm_80,sm_90a`, with PTX as
/// `createDeviceTarget` says.
llvm::Expected<std::unique_ptr<DeviceTarget>>
createTarget(llvm::StringRef architectures, llvm::StringRef ptx,
             llvm::StringRef cacheFolder);

/// Lowers a `gpu.module` in place to the NVVM and LLVM dialects.
mlir::LogicalResult lowerToNvvm(mlir::Operation *kernels);

/// The bitcode of a lowered module, with the functions of CUDA's device library
/// that it calls.
llvm::Expected<llvm::SmallString<0>> translate(mlir::Operation *kernels);

/// Whether code can be written for devices of that name, as `sm_90a`.
llvm::Expected<bool> isArchitecture(llvm::StringRef name);

/// PTX of `bitcode` for an architecture such as `sm_90a`.
llvm::Expected<std::string> toPtx(llvm::StringRef bitcode,
                                  llvm::StringRef architecture);

/// Machine code of PTX, by ptxas. `log` receives what it says of registers and
/// spills.
llvm::Expected<llvm::SmallVector<char, 0>>
assemble(llvm::StringRef ptx, llvm::StringRef architecture, std::string &log);

/// What tells one ptxas from another.
llvm::Expected<std::string> stampOfAssembler();

/// Kernels for one architecture: machine code, or PTX, which a driver compiles
/// for its device.
struct Image {
  bool isPtx = false;
  std::string architecture;
  llvm::SmallVector<char, 0> bytes;
};

/// One file of several images, by fatbinary. Nothing in it is compressed, so
/// that PTX can be read there.
llvm::Expected<llvm::SmallVector<char, 0>> join(llvm::ArrayRef<Image> images);

/// A file of the CUDA toolkit, by its path below the toolkit's folder:
/// `$CUDA_HOME`, where nvcc in PATH lies, or /usr/local/cuda.
llvm::Expected<std::string> findInToolkit(llvm::StringRef path,
                                          llvm::StringRef package);

} // namespace stagewright::cuda

#endif // STAGEWRIGHT_LIB_TARGET_CUDA_CUDA_H
