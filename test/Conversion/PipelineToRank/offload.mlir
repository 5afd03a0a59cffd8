// What the forward of an offloaded layer keeps is copied to the host, and back one backward ahead.
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: pp-opt %s -pipeline-schedule=kind=zb-h1 -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=HALVES
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs=microbatches=2 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=17 -o /dev/null

// CHECK: rank.program @step.0
// GPIPE: %[[OUT:.*]] = rank.buffer "l0.F.1" stash depth 2 : memref<8xf32>
// GPIPE: %[[HOST:.*]] = rank.buffer "l0.F.1.host" stash host depth all : memref<8xf32>
// ONE: %[[OUT:.*]] = rank.buffer "l0.F.1" stash : memref<8xf32>
// ONE: %[[HOST:.*]] = rank.buffer "l0.F.1.host" stash host depth 2 : memref<8xf32>
// CHECK: %[[BACK:.*]] = rank.buffer "l0.F.1.back" stash depth 2 : memref<8xf32>
// CHECK: rank.entry (%[[ALL:.*]]) {
// CHECK: rank.action F stage 0 microbatch %[[M:.*]] {
// CHECK: %[[K:.*]] = rank.acquire %[[OUT]][%[[M]]]
// CHECK: rank.call @l0.F {{.*}}%[[K]]
// CHECK: rank.offload %[[OUT]] to %[[HOST]][%[[M]]]
// CHECK: rank.action B stage 0 microbatch %[[B:.*]] {
// CHECK: %[[LATER:.*]] = arith.minsi %[[B]], %c1
// CHECK: %[[LOW:.*]] = arith.addi %[[B]], %[[LATER]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[B]], %c2
// CHECK: %[[HIGH:.*]] = arith.minsi %[[AFTER]], %[[ALL]]
// CHECK: scf.for %[[N:.*]] = %[[LOW]] to %[[HIGH]]
// CHECK: rank.fetch %[[HOST]] to %[[BACK]][%[[N]]]
// CHECK: %[[READ:.*]] = rank.fetched %[[BACK]][%[[B]]]
// CHECK: rank.recv
// CHECK: rank.call {{.*}}%[[READ]]
// CHECK: rank.release %[[BACK]][%[[B]]]

// Stage 1 does not offload.
// CHECK: rank.program @step.1
// CHECK-NOT: stash host
// CHECK-NOT: rank.offload

// W may run after the I of a later microbatch, and reads the fetched value again.
// HALVES: %[[BACK:.*]] = rank.buffer "l0.F.1.back" stash depth {{[2-9]}} : memref<8xf32>
// HALVES: rank.action I stage 0
// HALVES: rank.fetched %[[BACK]]
// HALVES: rank.action W stage 0
// HALVES: rank.fetched %[[BACK]]
// HALVES: rank.release %[[BACK]]

func.func private @l0.F(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = tensor.empty() : tensor<8xf32>
  return %x, %0 : tensor<4xf32>, tensor<8xf32>
}
func.func private @l1.F(%h: tensor<4xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %0 = tensor.empty() : tensor<f32>
  %1 = tensor.empty() : tensor<8xf32>
  return %0, %1 : tensor<f32>, tensor<8xf32>
}
func.func private @l1.I(%k: tensor<8xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @l0.I(%k: tensor<8xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  return %d : tensor<4xf32>
}
func.func private @l0.W(%k: tensor<8xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  return %d : tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a", "b"]} {
  %h, %k = pipeline.node "l0.F" @l0.F phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
  %l, %k1 = pipeline.node "l1.F" @l1.F phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<f32>, tensor<8xf32>)
  %d1 = pipeline.node "l1.I" @l1.I phase I layer 1 (%k1) : (tensor<8xf32>) -> tensor<4xf32>
  %d0 = pipeline.node "l0.I" @l0.I phase I layer 0 (%k, %d1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "l0.W" @l0.W phase W layer 0 (%k, %d0) : (tensor<8xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09 host_bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09 host_bandwidth 1.0e+09
  pipeline.link @d0 to @d1 bandwidth 1.0e+09 latency 1.0e-06
}
pipeline.program @plan of @step on @local microbatches 6 {
  pipeline.stage 0 on [@d0] layers [0] {offload = array<i64: 0>}
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.boundary "l0.F" result 0 from 0 to 1 : tensor<4xf32>
  pipeline.boundary "l1.I" result 0 from 1 to 0 : tensor<4xf32>
}
