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
  let summary = "parameters rounded once in a step";
  let description = [{
    **Why** Where parameters are wider than what they multiply, every forward and backward of every microbatch rounds them.
    **Expects** Rank programs, and their functions on tensors.
    **Leaves** Functions that take a parameter rounded, where all that they do with it is to round it for a product; for each
    such parameter a stash of one slot, filled at the beginning of the step and held to its last use. One call rounds up to 16
    of one shape.
    **Never** takes more than half of the memory that is left on a device, and never changes a value.
  }];
  let statistics = [Statistic<"numRounded", "parameters-rounded", "Parameters that are rounded once">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceReadScalars : Pass<"device-read-scalars", "::mlir::func::FuncOp"> {
  let summary = "scalars that operations read themselves";
  let description = [{
    **Why** A body of the host enqueues kernels; it cannot read the one number of an array that a kernel before has
    made, such as whether a norm is below its limit.
    **Expects** A body on tensors.
    **Leaves** No `linalg.generic` that captures the element of an array without dimensions: the array is an operand.
    **Never** moves what is computed.
  }];
  let statistics = [Statistic<"numRead", "scalars-read", "Elements that became operands">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DeviceFinishContractions : Pass<"device-finish-contractions", "::mlir::func::FuncOp"> {
  let summary = "products and sums where they end, and no wider than they are read";
  let description = [{
    **Why** The library that multiplies can add to what is there and round what it stores: each saves a kernel that reads
    and writes the whole product.
    **Expects** A body on tensors, after fusion.
    **Leaves** Sums over rows and contractions that start from what they were added to, and contractions that store the
    type to which all their readers round. Readers that only rounded are copies, for canonicalization.
    **Never** makes a result less precise: what it leaves out is rounding.
  }];
  let statistics = [
    Statistic<"numSums", "sums-in-place", "Sums and products that start from what they were added to">,
    Statistic<"numNarrow", "products-narrowed", "Products stored in the type of their operands">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceFindEpilogues : Pass<"device-find-epilogues", "::mlir::func::FuncOp"> {
  let summary = "what a contraction's call does as well";
  let description = [{
    **Why** The library adds a row to a product, and applies GELU or its derivative, before it stores the product.
    **Expects** A body on tensors, after device-finish-contractions.
    **Leaves** Beside a contraction the operation that its call does as well, both with `host.epilogue`; it is found by
    what it computes, however it is written.
    **Never** changes a function by more than a millionth.
  }];
  let statistics = [Statistic<"numEpilogues", "epilogues", "Operations that a call does as well">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceArrangeOperands : Pass<"device-arrange-operands", "::mlir::func::FuncOp"> {
  let summary = "products as the device's library reads and stores them";
  let description = [{
    **Why** The library walks rows or columns of every matrix side by side; it takes none whose innermost dimension is a batch.
    Floats of 8 bits it multiplies only where the terms of a sum lie side by side in both operands.
    **Expects** A body on tensors, contractions raised.
    **Leaves** Contractions that the library takes. Operands that it would not are written in another order by what makes
    them, or by a copy; results are put into their order behind the product. Of 8 bits, both operands have the dimensions of
    the sum last.
    **Never** touches what is taken as it is.
  }];
  let statistics = [Statistic<"numArranged", "operands-arranged", "Operands and results in another order">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceSplitAttention : Pass<"device-split-attention", "::mlir::func::FuncOp"> {
  let summary = "attention for the library or for kernels, and gradients for these in two halves";
  let description = [{
    **Why** Gradients of queries are sums over keys, those of keys over queries: as two kernels each sum is made by one
    thread, and no result depends on the order in which blocks run.
    **Expects** A body on tensors.
    **Leaves** What the device's library takes with `device.library`: elements of 16 bits, no mask but a causal one, widths
    of heads in multiples of 8 up to 128, rows that begin at multiples of 16 bytes. Of the rest
    `pipeline.attention_query_gradient` and `pipeline.attention_key_gradient`, and the row sums both read, in
    the place of `pipeline.attention_gradient`.
    **Never** changes the forward, which is one kernel.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def DeviceCallAttention : Pass<"device-call-attention", "::mlir::ModuleOp"> {
  let summary = "attention as calls of the runtime";
  let description = [{
    **Why** What the library computes is a command of the rank's program, like a contraction.
    **Expects** Bodies on buffers that know their rank; attention with `device.library`.
    **Leaves** Calls of `sw_attend` and `sw_attend_gradient` with constant descriptors.
    **Never** touches attention that is a kernel.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DeviceRaiseConvolutions : Pass<"device-raise-convolutions", "::mlir::func::FuncOp"> {
  let summary = "recognise convolutions and their gradients for the device's library";
  let description = [{
    **Why** The library has code for each of the three, on tensor cores; none of them needs the image padded or the
    gradient widened in memory.
    **Expects** A body on tensors, before fusion.
    **Leaves** `rank.convolve` for every sum of products of float32, float16 or bfloat16 that is a convolution over one to
    three places or a gradient of one, with what padded, widened or reversed its operands taken into its numbers; all
    three operands channels last, or all channels first where the image has them so, transposed where they are not.
    **Never** touches pooling, groups, or padding by less than nothing: those stay sums of products.
  }];
  let statistics = [Statistic<"numRaised", "convolutions-raised", "Convolutions">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def DeviceCallConvolutions : Pass<"device-call-convolutions", "::mlir::ModuleOp"> {
  let summary = "convolutions as calls of the runtime";
  let description = [{
    **Why** What the library computes is a command of the rank's program, like a contraction.
    **Expects** Bodies on buffers that know their rank.
    **Leaves** Calls of `sw_convolve` with constant descriptors, equal ones once.
    **Never** copies an operand.
  }];
  let options = [Option<"tf32", "tf32", "bool", "false", "Round float32 to TF32 before products">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DeviceGroupKernels : Pass<"device-group-kernels", "::mlir::func::FuncOp"> {
  let summary = "decide which operations become one kernel";
  let description = [{
    **Why** A kernel of a device reads and writes its memory; what the operations of one kernel pass to each other row
    by row stays in registers.
    **Expects** A body on tensors, after fusion, loops ordered.
    **Leaves** Every linalg operation but contractions, and what their calls do, with `device.group`, the number of its kernel, beside the fill that
    it starts from; members of a group also with `device.rows`, their loop for each row. The operations of a group
    stand side by side. Sums over all rows of a group of many rows, whose operands it reads or makes anyway, are its last member.
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

def DeviceOutlineAlternatives : Pass<"device-outline-alternatives", "::mlir::ModuleOp"> {
  let summary = "kernels for what a library may turn out not to do";
  let description = [{
    **Why** Which algorithms a library has, for a shape, a type and an epilogue, is known when a step is made on its
    device. A step must not fail there for want of one.
    **Expects** Bodies on buffers, after device-outline-kernels.
    **Leaves** Behind every epilogue, every attention with `device.library` and every product of numbers of 8 bits calls
    of kernels that do the same, with `device.otherwise`.
    **Never** changes what is done where the library can.
  }];
  let statistics = [Statistic<"numAlternatives", "alternatives", "Launches in the place of a library's">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
}

def DeviceWriteKernels : Pass<"device-write-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels as code of one thread";
  let description = [{
    **Why** From here on it is said which thread does what.
    **Expects** Kernels that device-outline-kernels and host-outline-kernels left, on buffers of static shape.
    **Leaves** A `gpu.module @kernels` with one `gpu.func` per kernel, on pointers and 64-bit numbers, made of arith,
    math, scf, gpu and LLVM loads and stores; its grid, block and bytes of shared memory as `device.grid`,
    `device.block` and `device.shared`. The functions stay as declarations with the kernel's number, `device.kernel`.
    Attention of 16-bit numbers has nvvm's tensor cores and asynchronous copies.
    **Never** writes what one vendor's devices alone can do into other kernels.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect"];
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
    **Leaves** Calls of kernels as `sw_launch`, of `sw_gemm` as `sw_contract` with the types of the operands and what
    the library does as well; the kernels with grid, block and shared memory in the manifest.
    **Never** reads memory of the device.
  }];
  let options = [Option<"tf32", "tf32", "bool", "false", "Let the library round float32 operands to TF32">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_DEVICEPASSES_TD
