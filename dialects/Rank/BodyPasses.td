//===- BodyPasses.td - from bodies on tensors to kernels on buffers -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_BODYPASSES_TD
#define STAGEWRIGHT_RANK_BODYPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Bodies on tensors
//===----------------------------------------------------------------------===//

def BodyRaiseContractions
    : Pass<"body-raise-contractions", "::mlir::func::FuncOp"> {
  let summary = "recognise sums of products as linalg.contract";
  let description = [{
    **Why** Contractions become calls of a tuned library, everything else becomes loops; fusion must not mix the two.
    **Expects** A body on tensors. The pass first generalizes named linalg operations or decomposes them (softmax), except
    convolutions and fills.
    **Leaves** Every `linalg.generic` that sums products of two operands, of floats, with several rows and columns and at most
    two batch dimensions, as a `linalg.contract` in f32 or f64. Narrow operands are widened before it, and its result is
    narrowed after it, unless an option keeps their types. Transposed or broadcast operands and transposed results are folded
    into its maps.
    **Never** raises a row-wise product and sum (an operand without rows or columns of its own), which is a reduction.
  }];
  let options = [
    Option<"keepTypes", "keep-types", "bool", "false",
           "Keep operands and results narrow: a device's library accumulates in float32">,
    Option<"bytes", "multiply-bytes", "bool", "false",
           "Also keep 8-bit floats (f8E4M3FN, or f8E5M2 in one operand), if rows, columns and sum are multiples of 16 and "
           "there is no batch dimension">];
  let statistics = [
    Statistic<"numRaised", "contractions-raised", "Contractions raised">,
    Statistic<"numTransposed", "transposes-folded", "Transposed copies folded into a contraction">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def BodyRaiseConvolutions
    : Pass<"body-raise-convolutions", "::mlir::func::FuncOp"> {
  let summary = "recognise convolutions and their gradients";
  let description = [{
    **Why** A convolution is a sum of products in which two loops index one dimension together. The runtime has code for it, and
    a device's library computes it and its gradients on tensor cores, without padding or dilating anything in memory. A
    gradient arrives as a convolution over a tensor dilated with zeros, so most of its work is multiplication by zero.
    **Expects** A body on tensors, before fusion.
    **Leaves** Every convolution in f32 or f64, forward, input gradient or weight gradient, in any layout, as a `rank.contract`,
    unless it has no elements, or a loop over which it sums (such as channels or a dimension of the window) has one iteration.
    Dilated operands are avoided: a weight gradient reads the operand as it was before its dilation, and the other operand with
    a stride; an input gradient becomes one convolution for each phase of the stride, interleaved into its result. With
    `library`, a `rank.convolve` for every convolution of float32, float16 or bfloat16 over one to three spatial dimensions and
    every gradient of one. Padding, dilation or reversal of its operands becomes part of its attributes. All three operands get
    the layout of the image (of the result, if the image is written), channels last or channels first. Those with another layout
    are transposed. In other convolutions, which become kernels, only dilated operands are avoided.
    **Never** raises pooling or a depthwise convolution, which have no columns to multiply. With `library`, grouped
    convolutions and negative padding stay sums of products.
  }];
  let options = [
    Option<"library", "library", "bool", "false", "Make convolutions operations of a device's library">];
  let statistics = [
    Statistic<"numRaised", "convolutions-raised", "Convolutions recognised">,
    Statistic<"numNarrowed", "convolutions-narrowed", "Convolutions over zeros replaced">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def BodyRelaxFloats : Pass<"body-relax-floats", "::mlir::func::FuncOp"> {
  let summary = "allow reordered sums and fused multiply-adds";
  let description = [{
    **Why** No reduction can be vectorized in the order as written, and a fused multiply-add, rounded once, is faster and more
    exact than two roundings.
    **Expects** Bodies with linalg operations, before body-approximate-math, whose arithmetic is to be as written.
    **Leaves** `contract` and `reassoc` on the combiners of reductions, `contract` on the products that these add, on divisions
    and on functions, `nsz` on maxima and minima: of two zeros either may be taken.
    **Never** changes the rounding of elementwise arithmetic or casts: the gradient of a maximum searches for the element equal
    to it, perhaps in another stage function, and must find the number that was compared. Nor are reciprocals for divisions or
    approximate functions allowed, or NaN and infinity assumed absent: masks use both.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def BodyFuseElementwise : Pass<"body-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "fuse elementwise producers into consumers, cheap ones into several";
  let description = [{
    **Why** An elementwise pass over memory costs more than its arithmetic; repeating up to `max-ops` cheap operations in each
    consumer is cheaper than one more array.
    **Expects** A body whose contractions are raised.
    **Leaves** Elementwise producers with one consumer fused into it; cheap producers with several fused into those that do not
    then read more arrays than before; producers of reductions fused into the reduction. Arrays of which few elements are read
    are not written (a loss reads one per token, an embedding reads rows of a cast table): each element is computed where it is
    read. A sum whose terms are zero in all iterations but one is replaced by that term.
    **Never** changes a contraction, and never repeats a transcendental function over a larger space than before.
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", "6",
           "Max operations of a producer with several consumers (6: best of the sizes measured on a GPT step)">,
    Option<"longestRow", "longest-row", "int64_t", "0",
           "Compute arrays with longer rows, at any cost, in each consumer that does not then read more bytes; "
           "0: off">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::affine::AffineDialect"];
}

def BodyFoldAccumulation : Pass<"body-fold-accumulation", "::mlir::func::FuncOp"> {
  let summary = "accumulate gradients inside the operation that computes them";
  let description = [{
    **Why** `sum + contraction` is one more pass over every gradient; the contraction can add for free.
    **Expects** A body whose accumulating arguments carry `rank.accumulate`.
    **Leaves** `add(argument, x)` folded: into the initial value of a contraction, a reduction or a loop that starts from zero,
    else into one elementwise operation that updates the argument in place. Reshapes between them are moved to the argument.
    What is added to a value that a loop carries is folded in the same way, but not updated in place. If a loop whose initial
    value is folded adds rows to rows of a table (the gradient of a lookup), no table is filled with zeros any more, and no
    whole table is added when only few rows changed. If the table is narrower than the sum and only widened in between, rows are
    added in the type of the sum.
    **Never** folds a value that has another use.
  }];
  let statistics = [
    Statistic<"numFolded", "sums-folded", "Sums folded into their producer">,
    Statistic<"numInPlace", "sums-in-place", "Sums left as in-place elementwise updates">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def BodySumSlices : Pass<"body-sum-slices", "::mlir::func::FuncOp"> {
  let summary = "add a padded tensor only where it is not zero";
  let description = [{
    **Why** The gradient of a tensor that is read by slices is a sum of slice gradients padded with zeros: one tensor of the
    whole size and one pass over it per slice (nine for a 3 x 3 pooling, two for a rotary embedding).
    **Expects** A body on tensors, elementwise operations as `linalg.generic`.
    **Leaves** `add(x, pad(y))`, where `pad(y)` pads with zeros and has no other use, as an update of the slice of `x`: extract,
    add, insert. If `x` is known to be zero there, `y` is inserted.
    **Never** changes the order of additions.
  }];
  let statistics = [
    Statistic<"numSummed", "slices-summed", "Padded tensors added to a slice">,
    Statistic<"numInserted", "slices-inserted", "Padded tensors inserted without an addition">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def BodyFindTriangles : Pass<"body-find-triangles", "::mlir::func::FuncOp"> {
  let summary = "find contractions of which a causal mask discards half";
  let description = [{
    **Why** Under a causal mask half of the scores are never read, and half of their gradients are zero.
    **Expects** A body on tensors, after fusion, masks as comparisons of loop indices.
    **Leaves** The hint `host.triangle`, the two loops and their extents, on a contraction whose result is read only where one
    index is at least another, or that has an operand which is zero elsewhere, if both loops have one extent, of at least 64.
    body-pass-destinations makes it the triangle of `rank.contract`, of which only the boxes up to the diagonal are computed.
    Without the hint, all is computed.
    **Never** changes a sum of finite numbers: the terms left out are zero. Zero times a number that is not finite counts as
    zero.
  }];
  let statistics = [Statistic<"numMarked", "triangles", "Contractions marked">];
}

def BodyOrderLoops : Pass<"body-order-loops", "::mlir::func::FuncOp"> {
  let summary = "make the dimension in which most operands are contiguous innermost";
  let description = [{
    **Why** The vectorizer uses the innermost loop, and a sum over rows must not traverse columns.
    **Expects** A body on tensors, after fusion.
    **Leaves** Every `linalg.generic` with the loop of the cheapest memory access innermost; the others keep their order.
    **Never** changes what is computed.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

//===----------------------------------------------------------------------===//
// Bodies on buffers
//===----------------------------------------------------------------------===//

def BodyPassDestinations : Pass<"body-pass-destinations", "::mlir::func::FuncOp"> {
  let summary = "write results to buffers passed by the caller";
  let description = [{
    **Why** A stage writes directly into the receiver's slot, the stash or a gradient; no result is copied out.
    **Expects** A body `(inputs, accumulators) -> (results, accumulated)` on tensors.
    **Leaves** `(inputs, results, accumulators) -> ()` on buffers. Inputs are read-only; every `tensor.empty` and fill has one
    user; the chain that computes each result starts in its destination; every contraction of floats is a `rank.contract`, which
    overwrites if it started from zero, and the fill is gone.
    **Never** makes a result alias an input: a result that is an input is copied.
  }];
  let statistics = [Statistic<"numCopies", "copied-results", "Results that must be copied">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def BodyBufferize : Pass<"body-bufferize", "::mlir::ModuleOp"> {
  let summary = "convert bodies from tensors to buffers";
  let description = [{
    **Why** From here on memory is explicit.
    **Expects** Bodies as body-pass-destinations leaves them.
    **Leaves** Bodies without tensors; constants as globals; values that are only inserted into another value are computed in
    place there; each loop-carried value in one buffer.
    **Never** writes to an input, nor over a value that is still read (body-verify-buffers checks every body).
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect"];
}

def BodyVerifyBuffers : Pass<"body-verify-buffers", "::mlir::func::FuncOp"> {
  let summary = "verify that no buffer is overwritten before its last reader";
  let description = [{
    **Why** A buffer that is written too early gives wrong numbers and no error. body-bufferize runs this check on every body it
    converts; it is a separate pass for tests.
    **Expects** A body on tensors in which every operation writes in place: the copies that one-shot analysis needs are already
    inserted (`bufferization.alloc_tensor`).
    **Leaves** The body as it is, or an error that names the reader, the value and the writer.
    **Never** relies on the analysis that placed the copies: the location of a tensor follows from the IR alone.
  }];
}

def BodyPlanWorkspace : Pass<"body-plan-workspace", "::mlir::func::FuncOp"> {
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

def BodyApproximateMath : Pass<"body-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "replace elementary functions by arithmetic that vectorizes";
  let description = [{
    **Why** Calls of the C library prevent vectorization.
    **Expects** A body or kernel, on scalars or vectors.
    **Leaves** exp, exp2, expm1, log, log1p, tanh, erf, erfc, sin and cos in f32 as arithmetic, at most 1.96 units in the last
    place from the exact result for each of the 2^32 arguments, with AVX2 and with AVX-512 (tested; the max error of each
    function is in Elementary.h), including zeros, infinities, NaN and subnormal results. There are no branches except one in
    sin and cos, for vectors with an argument beyond 2^16. Narrower types are computed in f32. Reciprocal square roots and
    constant integer powers become arithmetic as well; all other functions stay as they are, most of them calls of the C
    library.
    **Never** sets a fast-math flag on the code it creates: the errors hold for operations rounded as written.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def BodyOutlineKernels : Pass<"body-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "outline every loop nest as a function, and merge equal functions";
  let description = [{
    **Why** LLVM's loop passes are superlinear in the size of a function, and function arguments can be marked as not aliasing.
    Layers repeat, and so do their kernels: compile time hardly grows with the number of layers.
    **Expects** Bodies on buffers with planned workspace.
    **Leaves** Every linalg operation, copy, loop and branch, and the zeroing, copying, adding and combining of slots in rank
    programs, in a private function whose arguments are `llvm.noalias` where that is proved. Structurally equal functions are
    merged over the whole module. The division of a sum by the number of microbatches is skipped at run time if that is 1. With
    `fills` the zeroing of slots stays as it is, and means of vectors of one type are one function.
    **Never** outlines a `rank.contract` that is in no loop.
  }];
  let options = [
    Option<"fills", "fills", "bool", "false",
           "Leave the zeroing of slots to the runtime, and make means of vectors of one type one function (for a device)">];
  let statistics = [
    Statistic<"numOutlined", "kernels-outlined", "Loop nests outlined">,
    Statistic<"numUnique", "kernels-unique", "Distinct kernel functions">];
  let dependentDialects = ["::stagewright::rank::RankDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def BodySizeWorkspaces : Pass<"body-size-workspaces", "::mlir::ModuleOp"> {
  let summary = "give every rank the workspace that its calls need";
  let description = [{
    **Why** The workspace of a stage function is known only once its temporaries are placed.
    **Expects** Rank programs that can be unrolled, and functions with `rank.workspace`.
    **Leaves** One workspace buffer per program, in which calls, the values of actions, and stashes of a fixed depth are placed
    by lifetime: later temporaries reuse what a backward has read for the last time, and those of an optimizer reuse a ring
    without held slots. Except for those of gathers, stashes are placed there only if that saves bytes. Lifetimes cover all
    forms that the loops take.
    **Never** shares bytes between two values that are live at once, which verify-rank-programs proves afterwards.
  }];
  let dependentDialects = ["::stagewright::rank::RankDialect"];
}

#endif // STAGEWRIGHT_RANK_BODYPASSES_TD
