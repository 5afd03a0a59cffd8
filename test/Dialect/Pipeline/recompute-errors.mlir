// RUN: pp-opt %s --split-input-file --verify-diagnostics --pipeline-apply-recompute

// A plan may have been made for other bodies.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{'a.F' has 1 levels, and its stage wants level 2; plan with the levels that it offers}}
  %h = pipeline.node "a.F" @f phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [-1], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "a.B" @f phase B layer 0 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %b results [0] : tensor<4xf32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0] {levels = array<i64: 2>}
}

// -----

// Only a layer with a backward can recompute.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  // expected-error @below {{'a.F' has levels and no backward}}
  %h = pipeline.node "a.F" @f phase F layer 0 (%x) {levels = [#pipeline.level<forward = @f, again = @f, results = [0],
      inputs = [-1], remade = [0]>]} : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0] {levels = array<i64: 1>}
}
