// A result that is an argument and has the value of the last microbatch: the replica that runs that microbatch writes it,
// once, and not the other one.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

// CHECK-LABEL: rank.program @turns.0
// CHECK-NOT: rank.buffer "output/x"
// CHECK-LABEL: rank.program @turns.1
// CHECK: %[[X:.*]] = rank.buffer "argument0" batch 0
// CHECK: %[[OUT:.*]] = rank.buffer "output/x" output 1
// CHECK: rank.action F
// CHECK: %[[SLOT:.*]] = rank.slot %[[X]]
// CHECK: %[[RESULT:.*]] = rank.slot %[[OUT]]
// CHECK-NEXT: rank.copy %[[SLOT]] to %[[RESULT]]
// CHECK-NEXT: }

func.func private @f(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<f32>
  return %0 : tensor<f32>
}
pipeline.graph @turns(%x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "last", pipeline.name = "x"})
    attributes {layers = ["a"]} {
  %l = pipeline.node "a.F" @f phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<f32>
  pipeline.yield %l, %x results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @turns on @local microbatches 4 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
}
