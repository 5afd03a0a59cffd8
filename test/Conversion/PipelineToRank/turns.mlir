// Stages whose replicas take microbatches in turn.
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=EQUAL
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's#//2x1:##' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=UNEQUAL

// Two pipelines side by side run for any number of microbatches: one each, one more in the first, none in the second.
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=2 -o /dev/null
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=13 -o /dev/null
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: sed 's#//2x2:##' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs=microbatches=13 -o /dev/null
// RUN: sed 's#//2x1:##' %s | not pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs=microbatches=13 -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONLY
// ONLY: runs 8 microbatches only, got 13

// A pipeline counts its own microbatches; only the batch is indexed by those of the step. Two stages need two slots.
// EQUAL-DAG: rank.channel @a.F.0.to1.stage1 from 0 to 1 depth 2 sparse : memref<4xf32>
// EQUAL-DAG: rank.channel @a.F.0.to3.stage1.copy1 from 2 to 3 depth 2 sparse : memref<4xf32>
// EQUAL-LABEL: rank.program @turns.2 rank 2 device "d1" of @turns microbatches 8 schedule "1f1b"
// EQUAL: %[[X:.*]] = rank.buffer "argument1" batch 1 depth all
// EQUAL: %[[K:.*]] = rank.buffer "a.F.1" stash depth 2 : memref<4xf32>
// EQUAL: rank.entry (%[[M:.*]]) {
// EQUAL: %[[OWN:.*]] = arith.divui %[[M]], %c2
// EQUAL: %[[LAST:.*]] = arith.subi %[[OWN]], %c1
// EQUAL: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1
// EQUAL: %[[TWICE:.*]] = arith.muli %[[I]], %c2
// EQUAL: %[[NUMBER:.*]] = arith.addi %[[TWICE]], %c1
// EQUAL: rank.action F stage 0 microbatch %[[NUMBER]]
// EQUAL: rank.slot %[[X]][%[[NUMBER]]]
// EQUAL: rank.acquire %[[K]][%[[I]]]
// EQUAL: rank.send @a.F.0.to3.stage1.copy1[%[[I]]]
// EQUAL: rank.action B stage 0
// EQUAL: rank.all_reduce @gradients.0(%{{.*}}) at %{{.*}} of %[[LAST]]
// EQUAL: rank.action U stage 0
// EQUAL: rank.all_reduce @gradients.0(%{{.*}}) at %c-1 of %[[LAST]]

// A result that is joined over microbatches stays on the ranks that run them, in a slot for each.
// EQUAL-LABEL: rank.program @turns.3
// EQUAL: %[[Y:.*]] = rank.buffer "output/y" output 2 depth all turns [1] of 2 : memref<4xf32>
// EQUAL: rank.action F stage 1 microbatch %[[NUMBER:.*]] {
// EQUAL: rank.slot %[[Y]][%[[NUMBER]]]

// GPIPE: rank.buffer "a.F.1" stash depth all by 2 : memref<4xf32>

// With unequal replicas, orders count the microbatches of the step, and slots those of a route: every second one.
// UNEQUAL-DAG: rank.channel @a.F.0.to1.stage1 from 0 to 1 depth 2 sparse : memref<4xf32>
// UNEQUAL-LABEL: rank.program @turns.1
// UNEQUAL: rank.buffer "output/y" output 2 depth all : memref<4xf32>
// UNEQUAL-LABEL: rank.program @turns.2
// UNEQUAL-SAME: microbatches 8 only
// UNEQUAL: %[[X:.*]] = rank.buffer "argument1" batch 1 depth all
// UNEQUAL: %[[K:.*]] = rank.buffer "a.F.1" stash depth 2 : memref<4xf32>
// UNEQUAL: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c2
// UNEQUAL: %[[TURN:.*]] = arith.divui %[[I]], %c2
// UNEQUAL: rank.action F stage 0 microbatch %[[I]]
// UNEQUAL: rank.slot %[[X]][%[[I]]]
// UNEQUAL: rank.acquire %[[K]][%[[TURN]]]
// UNEQUAL: rank.send @a.F.0.to1.stage1.copy1[%[[TURN]]]

func.func private @f(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @l(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = tensor.extract_slice %x[0] [1] [1] : tensor<4xf32> to tensor<f32>
  return %x, %0 : tensor<4xf32>, tensor<f32>
}
func.func private @b(%d: tensor<4xf32>, %k: tensor<4xf32>) -> tensor<4xf32> {
  return %k : tensor<4xf32>
}
pipeline.graph @turns(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "y"})
    attributes {layers = ["a", "b"]} {
  %h, %k = pipeline.node "a.F" @f phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %kept, %l = pipeline.node "b.F" @l phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %d = pipeline.node "b.B" @b phase B layer 1 (%kept, %kept) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.B" @b phase B layer 0 (%d, %k) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %g, %kept results [0, 1, 2] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @turns on @local microbatches 8 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
//2x2:  pipeline.stage 1 on [@d2, @d3] layers [1]
//2x1:  pipeline.stage 1 on [@d2] layers [1]
}
