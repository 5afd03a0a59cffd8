// Gathers: as text, and proved. Each rank begins the next microbatch before it awaits the last one.
// RUN: pp-opt %s -verify-rank-programs | pp-opt | FileCheck %s
// RUN: pp-opt %s -verify-rank-programs=microbatches=1 -o /dev/null

rank.step @step() -> ()
// CHECK: rank.gather @join among [0, 1] depth 2 : memref<4x4xf32>
rank.gather @join among [0, 1] depth 2 : memref<4x4xf32>
// CHECK: rank.gather @scatter exchange among [0, 1] depth 1 : memref<4x4xf32>
rank.gather @scatter exchange among [0, 1] depth 1 : memref<4x4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  %s = rank.buffer "join" stash depth 2 : memref<2x4x4xf32>
  %x = rank.buffer "scatter" stash depth 1 : memref<4x4x4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %s[%m] : memref<2x4x4xf32>
        // CHECK: rank.part %{{.*}}[0] : memref<4x4xf32> of memref<2x4x4xf32>
        %1 = rank.part %0[0] : memref<4x4xf32> of memref<2x4x4xf32>
        rank.zero %1 : memref<4x4xf32>
        // CHECK: rank.all_gather @join(%join) [%{{.*}}]
        rank.all_gather @join (%s)[%m]
      }
      rank.action F stage 1 microbatch %m {
        // CHECK: rank.await_gathered @join[%{{.*}}]
        rank.await_gathered @join[%m]
        %0 = rank.slot %s[%m] : memref<2x4x4xf32>
        %1 = rank.part %0[1] : memref<4x4xf32> of memref<2x4x4xf32>
        rank.release %s[%m]
      }
    }
    rank.action B stage 0 microbatch %c0 {
      scf.for %m = %c0 to %M step %c1 {
        %0 = rank.acquire %x[%m] : memref<4x4x4xf32>
        %1 = rank.part %0[1] : memref<4x4xf32> of memref<4x4x4xf32>
        rank.all_gather @scatter (%x)[%m]
        rank.await_gathered @scatter[%m]
        rank.release %x[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  %s = rank.buffer "join" stash depth 2 : memref<2x4x4xf32>
  %x = rank.buffer "scatter" stash depth 1 : memref<4x4x4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %last = arith.subi %M, %c1 : index
    rank.action F stage 0 microbatch %c0 {
      %0 = rank.acquire %s[%c0] : memref<2x4x4xf32>
      rank.all_gather @join (%s)[%c0]
    }
    scf.for %m = %c0 to %last step %c1 {
      %next = arith.addi %m, %c1 : index
      rank.action F stage 0 microbatch %next {
        %0 = rank.acquire %s[%next] : memref<2x4x4xf32>
        rank.all_gather @join (%s)[%next]
      }
      rank.action F stage 1 microbatch %m {
        rank.await_gathered @join[%m]
        rank.release %s[%m]
      }
    }
    rank.action F stage 1 microbatch %last {
      rank.await_gathered @join[%last]
      rank.release %s[%last]
    }
    rank.action B stage 0 microbatch %c0 {
      scf.for %m = %c0 to %M step %c1 {
        %0 = rank.acquire %x[%m] : memref<4x4x4xf32>
        %1 = rank.part %0[0] : memref<4x4xf32> of memref<4x4x4xf32>
        rank.all_gather @scatter (%x)[%m]
        rank.await_gathered @scatter[%m]
        rank.release %x[%m]
      }
    }
  }
}
