// An order for one number of microbatches: proved for it, refused for others.
// RUN: pp-opt %s -verify-rank-programs | FileCheck %s
// RUN: not pp-opt %s -verify-rank-programs=microbatches=3 2>&1 | FileCheck %s --check-prefix=OTHER

// OTHER: error: runs 4 microbatches only, got 3; schedule the program for that number

rank.step @step() -> ()
// A channel of only the even microbatches, in any order: 2 gets its slot before 0.
// CHECK: rank.channel @even from 0 to 1 depth 2 sparse
rank.channel @even from 0 to 1 depth 2 sparse : memref<4xf32>
// CHECK: rank.program @step.0 rank 0 device "d0" of @step microbatches 4 only schedule "hand" memory {
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %row = %c0 to %c4 step %c1 {
      %case, %m = rank.table[%row] cases [0, 1, 1, 0] microbatches [2, 1, 3, 0]
      scf.index_switch %case
      case 0 {
        rank.action F stage 0 microbatch %m {
          %h = rank.claim @even[%m] : memref<4xf32>
          rank.send @even[%m]
        }
        scf.yield
      }
      default {
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    rank.action F stage 1 microbatch %c2 {
      %h = rank.recv @even[%c2] : memref<4xf32>
      rank.release_channel @even[%c2]
    }
    rank.action F stage 1 microbatch %c0 {
      %h = rank.recv @even[%c0] : memref<4xf32>
      rank.release_channel @even[%c0]
    }
  }
}
