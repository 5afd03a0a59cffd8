// A receiver whose backward also reads a message holds it in the ring. Under window a sender runs four forwards
// further ahead than the next rank, which must take them before its gradients are read: it needs three slots for these.
// Every other order needs only one slot more than the receiver holds.
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=4 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=5 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=9 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=21 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=64 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=ONE
// RUN: pp-opt %s -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=EARLY

// CHECK: rank.channel @l0.F.0.to1 from 0 to 1 depth 9 :
// CHECK: rank.channel @l1.F.0.to2 from 1 to 2 depth 5 :
// CHECK: rank.channel @l2.F.0.to3 from 2 to 3 depth 3 :
// CHECK: rank.channel @l3.B.0.to2 from 3 to 2 depth 3 :
// CHECK: rank.channel @l2.B.0.to1 from 2 to 1 depth 3 :
// CHECK: rank.channel @l1.B.0.to0 from 1 to 0 depth 3 :
// ONE: rank.channel @l0.F.0.to1 from 0 to 1 depth 4 :
// ONE: rank.channel @l1.F.0.to2 from 1 to 2 depth 3 :
// ONE: rank.channel @l2.F.0.to3 from 2 to 3 depth 2 :
// ONE: rank.channel @l3.B.0.to2 from 3 to 2 depth 2 :
// ONE: rank.channel @l2.B.0.to1 from 2 to 1 depth 2 :
// ONE: rank.channel @l1.B.0.to0 from 1 to 0 depth 2 :
// EARLY: rank.channel @l0.F.0.to1 from 0 to 1 depth 6 :
// EARLY: rank.channel @l1.F.0.to2 from 1 to 2 depth 4 :
// EARLY: rank.channel @l2.F.0.to3 from 2 to 3 depth 2 :
// EARLY: rank.channel @l3.B.0.to2 from 3 to 2 depth 2 :
// EARLY: rank.channel @l2.B.0.to1 from 2 to 1 depth 2 :
// EARLY: rank.channel @l1.B.0.to0 from 1 to 0 depth 2 :

func.func private @layer.F(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @loss.F(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = tensor.empty() : tensor<f32>
  return %0, %x : tensor<f32>, tensor<4xf32>
}
func.func private @layer.B(%w: tensor<4xf32>, %k: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %d, %k : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w0: tensor<4xf32> {pipeline.role = "parameter"}, %w1: tensor<4xf32> {pipeline.role = "parameter"}, %w2: tensor<4xf32> {pipeline.role = "parameter"}, %w3: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 2, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 3, pipeline.combine = "mean"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %h0 = pipeline.node "l0.F" @layer.F phase F layer 0 (%w0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h1 = pipeline.node "l1.F" @layer.F phase F layer 1 (%w1, %h0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h2 = pipeline.node "l2.F" @layer.F phase F layer 2 (%w2, %h1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h3 = pipeline.node "l3.F" @layer.F phase F layer 3 (%w3, %h2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l, %d4 = pipeline.node "loss.F" @loss.F phase F layer 3 (%h3) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d3, %g3 = pipeline.node "l3.B" @layer.B phase B layer 3 (%w3, %h2, %d4) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d2, %g2 = pipeline.node "l2.B" @layer.B phase B layer 2 (%w2, %h1, %d3) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d1, %g1 = pipeline.node "l1.B" @layer.B phase B layer 1 (%w1, %h0, %d2) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d0, %g0 = pipeline.node "l0.B" @layer.B phase B layer 0 (%w0, %x, %d1) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  pipeline.yield %l, %g0, %g1, %g2, %g3 results [0, 1, 2, 3, 4] : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 8 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
  pipeline.stage 3 on [@d3] layers [3]
}
