// RUN: pp-opt %s -pipeline-partition="stages=2 max-replicas=1" -pipeline-schedule=kind=gpipe | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule | FileCheck %s --check-prefix=ALONE
// RUN: not pp-opt %s -pipeline-partition=stages=3 2>&1 | FileCheck %s --check-prefix=STAGES

// An imported step needs no annotation: graph, costs and partition come first. By default the plan is the fastest
// that can be lowered, for a step as small as this one on one device.
// ALONE: pipeline.stage 0 on [@d0] layers [0, 1]
// ALONE: pipeline.order 0 <0F0, 0F1>
// STAGES: error: 3 stages need at least 3 layers, the graph has 2
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 2 : i64} {
  // CHECK: pipeline.graph @step
  // CHECK: pipeline.node "l0.F" {{.*}} cost <flops = 1152, read = 512, written = 256, seconds
  // CHECK: pipeline.cluster @local
  // CHECK: pipeline.program @plan of @step on @local microbatches 2
  // CHECK: pipeline.stage 0 on [@d0] layers [0]
  // CHECK: pipeline.stage 1 on [@d1] layers [1]
  // CHECK: pipeline.boundary "l0.F" result 0 from 0 to 1 : tensor<8x8xf32>
  // CHECK: pipeline.schedule @gpipe of @plan kind "gpipe" {
  // CHECK-NEXT: pipeline.order 0 <0F0, 0F1>
  // CHECK-NEXT: pipeline.order 1 <1F0, 1F1>
  func.func @step(%w: tensor<8x8xf32> {pipeline.role = "parameter"}, %v: tensor<8x8xf32> {pipeline.role = "parameter"},
                  %x: tensor<8x8xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64})
      -> (tensor<8x8xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.batch_dim = 0 : i64}) {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x8xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %0 = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/l0/dot")
    %1 = arith.addf %0, %0 : tensor<8x8xf32> loc("jit(step)/l0/add")
    %2 = arith.mulf %1, %1 : tensor<8x8xf32> loc("jit(step)/l0/mul")
    %3 = linalg.matmul ins(%2, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(step)/l1/dot")
    return %3 : tensor<8x8xf32>
  }
}
