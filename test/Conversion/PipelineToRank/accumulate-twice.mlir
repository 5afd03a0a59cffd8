// Two results of one node that are parts of one gradient: one accumulator, to which the body adds both in turn. Two arguments
// would be the same memory, but kernels assume that arguments do not alias.
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @layer.F(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
  %0 = tensor.empty() : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @layer.B(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  return %w, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %b: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean"})
    attributes {layers = ["layer"]} {
  %l = pipeline.node "layer.F" @layer.F phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %one, %other, %two = pipeline.node "layer.B" @layer.B phase B layer 0 (%w, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  pipeline.yield %l, %one, %two, %other results [0, 1, 1, 2] : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
}

// CHECK-LABEL: func.func private @layer.B.sum
// CHECK-SAME: %[[X:[[:alnum:]]+]]: tensor<4xf32>, %[[Y:[[:alnum:]]+]]: tensor<4xf32>,
// CHECK-SAME: %[[DW:[[:alnum:]]+]]: tensor<4xf32> {rank.accumulate}, %[[DB:[[:alnum:]]+]]: tensor<4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[ONE:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) outs(%[[DW]] : tensor<4xf32>)
// CHECK: %[[TWO:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<4xf32>) outs(%[[ONE]] : tensor<4xf32>)
// CHECK: %[[OTHER:.*]] = linalg.generic {{.*}} outs(%[[DB]] : tensor<4xf32>)
// CHECK: return %[[TWO]], %[[OTHER]]

// CHECK-LABEL: rank.program @step.0
// CHECK: rank.call @layer.B.sum {{.*}} accumulate(%[[W:.*]], %[[B:.*]] : memref<4xf32>, memref<4xf32>)
