// RUN: pp-opt %s -lower-pipeline-to-rank -split-input-file -verify-diagnostics

// Updates that are refused; every case has the same step, of two layers with one parameter each.
func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{argument 0 of @update, '', must have a role: parameter, gradient, state or constant; import the optimizer beside the step}}
func.func @update(%w: tensor<4xf32>)
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<4xf32>
}

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{argument 0 of @update, 'w', must name, by 'pipeline.of', a parameter of the step with the same 'pipeline.slice', if any}}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 7, pipeline.name = "w"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<4xf32>
}

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{argument 0 of @update, 'x', belongs to argument 2 of the step, which has no gradient}}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 2, pipeline.name = "x"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<4xf32>
}

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{argument 0 of @update, 'w', has type 'tensor<2xf32>', argument 0 of the step has 'tensor<4xf32>'}}
func.func @update(%w: tensor<2xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"})
    -> (tensor<2xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<2xf32>
}

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{result 1 of @update must replace one parameter or state of its type, the argument that 'pipeline.of' names}}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}, %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}, tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w, %dw : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @a(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%v: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %v: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "sum"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "sum"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a" @a phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g, %dv = pipeline.node "b" @b phase F layer 1 (%v, %h) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
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
// expected-error @+1 {{@update takes parameter 'w', but not its gradient; give it both, or neither}}
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<4xf32>
}
