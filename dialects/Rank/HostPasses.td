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

def HostRaiseContractions
    : Pass<"host-raise-contractions", "::mlir::func::FuncOp"> {
  let summary = "recognise sums of products as linalg.contract";
  let description = [{
    **Why** Contractions become calls of a tuned library, everything else becomes loops; fusion must not mix the two.
    **Expects** A body on tensors. The pass first generalizes named linalg operations or decomposes them (softmax), except
    convolutions and fills.
    **Leaves** Every `linalg.generic` that sums products of two operands, with nonempty rows, columns and sum and at most two
    batch dimensions, as a `linalg.contract` in f32 or f64. Narrow operands are widened before it, and its result is narrowed
    after it. Transposed operands and results are folded into its maps.
    **Never** raises a row-wise product and sum (an operand without rows or columns of its own), which is a reduction.
  }];
  let options = [
    Option<"keepTypes", "keep-types", "bool", "false",
           "Keep operands and results narrow: a device's library accumulates in float32">,
    Option<"bytes", "multiply-bytes", "bool", "false",
           "Also keep 8-bit floats, if rows, columns and sum are multiples of 16 and one operand is f8E4M3FN">];
  let statistics = [
    Statistic<"numRaised", "contractions-raised", "Contractions raised">,
    Statistic<"numTransposed", "transposes-folded", "Transposed copies folded into a contraction">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def HostRaiseConvolutions
    : Pass<"host-raise-convolutions", "::mlir::func::FuncOp"> {
  let summary = "recognise convolutions and their gradients";
  let description = [{
    **Why** A convolution is a sum of products in which two loops index one dimension together; the runtime has code for it. A
    gradient arrives as a convolution over a tensor dilated with zeros, so most of its work is multiplication by zero.
    **Expects** A body on tensors, before fusion.
    **Leaves** Every convolution in f32 or f64, forward, input gradient or weight gradient, in any layout, as a `rank.contract`,
    unless its window has one element in some dimension. Dilated operands are avoided: a weight gradient reads the original
    operand with a stride; an input gradient becomes one convolution for each phase of the stride, interleaved into its result.
    **Never** changes pooling or a depthwise convolution, which have no columns to multiply.
  }];
  let options = [
    Option<"calls", "calls", "bool", "true",
           "Make convolutions calls; without it only dilated operands are avoided, for kernels of a device">];
  let statistics = [
    Statistic<"numRaised", "convolutions-raised", "Convolutions recognised">,
    Statistic<"numNarrowed", "convolutions-narrowed", "Convolutions over zeros replaced">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def HostRelaxFloats : Pass<"host-relax-floats", "::mlir::func::FuncOp"> {
  let summary = "allow reordered sums and fused multiply-adds";
  let description = [{
    **Why** No reduction can be vectorized in the order as written, and a fused multiply-add, rounded once, is faster and more
    exact than two roundings.
    **Expects** Bodies with linalg operations, before host-approximate-math, whose arithmetic is to be as written.
    **Leaves** `contract` and `reassoc` on the combiners of reductions and the products in them, `contract` on divisions and
    functions, `nsz` on maxima and minima: of two zeros either may be taken.
    **Never** changes the rounding of elementwise arithmetic or casts: the gradient of a maximum searches for the element equal
    to it, perhaps in another stage function, and must find the number that was compared. Nor are reciprocals for divisions or
    approximate functions allowed, or NaN and infinity assumed absent: masks use both.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def HostFuseElementwise : Pass<"host-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "fuse elementwise producers into consumers, cheap ones into several";
  let description = [{
    **Why** An elementwise pass over memory costs more than its arithmetic; repeating up to `max-ops` cheap operations in each
    consumer is cheaper than one more array.
    **Expects** A body whose contractions are raised.
    **Leaves** Elementwise producers with one consumer fused into it; cheap producers with several fused into each, unless each
    would then read more arrays than before; producers of reductions fused into the reduction. Arrays of which few elements are
    read are not written (a loss reads one per token, an embedding reads rows of a cast table): each element is computed where
    it is read. A sum whose terms are zero in all iterations but one is replaced by that term.
    **Never** changes a contraction, and never repeats a transcendental function over a larger space than before.
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", "6",
           "Max operations of a producer with several consumers (6: best of the sizes measured on a GPT step)">,
    Option<"longestRow", "longest-row", "int64_t", "0",
           "Compute arrays with longer rows in each consumer, at any cost, unless each would then read more bytes; "
           "0: off">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::affine::AffineDialect"];
}

def HostFoldAccumulation : Pass<"host-fold-accumulation", "::mlir::func::FuncOp"> {
  let summary = "accumulate gradients inside the operation that computes them";
  let description = [{
    **Why** `sum + contraction` is one more pass over every gradient; the contraction can add for free.
    **Expects** A body whose accumulating arguments carry `rank.accumulate`.
    **Leaves** `add(argument, x)` folded: into the initial value of a contraction, a reduction or a loop that starts from zero,
    else into one elementwise operation that updates the argument in place. Reshapes between them are moved to the argument.
    What is added to a value that a loop carries is folded alike, but not updated in place.
    Such a loop adds rows to rows of a table (the gradient of a lookup), so no table is filled with zeros, and no whole table is
    added when only few rows changed. If the table is narrower than the sum and only widened in between, rows are added in the
    type of the sum.
    **Never** folds a value that has another use.
  }];
  let statistics = [
    Statistic<"numFolded", "sums-folded", "Sums folded into their producer">,
    Statistic<"numInPlace", "sums-in-place", "Sums left as in-place elementwise updates">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostSumSlices : Pass<"host-sum-slices", "::mlir::func::FuncOp"> {
  let summary = "add a padded tensor only where it is not zero";
  let description = [{
    **Why** The gradient of a tensor that is read by slices is a sum of slice gradients padded with zeros: one tensor of the
    whole size and one pass over it per slice (nine for a 3 x 3 pooling, two for a rotary embedding).
    **Expects** A body on tensors, elementwise operations as `linalg.generic`.
    **Leaves** `add(x, pad(y))`, where the padding is zero and has no other use, as an update of the slice of `x`: extract, add,
    insert. If `x` is known to be zero there, `y` is inserted.
    **Never** changes the order of additions.
  }];
  let statistics = [
    Statistic<"numSummed", "slices-summed", "Padded tensors added to a slice">,
    Statistic<"numInserted", "slices-inserted", "Padded tensors inserted without an addition">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostFindTriangles : Pass<"host-find-triangles", "::mlir::func::FuncOp"> {
  let summary = "find contractions of which a causal mask discards half";
  let description = [{
    **Why** Under a causal mask half of the scores are never read, and half of their gradients are zero.
    **Expects** A body on tensors, after fusion, masks as comparisons of loop indices.
    **Leaves** The hint `host.triangle`, the two loops and their extents, on a contraction whose result is read only where one
    index is at least another, or that has an operand which is zero elsewhere. host-pass-destinations makes it the triangle of
    `rank.contract`, of which only the boxes up to the diagonal are computed. Without the hint, all is computed.
    **Never** changes a sum of finite numbers: the terms left out are zero. Zero times a number that is not finite counts as
    zero.
  }];
  let statistics = [Statistic<"numMarked", "triangles", "Contractions marked">];
}

def HostGroupRows : Pass<"host-group-rows", "::mlir::func::FuncOp"> {
  let summary = "fuse operations on the same rows into one loop over blocks of rows";
  let description = [{
    **Why** A softmax, a layer norm or a GELU is a chain of operations that each traverse whole arrays. Row by row they need one
    pass over memory, and their intermediate values are as small as a block of rows.
    **Expects** A body on tensors, after fusion.
    **Leaves** Operations that share outer loops, and are connected by values that they compute or read, in one `scf.for` over
    blocks of rows, marked `host.parallel`. Values read outside are inserted into tensors that the loop carries. A sum over rows
    becomes a sum per block and a sum over blocks after the loop, the same for any number of threads. Batched contractions that
    compute or read a value twice as large as their others (the scores of attention) join too; one that sums over blocks does so
    in an inner loop, inside that over batches.
    **Never** forms a group that a path of values leaves and enters again, and never splits a contiguous dimension into rows.
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

def HostOrderLoops : Pass<"host-order-loops", "::mlir::func::FuncOp"> {
  let summary = "make the dimension in which most operands are contiguous innermost";
  let description = [{
    **Why** The vectorizer uses the innermost loop, and a sum over rows must not traverse columns.
    **Expects** A body on tensors, after fusion.
    **Leaves** Every `linalg.generic` with its loops in the order of cheapest memory access.
    **Never** changes what is computed.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

//===----------------------------------------------------------------------===//
// Bodies on buffers
//===----------------------------------------------------------------------===//

def HostPassDestinations : Pass<"host-pass-destinations", "::mlir::func::FuncOp"> {
  let summary = "write results to buffers passed by the caller";
  let description = [{
    **Why** A stage writes directly into the receiver's slot, the stash or a gradient; no result is copied out.
    **Expects** A body `(inputs, accumulators) -> (results, accumulated)` on tensors.
    **Leaves** `(inputs, results, accumulators) -> ()` on buffers. Inputs are read-only; every `tensor.empty` and fill has one
    user; the chain that computes each result starts in its destination; every contraction is a `rank.contract`, which
    overwrites if it started from zero, and the fill is gone.
    **Never** makes a result alias an input: a result that is an input is copied.
  }];
  let statistics = [Statistic<"numCopies", "copied-results", "Results that must be copied">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostBufferize : Pass<"host-bufferize", "::mlir::ModuleOp"> {
  let summary = "convert bodies from tensors to buffers";
  let description = [{
    **Why** From here on memory is explicit.
    **Expects** Bodies as host-pass-destinations leaves them.
    **Leaves** Bodies without tensors; constants as globals; values that are only inserted into another value computed in place
    there; each loop-carried value in one buffer.
    **Never** writes to an input, nor over a value that is still read (host-verify-buffers checks every body).
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect"];
}

def HostVerifyBuffers : Pass<"host-verify-buffers", "::mlir::func::FuncOp"> {
  let summary = "verify that no buffer is overwritten before its last reader";
  let description = [{
    **Why** A buffer that is written too early gives wrong numbers and no error. host-bufferize runs this check on every body it
    converts; it is a separate pass for tests.
    **Expects** A body on tensors in which every operation writes in place: the copies that one-shot analysis needs are already
    inserted (`bufferization.alloc_tensor`).
    **Leaves** The body as it is, or an error that names the reader, the value and the writer.
    **Never** relies on the analysis that placed the copies: the location of a tensor follows from the IR alone.
  }];
}

def HostPlanWorkspace : Pass<"host-plan-workspace", "::mlir::func::FuncOp"> {
  let summary = "place temporaries in one workspace, by lifetime";
  let description = [{
    **Why** Nothing is allocated while a step runs, and its memory need is known before it runs.
    **Expects** A body on buffers with static allocations.
    **Leaves** Every `memref.alloc` as a `memref.view` of a last argument, the workspace. The function carries its size
    `rank.workspace` (bytes) and `rank.workspace_bound`, the max bytes live at once. The pass tries several placement orders,
    and searches if none comes near the bound (Support/Packing.h). Lifetimes include all aliases; alignment is 64 bytes.
    **Never** shares bytes between two buffers that are live at the same operation.
  }];
  let statistics = [
    Statistic<"numPlaced", "buffers-placed", "Buffers placed in a workspace">,
    Statistic<"numBytes", "workspace-bytes", "Bytes of all workspaces">,
    Statistic<"boundBytes", "live-bytes", "Max bytes live at once in them, a lower bound">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// Kernels and calls
//===----------------------------------------------------------------------===//

def HostApproximateMath : Pass<"host-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "replace elementary functions by arithmetic that vectorizes";
  let description = [{
    **Why** Calls of the C library prevent vectorization.
    **Expects** A body or kernel, on scalars or vectors.
    **Leaves** exp, exp2, expm1, log, log1p, tanh, erf, erfc, sin and cos in f32 as arithmetic, at most 1.96 units in the last
    place from the exact result for each of the 2^32 arguments, with AVX2 and with AVX-512 (tested; the max error of each
    function is in Math/Elementary.h), including zeros, infinities, NaN and subnormal results. There are no branches except one
    in sin and cos for lanes beyond 2^16. Narrower types are computed in f32; all other functions stay calls of the C library.
    **Never** sets a fast-math flag on the code it creates: the errors hold for operations rounded as written.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def HostNarrowFloats : Pass<"host-narrow-floats"> {
  let summary = "expand bf16 arithmetic and rounding to 16 bits without library calls";
  let description = [{
    **Why** If a processor lacks an instruction, LLVM calls `__truncsfbf2` and the like, one call per number, from libraries
    that older systems lack; and the AVX512-BF16 instruction treats subnormal numbers as zeros.
    **Expects** A body or kernel, on scalars or vectors, in any kind of function operation.
    **Leaves** bf16 arithmetic computed in f32 with every result rounded; rounding to bf16 as integer arithmetic, the same bits
    on every processor; f64 to 16 bits by way of f32 rounded to odd, which equals a single rounding.
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

def HostOutlineKernels : Pass<"host-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "outline every loop nest as a function, and merge equal functions";
  let description = [{
    **Why** LLVM's loop passes are superlinear in the size of a function, and function arguments can be marked as not aliasing.
    Layers repeat, and so do their kernels: compile time hardly grows with the number of layers.
    **Expects** Bodies on buffers with planned workspace.
    **Leaves** Every linalg operation but contractions, every loop, and the zeroing, copying, adding and combining of slots in
    rank programs, in a private function whose arguments are `llvm.noalias` where that is proved. Structurally equal functions
    are merged over the whole module. A branch skips means over a single microbatch. With `fills` the zeroing of slots stays as
    it is, and means of vectors of one type are one function.
    **Never** outlines a contraction.
  }];
  let options = [
    Option<"fills", "fills", "bool", "false", "for a device, whose runtime zeroes slots">];
  let statistics = [
    Statistic<"numOutlined", "kernels-outlined", "Loop nests outlined">,
    Statistic<"numUnique", "kernels-unique", "Distinct kernel functions">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect"];
}

def HostContractionsToCalls : Pass<"host-contractions-to-calls", "::mlir::ModuleOp"> {
  let summary = "lower contractions and convolutions to calls of the runtime";
  let description = [{
    **Why** The runtime has tuned code; its descriptors take strides, so transposes and slices cost nothing.
    **Expects** `rank.contract` in f32 or f64, on buffers with static strides.
    **Leaves** One call of `sw_gemm` or `sw_convolution` with a constant descriptor; a convolution whose loops can be merged
    into rows, columns and sum is a contraction. Dimensions that do not fit a descriptor become loops around the call.
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
    runtime calls with a list of pointers. The grain is half of `min-time`.
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

def HostSizeWorkspaces : Pass<"host-size-workspaces", "::mlir::ModuleOp"> {
  let summary = "give every rank the workspace that its calls need";
  let description = [{
    **Why** The workspace of a stage function is known only once its temporaries are placed.
    **Expects** Rank programs that can be unrolled, and functions with `rank.workspace`.
    **Leaves** One workspace buffer per program, in which calls, the values of actions, and stashes of a fixed depth are placed
    by lifetime: later temporaries reuse what a backward has read for the last time, and those of an optimizer reuse a ring
    without held slots. Stashes are placed there only if that saves bytes. Lifetimes cover all forms that the loops take.
    **Never** shares bytes between two that are live at once, which verify-rank-programs proves afterwards.
  }];
  let dependentDialects = ["::stagewright::rank::RankDialect"];
}

def LowerRankToHost : Pass<"lower-rank-to-host", "::mlir::ModuleOp"> {
  let summary = "lower rank programs to functions that call the runtime";
  let description = [{
    **Why** After this pass there are only functions, loops and calls.
    **Expects** Verified rank programs whose calls go to functions on buffers.
    **Leaves** One public function `(rank, microbatches)` per program, in which slots, transfers and actions are calls of the
    `sw_` functions of stagewright-rt/runtime.h with the numbers of `rank.artifact`, which replaces the operations
    of the dialect.
    **Never** decides anything: earlier passes have fixed every number.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def ConvertHostToLLVM : Pass<"convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert functions, loops and buffers to the LLVM dialect";
  let description = [{
    **Why** Eight separate conversions would each traverse the whole module, and a buffer that the runtime returned as a pointer
    becomes a descriptor only if all its uses change with it.
    **Expects** Functions without linalg operations on static buffers.
    **Leaves** Only the LLVM dialect; buffers are bare pointers at function boundaries.
    **Never** leaves a cast behind.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_HOSTPASSES_TD
