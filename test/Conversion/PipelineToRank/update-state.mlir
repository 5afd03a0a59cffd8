// The step reads state of the optimizer, a scale of the loss: every rank has it and computes the next one, from numbers of all
// ranks that are joined in one array.
// RUN: pp-opt %s -split-input-file -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -verify-diagnostics | FileCheck %s

func.func private @first(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @second(%scale: tensor<f32>, %v: tensor<4xf32>, %h: tensor<4xf32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  return %scale, %h, %h : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @back(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "v"},
                     %scale: tensor<f32> {pipeline.role = "state", pipeline.name = "state/scale"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean", pipeline.name = "v"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "first" @first phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l, %g, %dv = pipeline.node "second" @second phase F layer 1 (%scale, %v, %h)
      : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
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
                  %dv: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.name = "dv"},
                  %scale: tensor<f32> {pipeline.role = "state", pipeline.of = 2, pipeline.name = "state/scale"},
                  %count: tensor<i32> {pipeline.role = "state", pipeline.name = "state/count"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}, tensor<f32> {pipeline.role = "state", pipeline.of = 4},
        tensor<i32> {pipeline.role = "state", pipeline.of = 5}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sw = linalg.dot ins(%dw, %dw : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %sv = linalg.dot ins(%dv, %dv : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %both = tensor.empty() : tensor<2xf32>
  %one = tensor.insert_slice %sw into %both[0] [1] [1] : tensor<f32> into tensor<2xf32>
  %two = tensor.insert_slice %sv into %one[1] [1] [1] : tensor<f32> into tensor<2xf32>
  %norm = linalg.dot ins(%two, %two : tensor<2xf32>, tensor<2xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %next = arith.mulf %scale, %norm : tensor<f32>
  %new = linalg.generic {indexing_maps = [#vector, #number, #vector], iterator_types = ["parallel"]}
      ins(%dw, %scale : tensor<4xf32>, tensor<f32>) outs(%w : tensor<4xf32>) {
  ^bb0(%g: f32, %s: f32, %p: f32):
    %change = arith.mulf %g, %s : f32
    %moved = arith.subf %p, %change : f32
    linalg.yield %moved : f32
  } -> tensor<4xf32>
  return %new, %next, %count : tensor<4xf32>, tensor<f32>, tensor<i32>
}

// The scale is one argument of the step; the count is another one, after all others.
// CHECK-LABEL: rank.step @step(
// CHECK-SAME: tensor<f32> {pipeline.name = "state/scale", pipeline.role = "state"}
// CHECK-SAME: tensor<i32> {pipeline.name = "state/count", pipeline.position = 4 : i64, pipeline.role = "state"}
// CHECK-SAME: tensor<f32> {pipeline.combine = "last", pipeline.name = "state/scale", pipeline.of = 2 : i64
// CHECK: rank.channel @update.0.to1 from 0 to 1 depth 1 once : memref<1xf32>
// CHECK: rank.channel @update.1.to0 from 1 to 0 depth 1 once : memref<1xf32>
// CHECK: rank.program @step.0
// CHECK: rank.buffer "state/scale" state 2
// CHECK: rank.program @step.1
// CHECK: rank.buffer "state/scale" state 2

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%scale: tensor<f32>, %v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %scale: tensor<f32> {pipeline.role = "state"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%scale, %v, %h)
      : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %dw = pipeline.node "c" @a phase B layer 0 (%w, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %dw, %dv results [0, 1] : tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// expected-error @+1 {{state 'scale' is computed from values of rank 0 alone, but the step reads it on rank 1; compute it from numbers of all ranks, such as whether all gradients are finite}}
func.func @update(
    %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0},
    %scale: tensor<f32> {pipeline.role = "state", pipeline.of = 2, pipeline.name = "scale"})
    -> (tensor<f32> {pipeline.role = "state", pipeline.of = 1}) {
  %0 = linalg.dot ins(%dw, %dw : tensor<4xf32>, tensor<4xf32>) outs(%scale : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
