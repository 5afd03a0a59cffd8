// Reasons why replicas cannot work on slices, each with a solution.
// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-split-replicas

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{gives its replicas 5 samples, a microbatch has 4}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 3, 2>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %shape = arith.constant dense<[4, 8]> : tensor<2xindex>
  // expected-note @below {{no rule says how rows of the batch go through 'tensor.reshape'}}
  %0 = tensor.reshape %x(%shape) : (tensor<4x8xf32>, tensor<2xindex>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{cannot be sliced: layer 'a' mixes rows of the batch; leave out 'rows' of the stage, so that its replicas take whole microbatches in turn}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 2, 2>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// expected-note @below {{the step is declared here}}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "constant"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{cannot be sliced: the step has no batch argument}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 2, 2>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{shares device @d2 with stage 1, which has another list of devices; a stage whose replicas work on slices shares all of its devices, in the same order, or none}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 2, 2>}
  // expected-note @below {{the other stage is declared here}}
  pipeline.stage 1 on [@d2] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{node 'b.F' has no body; a graph of costs alone can be planned but not run}}
  %1 = pipeline.node "b.F"   phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 2, 2>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{rows must have a number for each device, got 1 for 2}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 4>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{rows of a replica must be at least 1, got 0}}
  pipeline.stage 0 on [@d0, @d2] layers [0] {rows = array<i64: 4, 0>}
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

func.func private @a.F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
pipeline.graph @step(%x: tensor<4x8xf32> {pipeline.role = "batch"}) -> (tensor<4x8xf32> {pipeline.role = "output"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = pipeline.node "b.F" @a.F phase F layer 1 (%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  pipeline.yield %1 results [0] : tensor<4x8xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @below {{replica_of must be a stage, the number of the replica, a count above it, its samples and all samples}}
  pipeline.stage 0 on [@d0] layers [0] {replica_of = array<i64: 0, 2, 2, 1, 4>}
  pipeline.stage 1 on [@d1] layers [1]
}
