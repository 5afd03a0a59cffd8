// A parameter used by the first and the last stage: a copy on each, and its gradient in two parts. The part of the
// last stage travels once per step, after the last backward; the owner, the stage of the first use, adds it.
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @embed.F(%e: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @head.F(%e: tensor<8x4xf32>, %h: tensor<4xf32>) -> tensor<f32> {
  %0 = tensor.empty() : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @head.B(%e: tensor<8x4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  return %h, %e : tensor<4xf32>, tensor<8x4xf32>
}
func.func private @embed.B(%dh: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = tensor.empty() : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
pipeline.graph @step(%e: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.name = "e"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<8x4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "e"})
    attributes {layers = ["embed", "head"]} {
  %h = pipeline.node "embed.F" @embed.F phase F layer 0 (%e) : (tensor<8x4xf32>) -> tensor<4xf32>
  %l = pipeline.node "head.F" @head.F phase F layer 1 (%e, %h) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<f32>
  %dh, %de1 = pipeline.node "head.B" @head.B phase B layer 1 (%e, %h) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>)
  %de0 = pipeline.node "embed.B" @embed.B phase B layer 0 (%dh) : (tensor<4xf32>) -> tensor<8x4xf32>
  pipeline.yield %l, %de0, %de1 results [0, 1, 1] : tensor<f32>, tensor<8x4xf32>, tensor<8x4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

// CHECK: rank.channel @gradient.1.from1 from 1 to 0 depth 1 once : memref<8x4xf32>

// CHECK-LABEL: rank.program @step.0
// CHECK: %e = rank.buffer "e" parameter 0 : memref<8x4xf32>
// CHECK: %gradient.e = rank.buffer "gradient/e" gradient 1 : memref<8x4xf32>
// CHECK: %[[DE:[[:alnum:]]+]] = rank.slot %gradient.e
// CHECK: rank.zero %[[DE]]
// CHECK: rank.call @embed.B.sum {{.*}} accumulate(%[[DE]] : memref<8x4xf32>)
// CHECK: rank.action U stage 0 microbatch %c0
// CHECK-NEXT: %[[PART:[[:alnum:]]+]] = rank.recv @gradient.1.from1[%c0]
// CHECK-NEXT: rank.add %[[PART]] into %[[DE]]
// CHECK-NEXT: rank.release_channel @gradient.1.from1[%c0]
// CHECK-NEXT: rank.combine mean %[[DE]] over %M

// CHECK-LABEL: rank.program @step.1
// CHECK: %e = rank.buffer "e" parameter 0 : memref<8x4xf32>
// A part of a gradient is not a result, so it has no position.
// CHECK: %gradient.e.part1 = rank.buffer "gradient/e.part1" gradient : memref<8x4xf32>
// CHECK: %[[DE:[[:alnum:]]+]] = rank.slot %gradient.e.part1
// CHECK: rank.zero %[[DE]]
// CHECK: rank.action U stage 1 microbatch %c0
// CHECK-NEXT: %[[SLOT:[[:alnum:]]+]] = rank.claim @gradient.1.from1[%c0]
// CHECK-NEXT: rank.copy %[[DE]] to %[[SLOT]]
// CHECK-NEXT: rank.send @gradient.1.from1[%c0]
// CHECK-NEXT: rank.combine mean %{{.*}} over %M : memref<f32>
