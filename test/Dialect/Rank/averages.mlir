// Averages over replicas: as text, and proved as a sum that is begun and awaited at once.
// RUN: pp-opt %s -verify-rank-programs | pp-opt | FileCheck %s

rank.step @step(tensor<4x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                tensor<1xi64> {pipeline.position = 1 : i64, pipeline.role = "state", rank.averaging},
                tensor<16xf32> {pipeline.position = 2 : i64, pipeline.role = "state", rank.averaging},
                tensor<16xf32> {pipeline.position = 3 : i64, pipeline.role = "state", rank.averaging},
                tensor<4x4xf32> {pipeline.position = 4 : i64, pipeline.role = "state", rank.averaging}) -> ()
rank.collective @average among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // CHECK: rank.buffer "w" parameter 0 own 4 weight 7.500000e-01 : memref<4x4xf32>
  %w = rank.buffer "w" parameter 0 own 4 weight 0.75 : memref<4x4xf32>
  %t = rank.buffer "t" state 1 : memref<1xi64>
  %a = rank.buffer "a" state 2 : memref<16xf32>
  %s = rank.buffer "s" state 3 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.slot %w : memref<4x4xf32>
    rank.action U stage 0 microbatch %c0 {
      // CHECK: rank.combine mean %{{.*}} over %{{.*}} scale 4.000000e+00
      rank.combine mean %0 over %M scale 4.0 : memref<4x4xf32>
      // CHECK: rank.average @average(%w) step %t sum %a snapshot %s every 4 delay 1 xi 2.500000e-01 corrected weight 7.500000e-01
      rank.average @average (%w) step %t sum %a snapshot %s every 4 delay 1 xi 0.25 corrected weight 0.75
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  %w = rank.buffer "w" parameter 0 : memref<4x4xf32>
  %t = rank.buffer "t" state 1 : memref<1xi64>
  %a = rank.buffer "a" state 2 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 0 microbatch %c0 {
      // CHECK: rank.average @average(%w) step %t sum %a every 4 delay 1 xi 2.500000e-01 weight 2.500000e-01 turns 2
      rank.average @average (%w) step %t sum %a every 4 delay 1 xi 0.25 weight 0.25 turns 2
    }
  }
}
