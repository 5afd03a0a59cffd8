// RUN: pp-opt --pipeline-merge-backward %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph=repeat-ratio=0 --pipeline-merge-backward %s | FileCheck %s --check-prefix=NEVER
// RUN: pp-opt --pipeline-form-graph=repeat-ratio=33 --pipeline-merge-backward %s | FileCheck %s --check-prefix=NEVER
// RUN: pp-opt --pipeline-form-graph=stash=written --pipeline-merge-backward %s | FileCheck %s --check-prefix=NEVER
// RUN: pp-compile %s --cluster=local:1 --emit=graph --stash=written | FileCheck %s --check-prefix=NEVER
// RUN: not pp-compile %s --cluster=local:1 --emit=graph --stash=all 2>&1 | FileCheck %s --check-prefix=KEEP
// RUN: not pp-opt --pipeline-form-graph=repeat-ratio=-1 %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: pp-compile %s --cluster=local:1 --emit=graph --repeat-ratio=0 | FileCheck %s --check-prefix=NEVER
// RUN: not pp-compile %s --cluster=local:1 --emit=graph --repeat-ratio=none 2>&1 | FileCheck %s --check-prefix=FLAG

// RUN: pp-compile %s --cluster=local:1 --microbatches=2 --explain-memory -o %t.swx | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: stash of a microbatch, by layer
// EXPLAIN-NEXT: attn: keeps 0 B of 18.1 KiB that its backward reads
// EXPLAIN-NEXT: keeps nothing
// EXPLAIN-NEXT: repeats contraction 64x64xf32, exp 64x64xf32
// EXPLAIN: rank device
// EXPLAIN: arenas take at most {{[0-9.]+}} % more than their lower bound (rank 0)

// NEGATIVE: error: repeat-ratio must be at least 0, got -1
// KEEP: error: stash must be least or written, got 'all'
// FLAG: error: --repeat-ratio must be a number from 0, but is 'none'

// Attention without its softmax: exp(x x^T) (x w). The scores, 64 x 64, are eight times the two operands they are made of, so
// the backward computes them again; without recomputation the exponentials are kept.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: pipeline.stash = [
// CHECK-SAME: keeps = [], kept = 0 : i64, layer = "attn"
// CHECK-SAME: read = 18496 : i64, repeats = ["contraction 64x64xf32", "exp 64x64xf32"]
// CHECK: func.func private @{{.*}}.B(
// CHECK-NOT: tensor<64x64xf32>
// CHECK-SAME: )
// CHECK: linalg.matmul {{.*}} -> tensor<64x64xf32>
// CHECK: math.exp

// NEVER-LABEL: pipeline.graph @step
// NEVER-SAME: keeps = ["exp 64x64xf32"], kept = 16384 : i64
// NEVER-SAME: repeats = []
// NEVER: func.func private @{{.*}}.B(
// NEVER-SAME: tensor<64x64xf32>
// NEVER-NOT: math.exp

#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#out = affine_map<(i, j, k) -> (i, j)>
#column = affine_map<(i, j, k) -> (k, i)>
#row = affine_map<(i, j, k) -> (k, j)>
func.func @step(%w: tensor<4x4xf32> {pipeline.role = "parameter"}, %x: tensor<64x4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<4x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %et = tensor.empty() : tensor<4x64xf32>
  %xt = linalg.transpose ins(%x : tensor<64x4xf32>) outs(%et : tensor<4x64xf32>) permutation = [1, 0] loc(#forward)
  %es = tensor.empty() : tensor<64x64xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.matmul ins(%x, %xt : tensor<64x4xf32>, tensor<4x64xf32>) outs(%zs : tensor<64x64xf32>) -> tensor<64x64xf32> loc(#forward)
  %e = math.exp %s : tensor<64x64xf32> loc(#forward)
  %ev = tensor.empty() : tensor<64x4xf32>
  %zv = linalg.fill ins(%zero : f32) outs(%ev : tensor<64x4xf32>) -> tensor<64x4xf32>
  %v = linalg.matmul ins(%x, %w : tensor<64x4xf32>, tensor<4x4xf32>) outs(%zv : tensor<64x4xf32>) -> tensor<64x4xf32> loc(#forward)
  %o = linalg.matmul ins(%e, %v : tensor<64x64xf32>, tensor<64x4xf32>) outs(%zv : tensor<64x4xf32>) -> tensor<64x4xf32> loc(#forward)
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%o : tensor<64x4xf32>) outs(%zl : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %a = arith.addf %sum, %in : f32
    linalg.yield %a : f32
  } -> tensor<f32> loc(#head)
  // Backward: dv = e^T 1, dw = x^T dv.
  %ones = linalg.fill ins(%one : f32) outs(%ev : tensor<64x4xf32>) -> tensor<64x4xf32>
  %dv = linalg.generic {indexing_maps = [#column, #row, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e, %ones : tensor<64x64xf32>, tensor<64x4xf32>) outs(%zv : tensor<64x4xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<64x4xf32> loc(#backward)
  %ew = tensor.empty() : tensor<4x4xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dw = linalg.generic {indexing_maps = [#column, #row, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %dv : tensor<64x4xf32>, tensor<64x4xf32>) outs(%zw : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<4x4xf32> loc(#backward)
  return %loss, %dw : tensor<f32>, tensor<4x4xf32>
}
#forward = loc("jit(step)/jvp(attn)/dot_general")
#backward = loc("jit(step)/transpose(jvp(attn))/dot_general")
#head = loc("jit(step)/jvp(head)/reduce_sum")
