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
    **Why** Contractions go to a tuned library, everything else to loops; fusion must not mix the two.
    **Expects** A body on tensors. Named linalg operations are generalized or taken apart (softmax) first,
    convolutions and fills excepted.
    **Leaves** Every `linalg.generic` that sums products of two operands, with rows, columns and a sum that are not
    empty and at most two batch dimensions, as a `linalg.contract` in f32 or f64. Narrow operands are widened
    before and the result narrowed after it. Transposed operands and results are folded into its maps.
    **Never** raises a row-wise product and sum (no rows of its own on either side), which is a reduction.
  }];
  let options = [
    Option<"keepTypes", "keep-types", "bool", "false",
           "Operands and results stay narrow: a device's library accumulates in float32">,
    Option<"bytes", "multiply-bytes", "bool", "false",
           "So do floats of 8 bits, where rows, columns and sum are multiples of 16 and one operand is f8E4M3FN">];
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
    **Why** A convolution is a sum of products in which two loops walk one dimension together; the runtime has code
    for it. A gradient arrives as a convolution over a tensor widened with zeros, most of whose work is for nothing.
    **Expects** A body on tensors, before fusion.
    **Leaves** Every convolution in f32 or f64, forward, input gradient or weight gradient, in any layout, as a
    `linalg.generic` marked `host.convolution`. Over an operand widened with zeros: a weight gradient reads what was
    widened with a stride; an input gradient becomes one convolution for each phase of the stride, written side by
    side into its result.
    **Never** touches pooling or a depthwise convolution, which have no columns to multiply.
  }];
  let statistics = [
    Statistic<"numRaised", "convolutions-raised", "Convolutions marked">,
    Statistic<"numNarrowed", "convolutions-narrowed", "Convolutions no longer over zeros">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def HostRelaxFloats : Pass<"host-relax-floats", "::mlir::func::FuncOp"> {
  let summary = "allow sums in another order, and products fused into sums";
  let description = [{
    **Why** No reduction becomes a vector loop in the order as written, and a product and a sum rounded once are
    faster and more exact than rounded twice.
    **Expects** Bodies with linalg operations, before host-approximate-math, whose arithmetic is to be as written.
    **Leaves** `contract` and `reassoc` on what combines the elements of a reduction and the products in it, `contract`
    on divisions and functions, `nsz` on maxima and minima: of two zeros either may be taken.
    **Never** lets elementwise arithmetic or a cast be rounded otherwise than written: the gradient of a maximum looks for the
    element that equals it, perhaps in another stage function, and must find the number that was compared. Reciprocals
    for divisions and approximate functions are not allowed either, nor that NaN and infinity are ignored: masks use
    both.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def HostFuseElementwise : Pass<"host-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "fuse elementwise producers into their consumers, also cheap ones with several";
  let description = [{
    **Why** An elementwise pass over memory costs more than its arithmetic; repeating up to `max-ops` cheap
    operations in each consumer is cheaper than one more array.
    **Expects** A body whose contractions are raised.
    **Leaves** Elementwise producers of one consumer fused into it; cheap producers of several fused into each, unless
    each would then read more arrays than before;
    producers of reductions fused into the reduction. Arrays of which few elements are read (a loss reads one for each
    token, an embedding rows of a table that was cast) are not written: an element is computed where it is read. A sum over
    terms that are zero but in one turn of its loop is that term.
    **Never** touches a contraction, and never repeats a transcendental function over a larger space than before.
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", "6",
           "Operations a producer with several consumers may have (6: best of the sizes measured on a GPT step)">,
    Option<"longestRow", "longest-row", "int64_t", "0",
           "What has longer rows than that is computed in each of its consumers, whatever it costs, unless each would "
           "then read more bytes; 0: nothing is">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::affine::AffineDialect"];
}

def HostFoldAccumulation : Pass<"host-fold-accumulation", "::mlir::func::FuncOp"> {
  let summary = "sum gradients inside the operation that makes them";
  let description = [{
    **Why** `sum + contraction` is one more pass over every gradient; the contraction can add for nothing.
    **Expects** A body whose accumulating arguments carry `rank.accumulate`.
    **Leaves** `add(argument, x)` folded: into the initial value of a contraction, a reduction or a loop that starts
    from zero, else into one elementwise operation that updates the argument in place. Reshapes between are moved
    to the argument. A loop is one that adds rows to rows of a table, the gradient of a lookup: no table is filled
    with zeros, and none is added up of which few rows were touched. Where the table is narrower than the sum and only
    widened between, rows are added in the type of the sum.
    **Never** folds a value that has another use.
  }];
  let statistics = [
    Statistic<"numFolded", "sums-folded", "Sums folded into their producer">,
    Statistic<"numInPlace", "sums-in-place", "Sums left as elementwise updates">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostSumSlices : Pass<"host-sum-slices", "::mlir::func::FuncOp"> {
  let summary = "add a padded tensor where it is not zero";
  let description = [{
    **Why** The gradient of a slice is the slice's gradient padded with zeros, and the gradients of all slices are
    added: a tensor of the whole size and a pass over it for each (nine for a 3 x 3 pooling, two for a rotary
    embedding).
    **Expects** A body on tensors, elementwise operations as `linalg.generic`.
    **Leaves** `add(x, pad(y))`, where the padding is zero and has no other use, as an update of the slice of `x`:
    extracted, added to, inserted. Where `x` is known to be zero there, `y` is inserted.
    **Never** adds in another order.
  }];
  let statistics = [
    Statistic<"numSummed", "slices-summed", "Padded tensors added to a slice">,
    Statistic<"numInserted", "slices-inserted", "Padded tensors that needed no addition">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostFindTriangles : Pass<"host-find-triangles", "::mlir::func::FuncOp"> {
  let summary = "find contractions of which a mask leaves half";
  let description = [{
    **Why** Under a causal mask half of the scores are never read, and half of their gradients are zero.
    **Expects** A body on tensors, after fusion, masks as comparisons of loop indices.
    **Leaves** A contraction whose result is read only where one index is at least another, or that has an operand which
    is zero elsewhere, with `host.triangle`: the two loops and their extents. It is then called for the boxes along the
    diagonal that matter.
    **Never** changes a sum of finite numbers: what is left out is zero. Zero times what is not finite counts as zero.
  }];
  let statistics = [Statistic<"numMarked", "triangles", "Contractions marked">];
}

def HostGroupRows : Pass<"host-group-rows", "::mlir::func::FuncOp"> {
  let summary = "operations on the same rows in one loop over blocks of rows";
  let description = [{
    **Why** A softmax, a layer norm or a GELU is a chain of operations that each walk whole arrays. Row by row they
    need one pass over memory, and what they pass to each other is as small as a block of rows.
    **Expects** A body on tensors, after fusion.
    **Leaves** Operations that share outer loops and are joined by what they make or read in one `scf.for` over blocks of
    rows, marked `host.parallel`. Values read outside are inserted into tensors that the loop carries. A sum over
    rows is a sum over the rows of each block and one over blocks behind the loop, the same for any number of threads.
    Batched contractions that make or read a value twice as large as their others (the scores of attention) join too;
    one that sums over blocks does so from block to block in a loop of its own, inside the one over batches.
    **Never** moves a value around a path that leaves a group and comes back, and never makes rows of what is contiguous.
  }];
  let options = [
    Option<"blockBytes", "block-bytes", "int64_t", "262144",
           "Bytes of all values of a block together (256 KiB: they stay in the second-level cache)">,
    Option<"scoreBytes", "score-bytes", "int64_t", "524288",
           "Bytes of a block of scores between two batched contractions (512 KiB)">];
  let statistics = [
    Statistic<"numGroups", "row-groups", "Loops over rows made">,
    Statistic<"numGrouped", "operations-grouped", "Operations in them">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::affine::AffineDialect"];
}

def HostOrderLoops : Pass<"host-order-loops", "::mlir::func::FuncOp"> {
  let summary = "put the dimension that most operands are contiguous in innermost";
  let description = [{
    **Why** The vectorizer takes the innermost loop; a sum over rows must not walk columns.
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
  let summary = "results are written where the caller says";
  let description = [{
    **Why** A stage writes straight into the receiver's slot, the stash or a gradient; no result is copied out.
    **Expects** A body `(inputs, accumulators) -> (results, accumulated)` on tensors.
    **Leaves** `(inputs, results, accumulators) -> ()` on buffers. Inputs are read-only; every `tensor.empty` and
    fill has one user; the chain behind each result starts in its destination; a contraction that started from zero
    is marked `host.overwrite` and its fill is gone.
    **Never** makes a result alias an input: a result that is an input is copied.
  }];
  let statistics = [Statistic<"numCopies", "copied-results", "Results that must be copied">];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HostBufferize : Pass<"host-bufferize", "::mlir::ModuleOp"> {
  let summary = "bodies on buffers";
  let description = [{
    **Why** From here on memory is explicit.
    **Expects** Bodies as host-pass-destinations leaves them.
    **Leaves** Bodies without tensors; constants as globals; values that are only made to be inserted into another
    made in their place there; what a loop carries in one buffer.
    **Never** writes to an input, nor over a value that is still read (host-verify-buffers, on every body).
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect"];
}

def HostVerifyBuffers : Pass<"host-verify-buffers", "::mlir::func::FuncOp"> {
  let summary = "no buffer is written before its last reader";
  let description = [{
    **Why** A buffer that is written too early gives wrong numbers and no error. host-bufferize runs this check on every
    body it converts; here it stands by itself, for tests.
    **Expects** A body on tensors of which every operation writes in place: what one-shot analysis would copy is copied
    already (`bufferization.alloc_tensor`).
    **Leaves** The body as it is, or an error that names the reader, the value and the writer.
    **Never** asks the analysis that placed the copies: where a tensor lies follows from the IR alone.
  }];
}

def HostPlanWorkspace : Pass<"host-plan-workspace", "::mlir::func::FuncOp"> {
  let summary = "place temporaries in one workspace, by lifetime";
  let description = [{
    **Why** Nothing is allocated while a step runs, and the need is known before it runs.
    **Expects** A body on buffers with static allocations.
    **Leaves** Every `memref.alloc` as a `memref.view` of a last argument, the workspace, whose size stands on the
    function as `rank.workspace` (bytes), beside `rank.workspace_bound`, the bytes that live at once. Several orders of
    placing are tried, and searched when none comes near the bound (Support/Packing.h); lifetimes over all aliases,
    64-byte alignment.
    **Never** shares bytes between two buffers that live at the same operation.
  }];
  let statistics = [
    Statistic<"numPlaced", "buffers-placed", "Buffers placed in a workspace">,
    Statistic<"numBytes", "workspace-bytes", "Bytes of all workspaces">,
    Statistic<"boundBytes", "live-bytes", "Bytes that live at once in them, no fewer would do">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// Kernels and calls
//===----------------------------------------------------------------------===//

def HostApproximateMath : Pass<"host-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "elementary functions as arithmetic that vectorizes";
  let description = [{
    **Why** Calls of the C library stop the vectorizer.
    **Expects** A body or kernel, on scalars or vectors.
    **Leaves** exp, exp2, expm1, log, log1p, tanh, erf, erfc, sin and cos in f32 as arithmetic, at most 1.96 units in
    the last place from the exact result for each of the 2^32 arguments, with AVX2 and with AVX-512 (tested; the largest
    error of each function stands in Math/Elementary.h), zeros, infinities, NaN and subnormal results included; without
    branches, but for one around what sin and cos do where some lane is beyond
    2^16; narrower types computed in f32; everything else for the C library.
    **Never** sets a fast-math flag on what it makes: the errors hold for operations rounded as written.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def HostNarrowFloats : Pass<"host-narrow-floats"> {
  let summary = "arithmetic of bf16 and roundings to 16 bits without calls";
  let description = [{
    **Why** Where a processor has no instruction LLVM calls `__truncsfbf2` and its like, one call for every number, of
    libraries that older systems lack; and the instruction of AVX512-BF16 takes subnormal numbers for zeros.
    **Expects** A body or kernel, on scalars or vectors, whatever the function is called.
    **Leaves** Arithmetic of bf16 computed in f32 with every result rounded; roundings to bf16 as integer arithmetic,
    the same bits on every processor; f64 to 16 bits over f32 rounded to odd, so that it is as if rounded once.
    **Never** touches f16 in f32's reach: processors with AVX2 convert it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def HostBFloat16AsWords : Pass<"host-bfloat16-as-words", "::mlir::ModuleOp"> {
  let summary = "bf16 of the LLVM dialect as integers of 16 bits";
  let description = [{
    **Why** On processors without AVX512-BF16 LLVM keeps a scalar bf16 in a register for f32, and calls `__truncsfbf2`
    to get its bits back where they are needed in another block.
    **Expects** Functions and globals of the LLVM dialect, in which bf16 is loaded, stored, moved and cast to bits; what
    `host-narrow-floats` leaves has no arithmetic of it.
    **Leaves** Types, constants and tables of i16 in their places, of the same bits.
    **Never** touches what is nested in other operations, as kernels of a device.
  }];
}

def HostOutlineKernels : Pass<"host-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "every loop nest a function of its own, equal ones once";
  let description = [{
    **Why** LLVM's loop passes are superlinear in the size of a function, and arguments of a function can promise
    not to alias. Layers repeat, so kernels do: compile time stays flat in the number of layers.
    **Expects** Bodies on buffers with planned workspace.
    **Leaves** Every linalg operation but contractions, every loop, and the zeroing, copying, adding and combining
    of slots in rank programs, in a private function whose arguments are `llvm.noalias` where that is proved;
    structurally equal functions merged over the whole module. Means over microbatches stand in a branch: over one
    microbatch they are not made. With `fills` the zeroing of slots stays as it is.
    **Never** outlines a contraction.
  }];
  let options = [
    Option<"fills", "fills", "bool", "false",
           "leave the zeroing of slots, which the runtime of a device does">];
  let statistics = [
    Statistic<"numOutlined", "kernels-outlined", "Loop nests outlined">,
    Statistic<"numUnique", "kernels-unique", "Functions they became">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def HostContractionsToCalls : Pass<"host-contractions-to-calls", "::mlir::ModuleOp"> {
  let summary = "contractions and convolutions become calls of the runtime";
  let description = [{
    **Why** The runtime has tuned code; its descriptors take strides, so transposes and slices cost nothing.
    **Expects** `linalg.contract`, and `linalg.generic` marked `host.convolution`, on buffers with static shapes and
    strides.
    **Leaves** One call of `sw_gemm` or `sw_convolution` with a constant descriptor; a convolution whose loops can be
    merged into rows, columns and sum is a contraction. What no descriptor can hold becomes loops around the call.
    **Never** copies an operand.
  }];
  let options = [
    Option<"mixed", "mixed", "bool", "false",
           "Operands may be of different and narrow types, which the call carries as `host.types`">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def HostMakeLoops : Pass<"host-make-loops", "::mlir::func::FuncOp"> {
  let summary = "operations on buffers become loops over vectors";
  let description = [{
    **Why** A compiler that knows which loop reduces and what is contiguous need not hope for a vectorizer: no checks
    for aliases at run time, sums in several registers, and less work for LLVM.
    **Expects** Kernels and bodies on buffers without contractions: linalg operations, alone or in loops on slices.
    **Leaves** Each as loops over vectors of `vector-bits` (LLVM takes wider ones than the processor's apart).
    Loops that walk memory as one are one. The loop that most operands are contiguous in becomes vectors: innermost if
    it reduces, with several partial sums; outside of those that reduce if not, with the sums in registers. What does
    not change along it is computed once. What is left behind whole vectors is written as ever narrower ones. A
    loop that is outermost and parallel carries `host.parallel`.
    **Never** changes the order of sums whose parts cannot be combined. Operations with branches in their bodies or
    dynamic strides become scalar loops.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512", "Bits of a vector">];
  let statistics = [
    Statistic<"numVector", "vector-loops", "Operations that became loops over vectors">,
    Statistic<"numScalar", "scalar-loops", "Operations that became scalar loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"];
}

def HostParallelKernels : Pass<"host-parallel-kernels", "::mlir::ModuleOp"> {
  let summary = "loops of kernels run on the threads of their rank";
  let description = [{
    **Why** A rank may have several threads (`pp-run --threads-per-rank`); how many is not known here.
    **Expects** Kernels whose loops carry `host.parallel` where their turns are independent.
    **Leaves** Such a loop, outermost in its kernel and of at least `min-time` by a rough count of operations and
    bytes, as a call of `sw_parallel` with two new functions: the loop over some of its turns, and what the runtime
    calls with a list of pointers. The grain is half of `min-time`.
    **Never** changes which turn computes what: results do not depend on the number of threads.
  }];
  let options = [
    Option<"minTime", "min-time", "unsigned", "8000",
           "Nanoseconds from which a loop is shared (8000: twenty times a fork and join)">];
  let statistics = [Statistic<"numShared", "loops-shared", "Loops that threads share">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def HostSizeWorkspaces : Pass<"host-size-workspaces", "::mlir::ModuleOp"> {
  let summary = "give every rank the workspace its calls need";
  let description = [{
    **Why** How much a stage function needs is known only once its temporaries are placed.
    **Expects** Rank programs that can be unrolled, and functions with `rank.workspace`.
    **Leaves** One workspace buffer per program, in which calls, the values of actions, and stashes of a fixed depth
    lie by their lives: what a backward has read for the last time makes room for the temporaries of what follows, and
    a ring of which no slot is held for those of an optimizer. Stashes have a place there only where that saves bytes.
    Lives are those of all forms that the loops take.
    **Never** lets two share bytes that live at once, which verify-rank-programs proves after it.
  }];
  let dependentDialects = ["::stagewright::rank::RankDialect"];
}

def LowerRankToHost : Pass<"lower-rank-to-host", "::mlir::ModuleOp"> {
  let summary = "rank programs become functions that call the runtime";
  let description = [{
    **Why** Below this point there are only functions, loops and calls.
    **Expects** Verified rank programs whose calls go to functions on buffers.
    **Leaves** One public function `(rank, microbatches)` per program, in which slots, transfers and actions are calls
    of the `sw_` functions of stagewright-rt/runtime.h with the numbers of the manifest, and the manifest itself as
    the module attribute `rank.manifest` (JSON).
    **Never** decides anything: every number was fixed above.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def ConvertHostToLLVM : Pass<"convert-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "functions, loops and buffers to the LLVM dialect";
  let description = [{
    **Why** One conversion instead of eight: each of them would walk the whole module, and a buffer that the runtime
    returned as a pointer becomes a descriptor only where all its uses change with it.
    **Expects** Functions without linalg operations on static buffers.
    **Leaves** The LLVM dialect alone; buffers are bare pointers at function borders.
    **Never** leaves a cast behind.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // STAGEWRIGHT_RANK_HOSTPASSES_TD
