//===- HostPasses.td - from rank programs to native code of the host ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_HOSTPASSES_TD
#define STAGEWRIGHT_RANK_HOSTPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Bodies on tensors
//===----------------------------------------------------------------------===//

def HostGroupRows : Pass<"host-group-rows", "::mlir::func::FuncOp"> {
  let summary = "fuse operations on the same rows into one loop over blocks of rows";
  let description = [{
    **Why** A softmax, a layer norm or a GELU is a chain of operations that each traverse whole arrays. Row by row they need one
    pass over memory, and their intermediate values are as small as a block of rows.
    **Expects** A body on tensors, after fusion.
    **Leaves** Operations that share outer loops, and are connected by values that they compute or read, in one `scf.for` over
    blocks of rows, marked `host.parallel`. Values read outside are inserted into tensors that the loop carries. A sum over rows
    becomes a sum per block and a sum over blocks after the loop, the same for any number of threads. Batched contractions that
    compute or read a value at least twice as large as each of their others (the scores of attention) join too; one that sums
    over blocks does so in an inner loop, inside that over batches.
    **Never** forms a group that a path of values leaves and enters again, and never splits into rows a dimension in which the
    largest values of the group are contiguous.
  }];
  let options = [
    Option<"blockBytes", "block-bytes", "int64_t", "262144",
           "Max bytes of all values of a block together (256 KiB: they stay in the second-level cache)">,
    Option<"scoreBytes", "score-bytes", "int64_t", "524288",
           "Max bytes of a block of scores between two batched contractions (512 KiB)">];
  let statistics = [
    Statistic<"numGroups", "row-groups", "Loops over rows created">,
    Statistic<"numGrouped", "operations-grouped", "Operations in these loops">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::affine::AffineDialect"];
}

//===----------------------------------------------------------------------===//
// Kernels and calls
//===----------------------------------------------------------------------===//

def HostNarrowFloats : Pass<"host-narrow-floats"> {
  let summary = "expand bf16 arithmetic and rounding to 16 bits without library calls";
  let description = [{
    **Why** If a processor lacks an instruction, LLVM calls `__truncsfbf2` and the like, one call per number, from libraries
    that older systems lack; and the AVX512-BF16 instruction treats subnormal numbers as zeros.
    **Expects** A body or kernel, on scalars or vectors, in any kind of function operation.
    **Leaves** bf16 arithmetic, and functions of 16-bit floats, computed in f32 with every result rounded; rounding to bf16 as
    integer arithmetic, the same bits on every processor; f64 to 16 bits by way of f32 rounded to odd, which equals a single
    rounding.
    **Never** changes casts between f16 and f32: processors with AVX2 have instructions for them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def HostBFloat16AsWords : Pass<"host-bfloat16-as-words", "::mlir::ModuleOp"> {
  let summary = "represent bf16 in the LLVM dialect as 16-bit integers";
  let description = [{
    **Why** On processors without AVX512-BF16 LLVM keeps a scalar bf16 in an f32 register, and calls `__truncsfbf2` to get its
    bits back where another block needs them.
    **Expects** Functions and globals of the LLVM dialect in which bf16 is only loaded, stored, moved and cast to bits;
    `host-narrow-floats` leaves no bf16 arithmetic.
    **Leaves** Types, constants and tables of i16 instead, with the same bits.
    **Never** changes what is nested in other operations, such as device kernels.
  }];
}

def HostContractionsToCalls : Pass<"host-contractions-to-calls", "::mlir::ModuleOp"> {
  let summary = "lower contractions and convolutions to calls of the runtime";
  let description = [{
    **Why** The runtime has tuned code; its descriptors take strides, so transposes and slices cost nothing.
    **Expects** `rank.contract` in f32 or f64, on buffers with static strides.
    **Leaves** A call of `sw_gemm` or `sw_convolution` with a constant descriptor, in a triangle one for each of its boxes; a
    convolution whose loops can be merged into rows, columns and sum is a contraction. Dimensions that do not fit a descriptor
    become loops around calls.
    **Never** copies an operand.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def HostMakeLoops : Pass<"host-make-loops", "::mlir::func::FuncOp"> {
  let summary = "lower operations on buffers to loops over vectors";
  let description = [{
    **Why** MLIR knows which loop reduces and what is contiguous, so it need not rely on LLVM's vectorizer: no alias checks at
    run time, sums in several registers, and less work for LLVM.
    **Expects** Kernels and bodies on buffers without contractions: linalg operations, alone or in loops on slices.
    **Leaves** Each as loops over vectors of `vector-bits` (LLVM splits those wider than the processor's). Loops that together
    traverse contiguous memory are merged. The loop in which most operands are contiguous is vectorized: as the innermost if it
    reduces, with several partial sums; otherwise outside the reducing loops, with the sums in registers. What does not change
    along it is computed once. The remainder after whole vectors uses ever narrower vectors. An outermost parallel loop carries
    `host.parallel`.
    **Never** changes the order of sums whose parts cannot be combined. Operations with branches in their bodies or dynamic
    strides become scalar loops.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512", "Vector width in bits">];
  let statistics = [
    Statistic<"numVector", "vector-loops", "Operations that became loops over vectors">,
    Statistic<"numScalar", "scalar-loops", "Operations that became scalar loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"];
}

def HostParallelKernels : Pass<"host-parallel-kernels", "::mlir::ModuleOp"> {
  let summary = "run loops of kernels on the threads of their rank";
  let description = [{
    **Why** A rank may have several threads (`pp-run --threads-per-rank`); their number is not known here.
    **Expects** Kernels whose loops carry `host.parallel` if their iterations are independent.
    **Leaves** Such a loop, if outermost in its kernel and estimated from its operations and bytes to take at least `min-time`,
    as a call of `sw_parallel` with two new functions: the loop over a range of its iterations, and the function that the
    runtime calls with a list of pointers. The grain is the iterations of half of `min-time`, at most half of all.
    **Never** changes which iteration computes what: results do not depend on the number of threads.
  }];
  let options = [
    Option<"minTime", "min-time", "unsigned", "8000",
           "Min duration in nanoseconds of a loop run by several threads (8000: twenty times a fork and join)">];
  let statistics = [Statistic<"numShared", "loops-shared", "Loops run by several threads">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def LowerRankToHost : Pass<"lower-rank-to-host", "::mlir::ModuleOp"> {
  let summary = "lower rank programs to functions that call the runtime";
  let description = [{
    **Why** After this pass there are only functions, loops and calls.
    **Expects** Verified rank programs whose calls go to functions on buffers.
    **Leaves** One public function `(rank, microbatches)` per program, in which slots, transfers and actions are calls of
    functions `sw_NAME`, where NAME is a member of `sw_api` in stagewright-rt/runtime.h, with the numbers of `rank.artifact`,
    which replaces the operations of the dialect.
    **Never** decides anything: earlier passes have fixed every number.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def ConvertHostToLLVM : Pass<"convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert functions, loops and buffers to the LLVM dialect";
  let description = [{
    **Why** Ten separate conversions would each traverse the whole module, and a buffer that the runtime returned as a pointer
    becomes a descriptor only if all its uses change with it.
    **Expects** Functions on static buffers, without linalg operations.
    **Leaves** Only the LLVM dialect and `rank.artifact`; buffers are bare pointers at function boundaries.
    **Never** leaves a cast behind.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_HOSTPASSES_TD
