// RUN: pp-opt --split-input-file --verify-diagnostics %s

// One case per constraint of device, link, program, boundary and schedule; the label stands above it.

// device_c1
pipeline.cluster @local {
  // expected-error @below {{memory, flops and bandwidth must be positive, got 0, 1.000000e+00 and 1.000000e+00}}
  pipeline.device @d0 class "cpu-core" memory 0 node 0 flops 1.0 bandwidth 1.0
}

// -----

// link_c1: two devices.
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0
  // expected-error @below {{must join two devices, got @d0 twice}}
  pipeline.link @d0 to @d0 bandwidth 1.0 latency 0.0
}

// -----

// link_c1: of this cluster.
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0
  // expected-error @below {{@d1 is not a device of the cluster}}
  pipeline.link @d0 to @d1 bandwidth 1.0 latency 0.0
}

// -----

// link_c2
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0
  // expected-error @below {{needs a positive bandwidth and a latency of at least 0, got 0.000000e+00 and 0.000000e+00}}
  pipeline.link @d0 to @d1 bandwidth 0.0 latency 0.0
}

// -----

// program_c1: the graph.
pipeline.cluster @local {}
// expected-error @below {{@step is not a graph}}
pipeline.program @plan of @step on @local microbatches 1 {}

// -----

// program_c1: the cluster.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
// expected-error @below {{@local is not a cluster}}
pipeline.program @plan of @step on @local microbatches 1 {}

// -----

// program_c1: microbatches.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local {}
// expected-error @below {{number of microbatches must be from 1 to 65536, got 0}}
pipeline.program @plan of @step on @local microbatches 0 {}

// -----

// program_c2
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{number must be 0, got 1}}
  pipeline.stage 1 on [@d0] layers [0]
}

// -----

// program_c3: a layer on no stage.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
// expected-error @below {{layer 1 ('b') lies on no stage}}
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
}

// -----

// program_c3: a layer on two stages.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{layer 0 lies on stage 0 already}}
  pipeline.stage 1 on [@d0] layers [0]
}

// -----

// program_c3: a layer that does not exist.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{layer must be from 0 to 0, got 1}}
  pipeline.stage 0 on [@d0] layers [0, 1]
}

// -----

// program_c4
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{@d1 is not a device of @local}}
  pipeline.stage 0 on [@d1] layers [0]
}

// -----

// program_c5: one stage twice.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{must join two stages, got 0 twice}}
  pipeline.boundary "a.F" result 0 from 0 to 0 : tensor<f32>
}

// -----

// program_c5: no such node.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{'b.F' is not a node of @step}}
  pipeline.boundary "b.F" result 0 from 0 to 1 : tensor<f32>
}

// -----

// program_c5: no such result.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{result must be less than 1, got 1}}
  pipeline.boundary "a.F" result 1 from 0 to 1 : tensor<f32>
}

// -----

// program_c5: another type.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{type must be 'tensor<f32>', got 'tensor<2xf32>'}}
  pipeline.boundary "a.F" result 0 from 0 to 1 : tensor<2xf32>
}

// -----

// program_c5: no such stage.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<f32>) -> tensor<f32>
  pipeline.yield %h results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{stage must be from 0 to 0, got 1}}
  pipeline.boundary "a.F" result 0 from 0 to 1 : tensor<f32>
}

// -----

// schedule_c1
// expected-error @below {{@plan is not a program}}
pipeline.schedule @s of @plan kind "1f1b" {}

// -----

// schedule_c2
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "1f1b" {
  // expected-error @below {{rank must be 0, got 1}}
  pipeline.order 1 <0F0>
}

// -----

// stage_c3
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{needs one level, 0 or more, for every layer, got 2 for 1}}
  pipeline.stage 0 on [@d0] layers [0] {levels = array<i64: 1, 0>}
}

// -----

// stage_c4
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{may offload only its own layers, each once, got 1}}
  pipeline.stage 0 on [@d0] layers [0] {offload = array<i64: 0, 1>}
}

// -----

// stage_c4: what is run again is not kept.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{runs its forward again and keeps nothing of it to offload; leave out 'recompute' or 'offload'}}
  pipeline.stage 0 on [@d0] layers [0] {offload = array<i64: 0>, recompute}
}

// -----

// program_c6: only some stages have a number.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0] {gang_stage = 0 : i64}
  // expected-error @below {{has no 'gang_stage', unlike the stage before; give it to all stages or to none}}
  pipeline.stage 1 on [@d0] layers [1]
}

// -----

// program_c6: the first has none.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @below {{has 'gang_stage', unlike the stage before}}
  pipeline.stage 1 on [@d0] layers [1] {gang_stage = 0 : i64}
}

// -----

// program_c6: the first is not 0.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  // expected-error @below {{'gang_stage' must be 0, got 1}}
  pipeline.stage 0 on [@d0] layers [0] {gang_stage = 1 : i64}
}

// -----

// program_c6: a number is left out.
pipeline.graph @step(%x: tensor<f32>) -> (tensor<f32>) attributes {layers = ["a", "b"]} {
  pipeline.yield %x results [0] : tensor<f32>
}
pipeline.cluster @local { pipeline.device @d0 class "cpu-core" memory 1 node 0 flops 1.0 bandwidth 1.0 }
pipeline.program @plan of @step on @local microbatches 1 {
  pipeline.stage 0 on [@d0] layers [0] {gang_stage = 0 : i64}
  // expected-error @below {{'gang_stage' must be 0, as that of the stage before, or 1, got 2}}
  pipeline.stage 1 on [@d0] layers [1] {gang_stage = 2 : i64}
}
