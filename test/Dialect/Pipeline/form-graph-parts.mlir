// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph %s --pipeline-inline-graph | FileCheck %s --check-prefix=INLINE

// An array is put together in one layer, whose node reads the parts from the layers that make them. An array with some of its
// parts would cross every layer between, and be copied in each.
// CHECK-LABEL: pipeline.graph @step
// CHECK: %[[A:.*]] = pipeline.node "h0.F" @h0.F phase F layer 0(
// CHECK: %[[B:.*]] = pipeline.node "h1.F" @h1.F phase F layer 1(%[[A]],
// CHECK: pipeline.node "h2.F" @h2.F phase F layer 2({{.*}}%[[A]]
// CHECK-LABEL: func.func private @h0.F
// CHECK-NOT: insert_slice
// CHECK-LABEL: func.func private @h1.F
// CHECK-NOT: insert_slice
// CHECK-LABEL: func.func private @h2.F
// CHECK-COUNT-3: insert_slice
// INLINE-COUNT-3: insert_slice
func.func @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}, %a: tensor<8x8xf32> {pipeline.role = "parameter"},
                %b: tensor<8x8xf32> {pipeline.role = "parameter"}, %c: tensor<8x8xf32> {pipeline.role = "parameter"})
    -> (tensor<3x4x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %all = tensor.empty() : tensor<3x4x8xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("h0/x")
  %1 = math.tanh %0 : tensor<4x8xf32> loc("h0/x")
  %p = tensor.insert_slice %1 into %all[0, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x8xf32> into tensor<3x4x8xf32>
  %2 = linalg.matmul ins(%1, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("h1/x")
  %3 = math.tanh %2 : tensor<4x8xf32> loc("h1/x")
  %q = tensor.insert_slice %3 into %p[1, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x8xf32> into tensor<3x4x8xf32>
  %4 = linalg.matmul ins(%3, %c : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc("h2/x")
  %5 = math.tanh %4 : tensor<4x8xf32> loc("h2/x")
  %r = tensor.insert_slice %5 into %q[2, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x8xf32> into tensor<3x4x8xf32>
  return %r : tensor<3x4x8xf32>
}
