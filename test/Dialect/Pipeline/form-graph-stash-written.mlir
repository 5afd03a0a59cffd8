// RUN: pp-opt --pipeline-form-graph --pipeline-merge-backward %s | FileCheck %s --check-prefix=LEAST
// RUN: pp-opt --pipeline-form-graph=stash=written --pipeline-merge-backward %s | FileCheck %s --check-prefix=WRITTEN
// RUN: not pp-opt --pipeline-form-graph=stash=most %s 2>&1 | FileCheck %s --check-prefix=WRONG

// x tanh(x) between two products. The backward reads the argument, and the result again for the gradient of the second
// product's operand: the forward writes both, as one product makes the first and another reads the second. What is only on the
// way from one to the other, tanh, is repeated.

// LEAST: keeps = ["contraction 16x16xf32"], kept = 1024 : i64
// WRITTEN: keeps = ["contraction 16x16xf32", "mulf 16x16xf32"], kept = 2048 : i64
// WRITTEN-SAME: repeats = ["tanh 16x16xf32"]
// WRONG: error: stash must be least or written, got 'most'

#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
func.func @step(%w: tensor<16x16xf32> {pipeline.role = "parameter"}, %v: tensor<16x16xf32> {pipeline.role = "parameter"},
                %x: tensor<16x16xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<16x16xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64},
        tensor<16x16xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant dense<1.0> : tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %h = linalg.matmul ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32> loc(#forward)
  %t = math.tanh %h : tensor<16x16xf32> loc(#forward)
  %g = arith.mulf %h, %t : tensor<16x16xf32> loc(#forward)
  %o = linalg.matmul ins(%g, %v : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32> loc(#forward)
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%o : tensor<16x16xf32>) outs(%zl : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<f32> loc(#head)
  %gt = linalg.transpose ins(%g : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0] loc(#backward)
  %dv = linalg.matmul ins(%gt, %ones : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32> loc(#backward)
  %vt = linalg.transpose ins(%v : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0] loc(#backward)
  %dg = linalg.matmul ins(%ones, %vt : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32> loc(#backward)
  %a0 = arith.mulf %dg, %t : tensor<16x16xf32> loc(#backward)
  %a1 = arith.mulf %t, %t : tensor<16x16xf32> loc(#backward)
  %a2 = arith.subf %ones, %a1 : tensor<16x16xf32> loc(#backward)
  %a3 = arith.mulf %h, %a2 : tensor<16x16xf32> loc(#backward)
  %a4 = arith.mulf %dg, %a3 : tensor<16x16xf32> loc(#backward)
  %dh = arith.addf %a0, %a4 : tensor<16x16xf32> loc(#backward)
  %xt = linalg.transpose ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0] loc(#backward)
  %dw = linalg.matmul ins(%xt, %dh : tensor<16x16xf32>, tensor<16x16xf32>) outs(%z : tensor<16x16xf32>) -> tensor<16x16xf32> loc(#backward)
  return %l, %dw, %dv : tensor<f32>, tensor<16x16xf32>, tensor<16x16xf32>
}
#forward = loc("jit(step)/jvp(mlp)/dot_general")
#backward = loc("jit(step)/transpose(jvp(mlp))/dot_general")
#head = loc("jit(step)/jvp(head)/reduce_sum")
