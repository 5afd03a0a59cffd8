//===- DevicePasses.td - from rank programs to kernels of a device --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_DEVICEPASSES_TD
#define STAGEWRIGHT_RANK_DEVICEPASSES_TD

include "mlir/Pass/PassBase.td"

def DeviceGroupKernels : Pass<"device-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "decide which operations become one kernel";
  let description = [{
    **Why** A kernel of a device reads and writes its memory; what the operations of one kernel pass to each other row
    by row stays in registers.
    **Expects** A body on tensors, after fusion, loops ordered.
    **Leaves** Every linalg operation but contractions with `device.group`, the number of its kernel, beside the fill that
    it starts from; members of a group also with `device.rows`, their loop for each row. The operations of a group
    stand side by side.
    **Never** puts a contraction into a group: those are calls of a library.
  }];
  let statistics = [
    Statistic<"numGroups", "row-groups", "Groups of several operations">,
    Statistic<"numGrouped", "operations-grouped", "Operations in them">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DeviceOutlineKernels : Pass<"device-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "every group a kernel, equal ones once";
  let description = [{
    **Why** What a group alone uses needs no memory, so kernels are made before the workspace is planned. Layers repeat,
    so kernels do.
    **Expects** Bodies on buffers whose operations carry `device.group`.
    **Leaves** Every group, loop and copy in a private function marked `host.kernel`; buffers that only its members use,
    each element by the thread that made it, as allocations inside; equal functions merged.
    **Never** outlines a contraction.
  }];
  let statistics = [
    Statistic<"numOutlined", "kernels-outlined", "Launches of kernels">,
    Statistic<"numUnique", "kernels-unique", "Functions they became">,
    Statistic<"numKept", "values-in-registers", "Buffers that became values of a kernel">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def DeviceWriteKernels : Pass<"device-write-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels as code of one thread";
  let description = [{
    **Why** From here on it is said which thread does what.
    **Expects** Kernels that device-outline-kernels and host-outline-kernels left, on buffers of static shape.
    **Leaves** A `gpu.module @kernels` with one `gpu.func` per kernel, on pointers and 64-bit numbers, made of arith,
    math, scf, gpu and LLVM loads and stores; its grid, block and bytes of shared memory as `device.grid`,
    `device.block` and `device.shared`. The functions stay as declarations with the kernel's number, `device.kernel`.
    **Never** writes what one vendor's devices alone can do.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::math::MathDialect"];
}

def DevicePassRank : Pass<"device-pass-rank", "::mlir::ModuleOp"> {
  let summary = "bodies know the rank that runs them";
  let description = [{
    **Why** What a body launches becomes part of the program of one rank.
    **Expects** Bodies on buffers, before lower-rank-to-host.
    **Leaves** Every body with the `sw_rank *` as its first argument.
    **Never** changes what a body does.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def DeviceLowerCalls : Pass<"device-lower-calls", "::mlir::ModuleOp"> {
  let summary = "launches and contractions as calls of the runtime";
  let description = [{
    **Why** The entry of a rank only adds commands to the program of its device.
    **Expects** Functions whose first argument is the rank, after host-contractions-to-calls and lower-rank-to-host.
    **Leaves** Calls of kernels as `sw_launch`, of `sw_gemm` as `sw_contract` with the types of the operands; the kernels
    with grid, block and shared memory in the manifest.
    **Never** reads memory of the device.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_DEVICEPASSES_TD
