// Programs that cannot be lowered, and their errors.
// RUN: pp-opt %s -split-input-file -lower-pipeline-to-rank -verify-diagnostics

// A graph that has only costs, no bodies.
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  // expected-error @below {{node 'n' has no body; a graph of costs alone can be planned but not run}}
  %0 = pipeline.node "n" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// A body that is only declared.
func.func private @id(tensor<4xf32>) -> tensor<4xf32>
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  // expected-error @below {{body @id must be a function of one block}}
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// A schedule of fewer ranks than there are devices.
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
}
// expected-error @below {{orders 1 ranks, its program has 2}}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F1, 0F0>
}

// -----

// A mean of integers.
func.func private @id(%x: tensor<4xi32>) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}
// expected-error @below {{result 0 is combined by "mean" and must be of floats, got 'tensor<4xi32>'; use "concat" or "last"}}
pipeline.graph @step(%x: tensor<4xi32> {pipeline.role = "batch"}) -> (tensor<4xi32> {pipeline.role = "output", pipeline.combine = "mean"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xi32>) -> tensor<4xi32>
  pipeline.yield %0 results [0] : tensor<4xi32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// A mean of integers that are an argument.
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{result 1 is combined by "mean" and must be of floats, got 'tensor<4xi32>'; use "concat" or "last"}}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}, %y: tensor<4xi32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}, tensor<4xi32> {pipeline.role = "output", pipeline.combine = "mean"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0, %y results [0, 1] : tensor<4xf32>, tensor<4xi32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// A sum of truth values.
func.func private @id(%x: tensor<4xi1>) -> tensor<4xi1> {
  return %x : tensor<4xi1>
}
// expected-error @below {{result 0 is combined by "sum" and must be of numbers, got 'tensor<4xi1>'; use "concat" or "last"}}
pipeline.graph @step(%x: tensor<4xi1> {pipeline.role = "batch"}) -> (tensor<4xi1> {pipeline.role = "output", pipeline.combine = "sum"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xi1>) -> tensor<4xi1>
  pipeline.yield %0 results [0] : tensor<4xi1>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// A gradient in parts that is not summed.
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{result 0 comes in parts and is combined by "concat"; parts are summed once per step, use "mean" or "sum"}}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "parameter"}) -> (tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pipeline.node "o" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0, %1 results [0, 0] : tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// An argument without a role.
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{argument 0 has role "", for which a rank has no buffer}}
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}

// -----

// Two schedules.
// expected-error @below {{needs one 'pipeline.schedule', got 2}}
module {
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %0 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}
pipeline.schedule @t of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
}
}

// -----

// A rank that runs a stage of another device.
func.func private @id(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "n" @id phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pipeline.node "m" @id phase F layer 1 (%0) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %1 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-note @below {{the stage is declared here; ranks are counted by the stages' first devices}}
  pipeline.stage 1 on [@d1] layers [1]
}
// expected-error @below {{runs stage 1 on rank 0, device @d0, where it does not lie}}
pipeline.schedule @s of @plan kind "gpipe" {
  pipeline.order 0 <1F0, 1F1>
  pipeline.order 1 <0F0, 0F1>
}
