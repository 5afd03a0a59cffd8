// Sums over ranks: as text, and proved. Rank 1 begins in a loop, at the last microbatch.
// RUN: pp-opt %s -verify-rank-programs | pp-opt | FileCheck %s
// RUN: pp-opt %s -verify-rank-programs=microbatches=1 -o /dev/null

rank.step @step() -> ()
// CHECK: rank.collective @sum.0 among [0, 1] : memref<32xf32>
rank.collective @sum.0 among [0, 1] : memref<32xf32>
// CHECK: rank.collective @sum.1 among [0, 1] : memref<32xbf16>
rank.collective @sum.1 among [0, 1] : memref<32xbf16>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  %w = rank.buffer "gradient/w" gradient : memref<4x4xf32>
  %b = rank.buffer "gradient/b" gradient : memref<4xf32>
  %h = rank.buffer "gradient/h" gradient : memref<3xbf16>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 0 microbatch %c0 {
      // CHECK: rank.all_reduce @sum.0(%gradient.w, %gradient.b)
      rank.all_reduce @sum.0 (%w, %b)
      // CHECK: rank.all_reduce @sum.1(%gradient.h)
      rank.all_reduce @sum.1 (%h)
      // CHECK: rank.await_reduced @sum.1
      rank.await_reduced @sum.1
      rank.await_reduced @sum.0
    }
  }
}
// The memory of buckets is that of their buffers.
// CHECK: gradients = 192 : i64
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  %w = rank.buffer "gradient/w" gradient : memref<4x4xf32>
  %b = rank.buffer "gradient/b" gradient : memref<4xf32>
  %h = rank.buffer "gradient/h" gradient : memref<3xbf16>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %last = arith.subi %M, %c1 : index
    %0 = rank.slot %w : memref<4x4xf32>
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        rank.zero %0 : memref<4x4xf32>
        // CHECK: rank.all_reduce @sum.0(%gradient.w, %gradient.b) at %{{.*}} of %{{.*}}
        rank.all_reduce @sum.0 (%w, %b) at %m of %last
      }
    }
    rank.action U stage 0 microbatch %c0 {
      rank.all_reduce @sum.1 (%h)
      rank.await_reduced @sum.0
      rank.await_reduced @sum.1
      rank.zero %0 : memref<4x4xf32>
    }
  }
}
