// RUN: not pp-compile %s --cluster=local:1 --microbatches=2 --memory=1KiB -o %t.swx 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not pp-compile %s --cluster=local:1 --microbatches=2 --memory=5631 -o %t.swx 2>&1 | FileCheck %s --check-prefix=BYTE
// RUN: pp-compile %s --cluster=local:1 --microbatches=2 --memory=5632 -o %t.swx | FileCheck %s --check-prefix=FITS

// The planner counts what the arena will hold, temporaries of the bodies included: one byte less is refused.
// PLAN: error: no plan fits in memory; the best one fails: stage 0 needs 5.5 KiB on device d0, has 1.0 KiB
// BYTE: error: no plan fits in memory; {{.*}} or a device with 1 B more
// FITS: {{^ +0 +d0 .* 1024 +0 +5632 +5632$}}
func.func @step(%w: tensor<8x64xf32> {pipeline.role = "parameter"}, %v: tensor<64x8xf32> {pipeline.role = "parameter"},
                %x: tensor<4x8xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64})
    -> (tensor<4x8xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.batch_dim = 0 : i64}) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x64xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x64xf32>) outs(%z : tensor<4x64xf32>) -> tensor<4x64xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %y = linalg.fill ins(%c : f32) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.matmul ins(%0, %v : tensor<4x64xf32>, tensor<64x8xf32>) outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
