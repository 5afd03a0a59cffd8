// RUN: pp-opt --pipeline-form-graph %s | FileCheck %s
// RUN: pp-opt --pipeline-form-graph %s --pipeline-inline-graph | FileCheck %s --check-prefix=INLINE

// Without scopes layers end where little is alive, after the operations that follow a contraction. Inside the second residual
// block the block's input is alive in addition to the branch, so there is no cut; the first block adds an argument, which every
// stage has, so there is one. An inference graph has forward nodes only.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["layer0", "layer1", "layer2"]
// CHECK: %[[A:.*]] = pipeline.node "layer0.F" @layer0.F phase F layer 0(
// CHECK-NEXT: %[[B:.*]] = pipeline.node "layer1.F" @layer1.F phase F layer 1(%[[A]],
// CHECK-NEXT: %[[C:.*]] = pipeline.node "layer2.F" @layer2.F phase F layer 2(%[[B]],
// CHECK-NEXT: pipeline.yield %[[C]] results [0]
// CHECK: func.func private @layer0.F
// CHECK: linalg.matmul
// CHECK: math.tanh
// CHECK: func.func private @layer1.F
// CHECK: arith.addf
// CHECK: func.func private @layer2.F
// CHECK-COUNT-2: linalg.matmul
// CHECK: arith.addf

// INLINE: func.func @step
// INLINE-COUNT-4: linalg.matmul
// INLINE-NOT: pipeline.node
func.func @step(%x: tensor<4x8xf32> {pipeline.role = "constant"}, %a: tensor<8x16xf32> {pipeline.role = "parameter"}, %b: tensor<16x8xf32> {pipeline.role = "parameter"},
                %c: tensor<8x16xf32> {pipeline.role = "parameter"}, %d: tensor<16x8xf32> {pipeline.role = "parameter"})
    -> (tensor<4x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = math.tanh %0 : tensor<4x16xf32>
  %2 = linalg.matmul ins(%1, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = arith.addf %2, %x : tensor<4x8xf32>
  %4 = linalg.matmul ins(%3, %c : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %5 = math.tanh %4 : tensor<4x16xf32>
  %6 = linalg.matmul ins(%5, %d : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = arith.addf %6, %3 : tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}
