// A perceptron of two layers, forward and backward on two stages: messages, stashes and sums.
// RUN: pp-opt %s -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -lower-pipeline-to-rank -verify-rank-programs=microbatches=64 -o /dev/null

func.func private @layer0.F(%w: tensor<8x16xf32>, %x: tensor<32x8xf32>) -> (tensor<32x16xf32>, tensor<32x16xf32>) {
  %0 = tensor.empty() : tensor<32x16xf32>
  return %0, %0 : tensor<32x16xf32>, tensor<32x16xf32>
}
func.func private @layer1.F(%w: tensor<16x4xf32>, %h: tensor<32x16xf32>, %y: tensor<32x4xf32>) -> (tensor<f32>, tensor<32x4xf32>) {
  %0 = tensor.empty() : tensor<f32>
  return %0, %y : tensor<f32>, tensor<32x4xf32>
}
func.func private @layer1.B(%w: tensor<16x4xf32>, %h: tensor<32x16xf32>, %k: tensor<32x4xf32>) -> (tensor<32x16xf32>, tensor<16x4xf32>) {
  return %h, %w : tensor<32x16xf32>, tensor<16x4xf32>
}
func.func private @layer0.B(%x: tensor<32x8xf32>, %k: tensor<32x16xf32>, %dh: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %0 = tensor.empty() : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

pipeline.graph @step(%w0: tensor<8x16xf32> {pipeline.role = "parameter", pipeline.name = "w0"},
                     %w1: tensor<16x4xf32> {pipeline.role = "parameter", pipeline.name = "w1"},
                     %x: tensor<32x8xf32> {pipeline.role = "batch", pipeline.name = "x"},
                     %y: tensor<32x4xf32> {pipeline.role = "batch", pipeline.name = "y"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<8x16xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w0"},
        tensor<16x4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean", pipeline.name = "w1"})
    attributes {layers = ["layer0", "layer1"]} {
  %h, %k0 = pipeline.node "layer0.F" @layer0.F phase F layer 0 (%w0, %x) : (tensor<8x16xf32>, tensor<32x8xf32>) -> (tensor<32x16xf32>, tensor<32x16xf32>)
  %l, %k1 = pipeline.node "layer1.F" @layer1.F phase F layer 1 (%w1, %h, %y) : (tensor<16x4xf32>, tensor<32x16xf32>, tensor<32x4xf32>) -> (tensor<f32>, tensor<32x4xf32>)
  %dh, %dw1 = pipeline.node "layer1.B" @layer1.B phase B layer 1 (%w1, %h, %k1) : (tensor<16x4xf32>, tensor<32x16xf32>, tensor<32x4xf32>) -> (tensor<32x16xf32>, tensor<16x4xf32>)
  %dw0 = pipeline.node "layer0.B" @layer0.B phase B layer 0 (%x, %k0, %dh) : (tensor<32x8xf32>, tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  pipeline.yield %l, %dw0, %dw1 results [0, 1, 2] : tensor<f32>, tensor<8x16xf32>, tensor<16x4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.link @d0 to @d1 bandwidth 8.0e+09 latency 2.0e-06
}
pipeline.program @plan of @step on @local microbatches 4 plan #pipeline.plan<time = 4.12e-05 : f64, bound = 3.89e-05 : f64, planner = "balance"> {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.boundary "layer0.F" result 0 from 0 to 1 : tensor<32x16xf32>
  pipeline.boundary "layer1.B" result 0 from 1 to 0 : tensor<32x16xf32>
}
pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
  pipeline.order 0 <0F0, 0F1, 0B0, 0F2, 0B1, 0F3, 0B2, 0B3>
  pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1F2, 1B2, 1F3, 1B3>
}

// The loss and the gradients have become accumulators of the bodies; a changed body exists once.
// CHECK-NOT: func.func private @layer1.F(
// CHECK-LABEL: func.func private @layer1.F.sum
// CHECK-SAME: %[[ACC:[[:alnum:]_.]+]]: tensor<f32> {rank.accumulate}) -> (tensor<32x4xf32>, tensor<f32>)
// CHECK: %[[SUM:[[:alnum:]_.]+]] = linalg.generic {{.*}} outs(%[[ACC]] : tensor<f32>)
// CHECK: arith.addf %out, %in : f32
// CHECK: return %{{.*}}, %[[SUM]] : tensor<32x4xf32>, tensor<f32>

// CHECK: rank.step @step(tensor<8x16xf32> {{.*}}) -> (tensor<f32> {{.*}})
// CHECK: rank.channel @layer0.F.0.to1 from 0 to 1 depth 2 : memref<32x16xf32>
// CHECK: rank.channel @layer1.B.0.to0 from 1 to 0 depth 2 : memref<32x16xf32>

// CHECK-LABEL: rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "1f1b"
// CHECK-SAME: arena = 13312
// CHECK-NEXT: %w0 = rank.buffer "w0" parameter 0 : memref<8x16xf32>
// CHECK-NEXT: %x = rank.buffer "x" batch 2 depth all : memref<32x8xf32>
// CHECK-NEXT: %gradient.w0 = rank.buffer "gradient/w0" gradient 1 : memref<8x16xf32>
// CHECK-NEXT: %layer0.F.1 = rank.buffer "layer0.F.1" stash depth 2 : memref<32x16xf32>
// CHECK-NEXT: %workspace = rank.buffer "workspace" workspace : memref<0xi8>
// CHECK-NEXT: rank.entry (%[[M:[[:alnum:]_.]+]]) {
// CHECK: %[[DW0:[[:alnum:]_.]+]] = rank.slot %gradient.w0 : memref<8x16xf32>
// CHECK-NEXT: rank.zero %[[DW0]]
// The forwards before the first backward; the body writes into the receiver's slot.
// CHECK: scf.for
// CHECK-NEXT: rank.action F stage 0
// CHECK: %[[X:[[:alnum:]_.]+]] = rank.slot %x[%[[I:[[:alnum:]_.]+]]] : memref<32x8xf32>
// CHECK-NEXT: %[[H:[[:alnum:]_.]+]] = rank.claim @layer0.F.0.to1[%[[I]]]
// CHECK-NEXT: %[[K:[[:alnum:]_.]+]] = rank.acquire %layer0.F.1[%[[I]]]
// CHECK-NEXT: rank.call @layer0.F ins(%{{.*}}, %[[X]] : {{.*}}) outs(%[[H]], %[[K]] : {{.*}}) workspace %workspace[0, 0] node "layer0.F"
// CHECK-NEXT: rank.send @layer0.F.0.to1[%[[I]]]
// The loop: one backward, one forward two microbatches ahead.
// CHECK: scf.for %[[J:[[:alnum:]_.]+]] =
// CHECK-NEXT: rank.action B stage 0 microbatch %[[J]]
// CHECK: %[[K:[[:alnum:]_.]+]] = rank.slot %layer0.F.1[%[[J]]]
// CHECK-NEXT: %[[DH:[[:alnum:]_.]+]] = rank.recv @layer1.B.0.to0[%[[J]]]
// CHECK-NEXT: rank.call @layer0.B.sum ins(%{{.*}}, %[[K]], %[[DH]] : {{.*}}) accumulate(%[[DW0]] : memref<8x16xf32>)
// CHECK-NEXT: rank.release_channel @layer1.B.0.to0[%[[J]]]
// CHECK-NEXT: rank.release %layer0.F.1[%[[J]]]
// CHECK: %[[AHEAD:[[:alnum:]_.]+]] = arith.addi %[[J]], %c2
// CHECK-NEXT: rank.action F stage 0 microbatch %[[AHEAD]]
// The backwards after the last forward.
// CHECK: scf.for
// CHECK-NEXT: rank.action B stage 0
// CHECK: rank.action U stage 0
// CHECK-NEXT: rank.combine mean %[[DW0]] over %[[M]] : memref<8x16xf32>

// CHECK-LABEL: rank.program @step.1
// CHECK: rank.buffer "loss" accumulator 0 : memref<f32>
// What came from rank 0 stays in the slot of the channel until the backward has read it.
// CHECK: rank.action F stage 1
// CHECK: rank.recv @layer0.F.0.to1
// CHECK-NOT: rank.release_channel
// CHECK: rank.action B stage 1
// CHECK: rank.received @layer0.F.0.to1
// CHECK: rank.call @layer1.B.sum
// CHECK: rank.release_channel @layer0.F.0.to1
// CHECK-NOT: pipeline.graph
// CHECK-NOT: pipeline.schedule
