// An optimizer that combines tensors of two ranks, and then values that depend on the result: two rounds of messages.
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @first(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @second(%v: tensor<4xf32>, %w: tensor<4xf32>, %h: tensor<4xf32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero, %h, %h : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @back(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}
// w is also read by the second layer.
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "v"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean", pipeline.name = "v"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "first" @first phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l, %g, %dv = pipeline.node "second" @second phase F layer 1 (%v, %w, %h)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
  %dw = pipeline.node "back" @back phase B layer 0 (%w, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %dw, %dv results [0, 1, 2] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

#vector = affine_map<(d0) -> (d0)>
#number = affine_map<(d0) -> ()>
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"},
                  %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 1, pipeline.name = "v"},
                  %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.name = "dw"},
                  %dv: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.name = "dv"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}, tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 1}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %mean = arith.addf %dw, %dv : tensor<4xf32>
  %uw = arith.mulf %dw, %mean : tensor<4xf32>
  %uv = arith.mulf %dv, %mean : tensor<4xf32>
  %sw = linalg.dot ins(%uw, %uw : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %sv = linalg.dot ins(%uv, %uv : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %norm = arith.addf %sw, %sv : tensor<f32>
  %new_w = linalg.generic {indexing_maps = [#vector, #number, #vector], iterator_types = ["parallel"]}
      ins(%uw, %norm : tensor<4xf32>, tensor<f32>) outs(%w : tensor<4xf32>) {
  ^bb0(%g: f32, %s: f32, %p: f32):
    %change = arith.mulf %g, %s : f32
    %new = arith.subf %p, %change : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %new_w, %v : tensor<4xf32>, tensor<4xf32>
}

// Both ranks send their gradients. From these each computes a sum of squares, and only rank 0 needs both sums: rank 1 sends its
// own, and gets none.
// CHECK: rank.channel @update.0.to1 from 0 to 1 depth 1 once : memref<4xf32>
// CHECK: rank.channel @update.1.to0 from 1 to 0 depth 1 once : memref<4xf32>
// CHECK-NOT: rank.channel @update.2
// CHECK: rank.channel @update.3.to0 from 1 to 0 depth 1 once : memref<1xf32>
// CHECK-LABEL: rank.program @step.0
// CHECK: rank.call @update.sums.0 ins
// CHECK: rank.send @update.0.to1
// CHECK: %[[G:.*]] = rank.recv @update.1.to0
// CHECK: rank.call @update.sums.0.1 ins({{.*}}%[[G]]
// CHECK: %[[N:.*]] = rank.recv @update.3.to0
// CHECK: rank.call @update.0 ins({{.*}}%[[N]]
// Both ranks send an unchanged gradient, by one function.
// CHECK-LABEL: rank.program @step.1
// CHECK: rank.call @update.sums.0 ins({{.*}} node "update.sums.1"
// CHECK: rank.send @update.1.to0
// CHECK: rank.recv @update.0.to1
// CHECK: rank.call @update.sums.1.1 ins
// CHECK: rank.send @update.3.to0
