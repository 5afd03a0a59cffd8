// RUN: pp-opt --pipeline-form-graph --pipeline-merge-backward %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph=stash=written --pipeline-merge-backward %s | FileCheck %s

// The gradient of the scores of the last layer needs nothing that comes later: d = exp(l) * sum(l * l), with a sum that only
// the backward has. The forward computes it and keeps only it, instead of scores for the backward.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: keeps = ["mulf 16x8xf32"], kept = 512 : i64
// CHECK-SAME: repeats = []
// CHECK: func.func private @{{.*}}.F(
// CHECK: math.exp
// CHECK: return
// CHECK: func.func private @{{.*}}.B(
// CHECK-NOT: math.exp
// CHECK-NOT: arith.addf
// CHECK: linalg.matmul
// CHECK: return

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
func.func @step(%w: tensor<4x8xf32> {pipeline.role = "parameter"}, %x: tensor<16x4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<4x8xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  %zero = arith.constant 0.0 : f32
  %el = tensor.empty() : tensor<16x8xf32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<16x8xf32>) -> tensor<16x8xf32>
  %l = linalg.matmul ins(%x, %w : tensor<16x4xf32>, tensor<4x8xf32>) outs(%zl : tensor<16x8xf32>) -> tensor<16x8xf32> loc(#forward)
  %e = math.exp %l : tensor<16x8xf32> loc(#forward)
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%e : tensor<16x8xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %a = arith.addf %sum, %in : f32
    linalg.yield %a : f32
  } -> tensor<f32> loc(#forward)
  // Backward.
  %q = arith.mulf %l, %l : tensor<16x8xf32> loc(#backward)
  %er = tensor.empty() : tensor<16xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<16x8xf32>) outs(%zr : tensor<16xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %a = arith.addf %sum, %in : f32
    linalg.yield %a : f32
  } -> tensor<16xf32> loc(#backward)
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %r : tensor<16x8xf32>, tensor<16xf32>) outs(%el : tensor<16x8xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %m = arith.mulf %p, %s : f32
    linalg.yield %m : f32
  } -> tensor<16x8xf32> loc(#backward)
  %et = tensor.empty() : tensor<4x16xf32>
  %xt = linalg.transpose ins(%x : tensor<16x4xf32>) outs(%et : tensor<4x16xf32>) permutation = [1, 0] loc(#backward)
  %ew = tensor.empty() : tensor<4x8xf32>
  %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<4x8xf32>) -> tensor<4x8xf32>
  %dw = linalg.matmul ins(%xt, %d : tensor<4x16xf32>, tensor<16x8xf32>) outs(%zw : tensor<4x8xf32>) -> tensor<4x8xf32> loc(#backward)
  return %loss, %dw : tensor<f32>, tensor<4x8xf32>
}
#forward = loc("jit(step)/jvp(head)/op")
#backward = loc("jit(step)/transpose(jvp(head))/op")
