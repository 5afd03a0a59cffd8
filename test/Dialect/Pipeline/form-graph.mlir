// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: pp-opt --pipeline-merge-backward %s | FileCheck %s --check-prefix=MERGED

// Two linear layers with a tanh between them and a sum for a loss, differentiated by hand. Scopes name the layers.

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#lhs = affine_map<(m, n, k) -> (m, k)>
#lhsT = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#rhsT = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["a", "b"]
// The first layer's forward gives its activation, which is all that both backwards need.
// CHECK: %[[H:.*]] = pipeline.node "a.F" @a.F phase F layer 0(%[[X:.*]], %[[W0:.*]]) :
// CHECK: %[[L:.*]] = pipeline.node "b.F" @b.F phase F layer 1(%[[H]], %[[W1:.*]]) :
// CHECK: %[[DH:.*]] = pipeline.node "b.I" @b.I phase I layer 1(%[[W1]]) :
// CHECK: %[[DW1:.*]] = pipeline.node "b.W" @b.W phase W layer 1(%[[H]]) :
// The first layer sends nothing on, so it has no I.
// CHECK-NOT: phase I
// CHECK: %[[DW0:.*]] = pipeline.node "a.W" @a.W phase W layer 0(%[[H]], %[[DH]], %[[X]]) :
// CHECK: pipeline.yield %[[L]], %[[DW0]], %[[DW1]] results [0, 1, 2]
// CHECK: func.func private @a.F
// CHECK: math.tanh
// Repeated work is elementwise and cheap: 1 - h * h is computed again, tanh is not.
// CHECK: func.func private @a.W
// CHECK-NOT: math.tanh
// CHECK: arith.mulf

// MERGED: pipeline.node "b.B" @b.B phase B layer 1
// MERGED: pipeline.node "a.B" @a.B phase B layer 0
// MERGED-NOT: phase W

func.func @step(%w0: tensor<8x16xf32> {pipeline.role = "parameter"},
                %w1: tensor<16x4xf32> {pipeline.role = "parameter"},
                %x: tensor<32x8xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<8x16xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64},
        tensor<16x4xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e0 = tensor.empty() : tensor<32x16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %e1 = tensor.empty() : tensor<32x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %a0 = linalg.matmul ins(%x, %w0 : tensor<32x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<32x16xf32>) -> tensor<32x16xf32> loc(#locA)
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a0 : tensor<32x16xf32>) outs(%e0 : tensor<32x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<32x16xf32> loc(#locA)
  %y = linalg.matmul ins(%h, %w1 : tensor<32x16xf32>, tensor<16x4xf32>) outs(%z1 : tensor<32x4xf32>) -> tensor<32x4xf32> loc(#locB)
  %es = tensor.empty() : tensor<f32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<32x4xf32>) outs(%zs : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<f32> loc(#locB)
  // Backward.
  %dy = linalg.fill ins(%one : f32) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %ew1 = tensor.empty() : tensor<16x4xf32>
  %zw1 = linalg.fill ins(%zero : f32) outs(%ew1 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %dw1 = linalg.generic {indexing_maps = [#lhsT, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %dy : tensor<32x16xf32>, tensor<32x4xf32>) outs(%zw1 : tensor<16x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x4xf32> loc(#locBT)
  %dh = linalg.generic {indexing_maps = [#lhs, #rhsT, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %w1 : tensor<32x4xf32>, tensor<16x4xf32>) outs(%z0 : tensor<32x16xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x16xf32> loc(#locBT)
  %factor = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<32x16xf32>) outs(%e0 : tensor<32x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %sq = arith.mulf %in, %in : f32
    %d = arith.subf %one, %sq : f32
    linalg.yield %d : f32
  } -> tensor<32x16xf32> loc(#locA)
  %da = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%factor, %dh : tensor<32x16xf32>, tensor<32x16xf32>) outs(%e0 : tensor<32x16xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<32x16xf32> loc(#locAT)
  %ew0 = tensor.empty() : tensor<8x16xf32>
  %zw0 = linalg.fill ins(%zero : f32) outs(%ew0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %dw0 = linalg.generic {indexing_maps = [#lhsT, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %da : tensor<32x8xf32>, tensor<32x16xf32>) outs(%zw0 : tensor<8x16xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32> loc(#locAT)
  return %loss, %dw0, %dw1 : tensor<f32>, tensor<8x16xf32>, tensor<16x4xf32>
}

#locA = loc("jit(step)/jvp(a)/dot_general")
#locB = loc("jit(step)/jvp(b)/dot_general")
#locAT = loc("jit(step)/transpose(jvp(a))/dot_general")
#locBT = loc("jit(step)/transpose(jvp(b))/dot_general")
