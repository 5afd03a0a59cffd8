// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph %s --pipeline-inline-graph | FileCheck %s --check-prefix=INLINE

// One parameter used by two layers: its gradient is yielded in two parts, the sum over layers is gone. The encoder's
// output `h` is an edge to each of its readers.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["a", "b"]
// CHECK: pipeline.node "a.F" {{.*}} layer 0
// CHECK: pipeline.node "b.F" {{.*}} layer 1
// CHECK: %[[D1:.*]] = pipeline.node "b.W" {{.*}} layer 1
// CHECK: %[[D0:.*]] = pipeline.node "a.W" {{.*}} layer 0
// CHECK: pipeline.yield %{{.*}}, %[[D0]], %[[D1]] results [0, 1, 1]
// CHECK-NOT: arith.addf {{.*}} tensor<4x4xf32>

// INLINE: arith.addf {{.*}} : tensor<4x4xf32>
func.func @step(%w: tensor<4x4xf32> {pipeline.role = "parameter"}, %x: tensor<4x4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a)
  %y = linalg.matmul ins(%h, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#b)
  %es = tensor.empty() : tensor<f32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce ins(%y : tensor<4x4xf32>) outs(%zs : tensor<f32>) dimensions = [0, 1]
    (%in: f32, %out: f32) {
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    } loc(#b)
  %d1 = linalg.matmul ins(%h, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#bt)
  %g = linalg.matmul ins(%y, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#bt)
  %d0 = linalg.matmul ins(%x, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#at)
  %d = arith.addf %d0, %d1 : tensor<4x4xf32>
  return %loss, %d : tensor<f32>, tensor<4x4xf32>
}
#a = loc("jit(step)/jvp(a)/dot_general")
#b = loc("jit(step)/jvp(b)/dot_general")
#at = loc("jit(step)/transpose(jvp(a))/dot_general")
#bt = loc("jit(step)/transpose(jvp(b))/dot_general")
