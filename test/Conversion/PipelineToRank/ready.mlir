// Ready-first execution: a lane for each kind and stage, rings as deep as the credits.
// RUN: pp-opt %s -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @f(%w: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}
func.func private @loss(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<f32>) {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<16xf32> to tensor<f32>
  return %x, %0 : tensor<16xf32>, tensor<f32>
}
func.func private @b(%k: tensor<16xf32>, %d: tensor<16xf32>) -> tensor<16xf32> {
  return %d : tensor<16xf32>
}
pipeline.graph @step(%w: tensor<16xf32> {pipeline.role = "parameter"}, %x: tensor<16xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<16xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1, %l = pipeline.node "b.F" @loss phase F layer 1 (%0) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<f32>)
  %2 = pipeline.node "b.I" @b phase I layer 1 (%0, %1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %3 = pipeline.node "a.W" @b phase W layer 0 (%0, %2) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  pipeline.yield %l, %3 results [0, 1] : tensor<f32>, tensor<16xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 3 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
pipeline.schedule @s of @plan kind "1f1b" credits [2, 1] {
  pipeline.order 0 <0F0, 0F1, 0B0, 0F2, 0B1, 0B2>
  pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1F2, 1B2>
}
// The input of stage 1 is kept for its backward: its ring has a slot for its credit and one for the next message.
// CHECK-DAG: rank.channel @a.F.0.to1 from 0 to 1 depth 2 : memref<16xf32>
// CHECK-DAG: rank.channel @b.I.0.to0 from 1 to 0 depth 2 : memref<16xf32>
// CHECK-LABEL: rank.program @step.0 rank 0 device "d0" of @step microbatches 3 only
// CHECK: rank.buffer "a.F.0" stash depth 2 : memref<16xf32>
// Backwards first, each kind in the order of its microbatches; a backward follows its forward.
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1
// CHECK: %[[ROW:.*]] = rank.choose lanes [3, 3] turns [0, 1, 2, 3, 4, 5] after [0, 1]
// CHECK: %[[CASE:.*]], %[[M:.*]] = rank.table[%[[ROW]]] cases [0, 0, 0, 1, 1, 1] microbatches [0, 1, 2, 0, 1, 2]
// CHECK: scf.index_switch %[[CASE]]
// CHECK: rank.action B stage 0 microbatch %[[M]]
// CHECK: rank.action F stage 0 microbatch %[[M]]
// CHECK: rank.action U
