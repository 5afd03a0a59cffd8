// RUN: pp-opt %s -split-input-file -verify-diagnostics -lower-pipeline-to-rank

// The parser reads actions; whether they are those of the program is checked by the passes that use a schedule.

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %k results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'0X1' is not an action; write stage, kind (F, B, I, W, R or U) and microbatch, as in 2F0}}
  pipeline.order 0 <0F0, 0X1>
  pipeline.order 1 <1F0, 1F1>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'F0' is not an action; write stage, kind (F, B, I, W, R or U) and microbatch, as in 2F0}}
  pipeline.order 0 <F0>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'0U1' is not an action; an update has no microbatch, write 0U}}
  pipeline.order 0 <0F0, 0U1>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'0 F1' is not an action}}
  pipeline.order 0 <0F0, 0 F1>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'0F99999999999999999999' is not an action}}
  pipeline.order 0 <0F99999999999999999999>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{integer value too large}}
  pipeline.order 0 <99999999999999999999F0>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'-1F0' is not an action}}
  pipeline.order 0 <-1F0>
}

// -----

pipeline.schedule @mine of @plan kind "gpipe" {
  // expected-error @+1 {{'(0B0, 1F1)' is not a pair; write a forward, then a backward of another microbatch or stage, as in (3F1, 4B0)}}
  pipeline.order 0 <0F0, (0B0, 1F1)>
}

// -----

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %k results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// expected-error @+2 {{schedule lacks 1F0}}
// expected-note @+1 {{rank 0, step 0: [0F0] 0F1}}
pipeline.schedule @mine of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}
