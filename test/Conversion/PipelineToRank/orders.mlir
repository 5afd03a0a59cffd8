// Orders as given: several stages on a rank, separate I and W, a table if nothing repeats.
// RUN: pp-opt %s -split-input-file -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

// Two chunks per rank. What stage 1 makes for stage 2 stays on rank 1, kept from one action to the other; nothing is sent.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
pipeline.graph @v(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %0 = pipeline.node "a" @f phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pipeline.node "b" @f phase F layer 1 (%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = pipeline.node "c" @f phase F layer 2 (%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = pipeline.node "d" @f phase F layer 3 (%2) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %3 results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @v on @local microbatches 6 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d1] layers [2]
  pipeline.stage 3 on [@d0] layers [3]
}
pipeline.schedule @s of @plan kind "hand" {
  pipeline.order 0 <0F0, 0F1, 0F2, 0F3, 0F4, 0F5, 3F0, 3F1, 3F2, 3F3, 3F4, 3F5>
  pipeline.order 1 <1F0, 1F1, 2F0, 2F1, 1F2, 1F3, 2F2, 2F3, 1F4, 1F5, 2F4, 2F5>
}
// CHECK-DAG: rank.channel @a.0.to1.stage1 from 0 to 1 depth 2 : memref<4xf32>
// CHECK-DAG: rank.channel @c.0.to0.stage3 from 1 to 0 depth 2 : memref<4xf32>
// CHECK-LABEL: rank.program @v.0 rank 0 device "d0" of @v microbatches 6 only schedule "hand"
// CHECK-LABEL: rank.program @v.1
// CHECK: %[[KEPT:.*]] = rank.buffer "b.0.stage2" stash depth 2 : memref<4xf32>
// The loop runs two microbatches per iteration.
// CHECK: scf.for %[[M:.*]] = %c0 to {{.*}} step %c2
// CHECK: rank.action F stage 1 microbatch %[[M]]
// CHECK: rank.acquire %[[KEPT]]
// CHECK: rank.action F stage 1
// CHECK: rank.action F stage 2 microbatch %[[M]]
// CHECK: rank.slot %[[KEPT]]
// CHECK: rank.release %[[KEPT]]
// CHECK: rank.action F stage 2
// CHECK-NOT: rank.action

// -----

// Nothing repeats, so the order is a table, with every case once. B is I, then W, if a stage also runs these separately.
func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<f32>
  return %x, %0 : tensor<4xf32>, tensor<f32>
}
func.func private @i(%k: tensor<4xf32>) -> tensor<4xf32> {
  return %k : tensor<4xf32>
}
pipeline.graph @table(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a"]} {
  %k, %l = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %d = pipeline.node "a.I" @i phase I layer 0 (%k) : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.W" @i phase W layer 0 (%d) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @table on @local microbatches 3 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "hand" {
  pipeline.order 0 <0F0, 0F2, 0I2, 0F1, 0B0, 0W2, 0B1>
}
// CHECK-LABEL: rank.program @table.0
// CHECK: %[[F:.*]] = rank.buffer "a.F.0" stash depth 3 : memref<4xf32>
// CHECK: %[[I:.*]] = rank.buffer "a.I.0" stash depth 3 : memref<4xf32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c7 step %c1
// CHECK: %[[CASE:.*]], %[[M:.*]] = rank.table[%[[ROW]]] cases [0, 0, 1, 0, 2, 3, 2] microbatches [0, 2, 2, 1, 0, 2, 1]
// CHECK: scf.index_switch %[[CASE]]
// CHECK: case 0
// CHECK: rank.action F stage 0 microbatch %[[M]]
// CHECK: case 1
// CHECK: rank.action I stage 0 microbatch %[[M]]
// CHECK: case 2
// CHECK: rank.action B stage 0 microbatch %[[M]]
// CHECK: rank.call @i{{.*}} node "a.I"
// CHECK: rank.call @i.sum{{.*}} node "a.W"
// CHECK: case 3
// CHECK: rank.action W stage 0 microbatch %[[M]]

// -----

// A stage on two ranks: two routes. Each rank sums its part of the gradient, and both sum the parts together, as soon as
// the last backward has added to it; the owner of the loss adds that of the other once.
func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @l(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<f32>
  return %x, %0 : tensor<4xf32>, tensor<f32>
}
func.func private @b(%k: tensor<4xf32>) -> tensor<4xf32> {
  return %k : tensor<4xf32>
}
pipeline.graph @twins(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat"}, tensor<4xf32> {pipeline.role = "output", pipeline.combine = "last"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %k, %l = pipeline.node "b.F" @l phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %d = pipeline.node "b.B" @b phase B layer 1 (%k) : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.B" @b phase B layer 0 (%d) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g, %k, %h results [0, 1, 2, 3] : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @twins on @local microbatches 2 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
  pipeline.stage 1 on [@d1, @d0] layers [1]
}
pipeline.schedule @s of @plan kind "hand" {
  pipeline.order 0 <0F0, 1F1, 1B1, 0B0>
  pipeline.order 1 <0F1, 1F0, 1B0, 0B1>
}
// CHECK-DAG: rank.channel @a.F.0.to1.stage1 from 0 to 1 depth 1 sparse : memref<4xf32>
// CHECK-DAG: rank.channel @a.F.0.to0.stage1.copy1 from 1 to 0 depth 1 sparse : memref<4xf32>
// CHECK-DAG: rank.channel @gradient.0.from1.copy1 from 0 to 1 depth 1 once : memref<f32>
// CHECK-DAG: rank.collective @gradients.0 among [0, 1] : memref<16xf32>
// CHECK-LABEL: rank.program @twins.0
// CHECK: %[[GRADIENT:.*]] = rank.buffer "gradient1" gradient 1
// CHECK: rank.buffer "loss0.part1.copy1" gradient : memref<f32>
// CHECK: rank.buffer "output2" output 2 depth all turns [1] of 2 : memref<4xf32>
// CHECK: rank.action F stage 0
// CHECK: rank.action F stage 1
// CHECK: rank.call {{.*}} node "a.B"
// CHECK: rank.all_reduce @gradients.0(%[[GRADIENT]]) at %{{.*}} of %c0
// CHECK: rank.action U stage 0
// CHECK: rank.send @gradient.0.from1.copy1
// CHECK: rank.await_reduced @gradients.0
// CHECK: rank.combine mean
// CHECK-LABEL: rank.program @twins.1
// CHECK: %[[PART:.*]] = rank.buffer "gradient1.part0.copy1" gradient : memref<4xf32>
// CHECK: rank.buffer "output2" output 2 depth all turns [0] of 2 : memref<4xf32>
// A result of the last microbatch is on one rank, which may also have slots for other microbatches.
// CHECK: rank.buffer "output3" output 3 depth all : memref<4xf32>
// CHECK: rank.call {{.*}} node "a.B"
// CHECK: rank.all_reduce @gradients.0(%[[PART]]) at %{{.*}} of %c1
// CHECK: rank.await_reduced @gradients.0
// CHECK: rank.combine mean

// -----

// The forward of microbatch 1 runs again: its backward reads what R made, and only F0 keeps anything.
func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<f32>
  return %x, %0 : tensor<4xf32>, tensor<f32>
}
func.func private @b(%k: tensor<4xf32>) -> tensor<4xf32> {
  return %k : tensor<4xf32>
}
pipeline.graph @again(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a"]} {
  %k, %l = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %g = pipeline.node "a.B" @b phase B layer 0 (%k) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @again on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
pipeline.schedule @s of @plan kind "hand" {
  pipeline.order 0 <0F0, 0F1, 0R1, 0B1, 0B0>
}
// CHECK-LABEL: rank.program @again.0
// CHECK: %[[FIRST:.*]] = rank.buffer "a.F.0" stash : memref<4xf32>
// CHECK: %[[AGAIN:.*]] = rank.buffer "a.F.0.1" stash : memref<4xf32>
// CHECK: rank.action F stage 0
// CHECK: rank.acquire %[[FIRST]]
// CHECK: rank.action F stage 0
// CHECK: rank.view
// CHECK: rank.action R stage 0
// CHECK: rank.acquire %[[AGAIN]]
// CHECK: rank.action B stage 0
// CHECK: rank.slot %[[AGAIN]]
