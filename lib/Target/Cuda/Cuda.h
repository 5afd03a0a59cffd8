//===- Cuda.h - parts of the CUDA target ------------------------*- C++ -*-===//
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

/// The target for a list of architectures, such as `sm_80,sm_90a`. `ptx` is as
/// for `createDeviceTarget`.
llvm::Expected<std::unique_ptr<DeviceTarget>>
createTarget(llvm::StringRef architectures, llvm::StringRef ptx,
             llvm::StringRef cacheFolder);

/// Lowers a `gpu.module` in place to the NVVM and LLVM dialects.
mlir::LogicalResult lowerToNvvm(mlir::Operation *kernels);

/// Translates a lowered module to bitcode, and links the functions of CUDA's
/// device library that it calls.
llvm::Expected<llvm::SmallString<0>> translate(mlir::Operation *kernels);

/// Whether LLVM can generate code for an architecture such as `sm_90a`.
llvm::Expected<bool> isArchitecture(llvm::StringRef name);

/// PTX of `bitcode` for an architecture such as `sm_90a`.
llvm::Expected<std::string> toPtx(llvm::StringRef bitcode,
                                  llvm::StringRef architecture);

/// Assembles PTX to machine code with ptxas. `log` receives its report on
/// registers and spills.
llvm::Expected<llvm::SmallVector<char, 0>>
assemble(llvm::StringRef ptx, llvm::StringRef architecture, std::string &log);

/// Identifies the build of ptxas.
llvm::Expected<std::string> stampOfAssembler();

/// Kernels for one architecture: machine code, or PTX, which a driver compiles
/// for its device.
struct Image {
  bool isPtx = false;
  std::string architecture;
  llvm::SmallVector<char, 0> bytes;
};

/// Joins images into one file, with fatbinary. Nothing is compressed, so that
/// the PTX stays readable.
llvm::Expected<llvm::SmallVector<char, 0>> join(llvm::ArrayRef<Image> images);

/// A file of the CUDA toolkit, by its path in the toolkit's folder. That is
/// `$CUDA_HOME`, the folder of nvcc in PATH, or /usr/local/cuda.
llvm::Expected<std::string> findInToolkit(llvm::StringRef path,
                                          llvm::StringRef package);

} // namespace stagewright::cuda

#endif // STAGEWRIGHT_LIB_TARGET_CUDA_CUDA_H
