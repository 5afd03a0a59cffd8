// Parameters that replicas cannot average.
// RUN: pp-opt %s -split-input-file -verify-diagnostics "-pipeline-schedule=kind=1f1b" "-pipeline-delay-averaging=every=4 delay=1" -lower-pipeline-to-rank

// Two stages use w, and only one has replicas.
func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @l(%w: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero, %h : tensor<f32>, tensor<4xf32>
}
// expected-error @below {{parameter 'w' cannot be averaged: several stages use it, on ranks [0, 2] and [1], but have different replicas; give them the same replicas and samples, or put its layers on one stage}}
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
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
  pipeline.stage 1 on [@d2] layers [1]
}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"},
                  %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.name = "dw"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  %new = arith.subf %w, %dw : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// The layer with replicas has no gradient.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @loss(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %h, %zero : tensor<4xf32>, tensor<f32>
}
func.func private @l(%w: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  return %h : tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" @f phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k, %l = pipeline.node "b.F" @loss phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %g = pipeline.node "b.B" @l phase B layer 1 (%w, %k) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
// expected-error @below {{there is nothing to average: no stage with a gradient has replicas; give a plan with some, such as "[0,3)x2", and buckets of at least 1 byte}}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
  pipeline.stage 1 on [@d2] layers [1]
}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"},
                  %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.name = "dw"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  %new = arith.subf %w, %dw : tensor<4xf32>
  return %new : tensor<4xf32>
}
