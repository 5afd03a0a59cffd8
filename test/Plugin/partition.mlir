// The partition in an unmodified mlir-opt: the pass computes missing results of earlier passes.
// REQUIRES: no-sanitizer
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pipeline-partition="cluster=local:2 microbatches=4 stages=2" %s | FileCheck %s

// CHECK: pipeline.graph @step
// CHECK: pipeline.cluster @local
// CHECK: pipeline.program {{.*}} microbatches 4
// CHECK-NEXT: pipeline.stage 0 on [@d0]
// CHECK-NEXT: pipeline.stage 1 on [@d1]
func.func @step(%w0: tensor<8x8xf32> {pipeline.role = "parameter"}, %w1: tensor<8x8xf32> {pipeline.role = "parameter"},
                %x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%start : tensor<4x8xf32>) -> tensor<4x8xf32> loc("a/dot")
  %1 = linalg.matmul ins(%0, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%start : tensor<4x8xf32>) -> tensor<4x8xf32> loc("b/dot")
  return %1 : tensor<4x8xf32>
}
