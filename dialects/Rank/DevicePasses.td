//===- DevicePasses.td - from rank programs to kernels of a device --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_DEVICEPASSES_TD
#define STAGEWRIGHT_RANK_DEVICEPASSES_TD

include "mlir/Pass/PassBase.td"

def DeviceCastParameters : Pass<"device-cast-parameters", "::mlir::ModuleOp"> {
  let summary = "round parameters once per step";
  let description = [{
    **Why** If parameters are wider than the type in which they are multiplied, every forward and backward of every microbatch
    rounds them.
    **Expects** Rank programs, and their functions on tensors.
    **Leaves** Functions that take a parameter already rounded, if they only round it, at least once for a product. Each such
    parameter has a stash of one slot, filled at the beginning of the step and held until its last use. One call rounds up to 16
    parameters of one type to another.
    **Never** takes more than half of the memory left on a device, and never changes a value.
  }];
  let statistics = [Statistic<"numRounded", "parameters-rounded", "Parameters rounded once per step">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceMarkLoops : Pass<"device-mark-loops", "::mlir::func::FuncOp"> {
  let summary = "mark loops that one kernel would run on one thread";
  let description = [{
    **Why** One kernel can run a loop on many threads only if an iteration computes element by element: each thread then runs
    all iterations for some elements. A loop with products or sums, such as the scan of a recurrent network, would be run by one
    thread.
    **Expects** A body on tensors.
    **Leaves** `device.unroll` on such loops if an operation has more than 256 points, the number of iterations is constant,
    and all iterations together have at most `max-operations` operations. A warning for others with such an operation.
    **Never** marks loops whose condition is computed (`scf.while`), or loops inside these.
  }];
  let options = [
    Option<"maxOperations", "max-operations", "int64_t", "262144", "Max operations of an unrolled loop">];
  let statistics = [Statistic<"numMarked", "loops-marked", "Loops that will be unrolled">];
}

def DeviceUnrollLoops : Pass<"device-unroll-loops", "::mlir::func::FuncOp"> {
  let summary = "unroll the marked loops";
  let description = [{
    **Why** The operations of an iteration become kernels and library calls of their own.
    **Expects** A body on buffers, with loops marked by device-mark-loops. Buffers that a loop carries are updated in place.
    **Leaves** No marked loop. Groups of operations that become one kernel have a number of their own in each iteration.
    **Never** changes the order of operations.
  }];
  let statistics = [Statistic<"numUnrolled", "loops-unrolled", "Loops unrolled">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def DeviceReadScalars : Pass<"device-read-scalars", "::mlir::func::FuncOp"> {
  let summary = "turn captured scalars into operands";
  let description = [{
    **Why** On the host a body only enqueues kernels; it cannot read a scalar that an earlier kernel computes, such as whether a
    norm is below its limit.
    **Expects** A body on tensors.
    **Leaves** No `linalg.generic` that captures the element of a rank-0 tensor: the tensor is an operand.
    **Never** moves computation.
  }];
  let statistics = [Statistic<"numRead", "scalars-read", "Elements that became operands">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DeviceFinishContractions : Pass<"device-finish-contractions", "::mlir::func::FuncOp"> {
  let summary = "fold additions and roundings into contractions and sums";
  let description = [{
    **Why** The device's matrix library can add to an existing array and round what it stores: each saves a kernel that reads
    and writes the whole product.
    **Expects** A body on tensors, after fusion.
    **Leaves** Sums and contractions that start from the array they were added to, and contractions that store the type of
    their operands if all their readers round to it. Readers that only rounded are copies, for canonicalization.
    **Never** makes a result less precise: it only leaves out roundings.
  }];
  let statistics = [
    Statistic<"numSums", "sums-in-place", "Sums and contractions that start from the array they were added to">,
    Statistic<"numNarrow", "products-narrowed", "Products stored in the type of their operands">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceFindEpilogues : Pass<"device-find-epilogues", "::mlir::func::FuncOp"> {
  let summary = "find operations that a contraction's library call can include";
  let description = [{
    **Why** The library can add a row to a product and apply GELU or its derivative before it stores the product.
    **Expects** A body on tensors, after device-finish-contractions.
    **Leaves** The users of a product that the contraction's call can include as one operation, at the position of the first of
    them, with the hint `device.epilogue`. They are recognised by a normal form of their formulas, whatever the order of their
    operations. Without the hint the operation becomes a kernel.
    **Never** includes a function whose formula has a constant that differs from the library's by more than one part in 100,000,
    except for GELU's constants rounded to the type of the operation.
  }];
  let statistics = [Statistic<"numEpilogues", "epilogues", "Operations included in a library call">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceSplitFloat32 : Pass<"device-split-float32", "::mlir::func::FuncOp"> {
  let summary = "compute float32 contractions as three contractions of TF32 numbers";
  let description = [{
    **Why** Tensor cores multiply TF32, with 10 bits of mantissa, several times faster than float32 is multiplied without them.
    **Expects** A body on tensors, contractions raised.
    **Leaves** Each operand of a float32 contraction as two arrays of TF32 numbers, whose sum differs from it by at most one
    part in 2^22; three contractions, each of which adds to the result of the one before, without the product of the two smaller
    parts.
    **Never** changes attention and convolutions. Infinite operands give NaN.
  }];
  let statistics = [Statistic<"numSplit", "contractions-split", "Contractions computed as three">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceArrangeOperands : Pass<"device-arrange-operands", "::mlir::func::FuncOp"> {
  let summary = "lay out contractions as the device's library requires";
  let description = [{
    **Why** The library needs contiguous rows or columns in every matrix; the innermost dimension cannot be a batch. It
    multiplies 8-bit floats only if the dimension summed over is contiguous in both operands.
    **Expects** A body on tensors, contractions raised.
    **Leaves** Contractions that the library accepts. Operands in layouts that it does not accept are transposed by their
    producer or a copy, and such results afterwards. With 8-bit floats, both operands have the dimensions of the sum last.
    **Never** changes a contraction of wider types that the library accepts.
  }];
  let statistics = [Statistic<"numArranged", "operands-arranged", "Operands and results transposed">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceSplitAttention : Pass<"device-split-attention", "::mlir::func::FuncOp"> {
  let summary = "assign attention to the library or to kernels, and split gradients for kernels";
  let description = [{
    **Why** Gradients of queries are sums over keys, those of keys are sums over queries. With two kernels, one thread computes
    each sum, and no result depends on the order in which blocks run.
    **Expects** A body on tensors.
    **Leaves** Attention that the device's library supports, marked `library`: elements of 16 bits, no cap and no dropout, head
    widths in multiples of 8 up to 128, rows that begin at multiples of 16 bytes, and a mask, if any, that can be added as a
    bias, which replaces it. Other `pipeline.attention_gradient` becomes `pipeline.attention_query_gradient`,
    `pipeline.attention_key_gradient` and the row sums that both read.
    **Never** splits the forward, which is one kernel.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceCallAttention : Pass<"device-call-attention", "::mlir::ModuleOp"> {
  let summary = "lower attention to calls of the runtime";
  let description = [{
    **Why** A library call is a command of the rank's program, as for a contraction.
    **Expects** Bodies on buffers whose first argument is the rank; attention marked `library`.
    **Leaves** Calls of `sw_attend` and `sw_attend_gradient` with constant descriptors.
    **Never** changes attention that is a kernel.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DeviceCallConvolutions : Pass<"device-call-convolutions", "::mlir::ModuleOp"> {
  let summary = "lower convolutions to calls of the runtime";
  let description = [{
    **Why** A library call is a command of the rank's program, as for a contraction.
    **Expects** Bodies on buffers whose first argument is the rank.
    **Leaves** Calls of `sw_convolve` with constant descriptors; equal descriptors are shared.
    **Never** copies an operand.
  }];
  let options = [Option<"tf32", "tf32", "bool", "false", "Round float32 to TF32 before products">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DeviceGroupKernels : Pass<"device-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "decide which operations become one kernel";
  let description = [{
    **Why** Each kernel reads and writes device memory; values that the operations of one kernel pass to each other row by row
    stay in registers.
    **Expects** A body on tensors, after fusion, loops ordered.
    **Leaves** Every linalg operation, except contractions and their epilogues, with `device.group`, the number of its kernel,
    next to the fill that it starts from. Those that are computed row by row also have `device.rows`: for each dimension of the
    rows, the number of the operation's loop over it. The operations of a group are adjacent. A sum over all rows of a group of
    many rows is its last member if the group reads or computes its operands anyway.
    **Never** puts a contraction into a group: those are library calls.
  }];
  let statistics = [
    Statistic<"numGroups", "row-groups", "Groups of several operations">,
    Statistic<"numGrouped", "operations-grouped", "Operations in such groups">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DeviceOutlineKernels : Pass<"device-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "outline every group as a kernel, and merge equal kernels";
  let description = [{
    **Why** Values used only within a group need no memory, so kernels are made before the workspace is planned. Layers repeat,
    and so do their kernels.
    **Expects** Bodies on buffers whose operations carry `device.group`, and epilogues `device.epilogue`.
    **Leaves** Every group, loop, copy and attention without `library` in a private function marked `host.kernel`, or in two if
    a sum is split. Buffers that only its members use, each element only in the thread that computed it, become allocations
    inside. Equal functions are merged. A kernel computes the numbers that decide where it reads or writes, from the memory that
    holds them; an operand of a library call at a computed place is copied by a kernel. If anything but a kernel still needs
    such a number, the pass fails. A `rank.contract` includes an epilogue that suits the library; the kernel of the epilogue
    stays behind it as `rank.otherwise`.
    **Never** outlines a `rank.contract` that is in no loop.
  }];
  let statistics = [
    Statistic<"numOutlined", "kernels-outlined", "Kernel launches">,
    Statistic<"numUnique", "kernels-unique", "Distinct kernel functions">,
    Statistic<"numKept", "values-in-registers", "Buffers that became values inside a kernel">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def DeviceOutlineAlternatives : Pass<"device-outline-alternatives", "::mlir::ModuleOp"> {
  let summary = "add fallback kernels for library calls that may be unsupported";
  let description = [{
    **Why** Which algorithms a library has for a shape, a type and an epilogue is known only when the step is created on its
    device. A step must not fail there because an algorithm is missing.
    **Expects** Bodies on buffers, after device-outline-kernels.
    **Leaves** After every attention marked `library`, and every product of 8-bit numbers that is one library call, a
    `rank.otherwise` for each of the kernels that compute the same, as device-outline-kernels left it after every epilogue.
    **Never** changes what is executed where the library has an algorithm.
  }];
  let statistics = [Statistic<"numAlternatives", "alternatives", "Launches that replace library calls">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
}

def DeviceWriteKernels : Pass<"device-write-kernels", "::mlir::ModuleOp"> {
  let summary = "write kernels as the code of one thread";
  let description = [{
    **Why** This pass assigns the work of a kernel to threads.
    **Expects** Kernels that device-outline-kernels and body-outline-kernels left, on buffers of static shape.
    **Leaves** A `gpu.module @kernels` with one `gpu.func` per kernel, on pointers and 64-bit numbers, made of arith, math, scf,
    gpu and LLVM loads and stores; grid, block, shared memory and the work of a launch as `rank.kernel`, a `#rank.kernel`.
    The functions stay as declarations. Attention on 16-bit numbers uses tensor cores if its tiles fit, and asynchronous copies
    of nvvm if alignment and memory allow them.
    **Never** uses vendor-specific operations in other kernels.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
                           "::stagewright::rank::RankDialect"];
}

def DevicePassRank : Pass<"device-pass-rank", "::mlir::ModuleOp"> {
  let summary = "pass the rank to every body";
  let description = [{
    **Why** What a body launches becomes part of the program of one rank.
    **Expects** Bodies on buffers, before lower-rank-to-host.
    **Leaves** Every body with the `sw_rank *` as its first argument.
    **Never** changes what a body computes.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def DeviceCallContractions : Pass<"device-call-contractions", "::mlir::ModuleOp"> {
  let summary = "lower contractions to calls of the device's library";
  let description = [{
    **Why** The library has tuned code; its descriptors take strides, so transposes and slices cost nothing.
    **Expects** Bodies on buffers whose first argument is the rank; `rank.contract` with static strides.
    **Leaves** Calls of `sw_contract` with the types of the operands and the epilogue. Dimensions that do not fit a descriptor
    become loops around the call.
    **Never** copies an operand.
  }];
  let options = [Option<"tf32", "tf32", "bool", "false", "Let the library round float32 operands to TF32">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def DeviceLowerCalls : Pass<"device-lower-calls", "::mlir::ModuleOp"> {
  let summary = "lower kernel launches to calls of the runtime";
  let description = [{
    **Why** The entry of a rank only adds commands to the program of its device.
    **Expects** Functions whose first argument is the rank, after device-write-kernels and lower-rank-to-host.
    **Leaves** Kernel calls as `sw_launch`, `rank.otherwise` as `sw_otherwise`; the kernels with their launches in
    `rank.artifact`.
    **Never** reads device memory.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_DEVICEPASSES_TD
