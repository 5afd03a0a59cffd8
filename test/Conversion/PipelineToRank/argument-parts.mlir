// Parts of a result that are arguments: each is added once.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

// CHECK-LABEL: rank.program @step.0
// CHECK: %[[A:.*]] = rank.buffer "a" batch 0
// CHECK: %[[B:.*]] = rank.buffer "b" batch 1
// CHECK: rank.action F
// CHECK-DAG: %[[FIRST:.*]] = rank.slot %[[A]]
// CHECK-DAG: %[[SECOND:.*]] = rank.slot %[[B]]
// CHECK-COUNT-2: rank.add
// CHECK-NOT: rank.add
func.func private @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
pipeline.graph @step(%a: tensor<f32> {pipeline.role = "batch", pipeline.name = "a"}, %b: tensor<f32> {pipeline.role = "batch", pipeline.name = "b"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "sum"}, tensor<f32> {pipeline.role = "output"})
    attributes {layers = ["a"]} {
  %l = pipeline.node "a.F" @f phase F layer 0 (%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  pipeline.yield %a, %b, %l results [0, 0, 1] : tensor<f32>, tensor<f32>, tensor<f32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
}
