// The ranks of a replica sum the gradient of a parameter that two stages use; each updates its copy, and all copies are averaged.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=1" -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

// CHECK: rank.collective @average.0 among [0, 1, 2, 3] : memref<16xf32>
// CHECK-NEXT: rank.collective @gradients.0.rank0 among [0, 1] : memref<16xf32>
// CHECK-NEXT: rank.collective @gradients.0.rank2 among [2, 3] : memref<16xf32>
// CHECK-LABEL: rank.program @step.1
// The weight is that of half of the microbatches times that of one of two copies.
// CHECK: rank.buffer "w" parameter 0 own {{[0-9]+}} weight 2.500000e-01
// CHECK: rank.buffer "gradient/w.part1" gradient 1 weight 2.500000e-01
// CHECK: rank.all_reduce @gradients.0.rank0(%gradient.w.part1) at
// CHECK: rank.action U
// CHECK: rank.await_reduced @gradients.0.rank0
// CHECK: rank.combine mean
// CHECK: rank.call @update.0
// CHECK: rank.average @average.0(%w) {{.*}} weight 2.500000e-01 turns 2
func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @l(%w: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero, %h : tensor<f32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l, %g = pipeline.node "b.F" @l phase F layer 1 (%w, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %dw = pipeline.node "a.B" @f phase B layer 0 (%w, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %dw, %g results [0, 1, 1] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
  pipeline.stage 1 on [@d2, @d3] layers [1]
}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"},
                  %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.name = "dw"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  %new = arith.subf %w, %dw : tensor<4xf32>
  return %new : tensor<4xf32>
}
