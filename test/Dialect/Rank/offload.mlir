// Stashes on the host: parsed, printed and verified; they take no bytes of the arena.
// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s -verify-rank-programs | FileCheck %s --check-prefix=MEMORY

// Slots of 64 bytes that count: one to be copied out and two to be copied back, not the eight on the host.
// MEMORY: rank.program @step.0
// MEMORY-SAME: arena = 192 : i64
// MEMORY-SAME: host = 512 : i64
// MEMORY-SAME: live_peak = 128 : i64
// MEMORY-SAME: stash = 192 : i64

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  %k = rank.buffer "k" stash : memref<4xf32>
  // CHECK: %[[HOST:.*]] = rank.buffer "k.host" stash host depth all : memref<4xf32>
  %host = rank.buffer "k.host" stash host depth all : memref<4xf32>
  %back = rank.buffer "k.back" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<4xf32>
        // CHECK: rank.offload %{{.*}} to %[[HOST]][%{{.*}}]
        rank.offload %k to %host[%m]
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %later = arith.minsi %m, %c1 : index
        %low = arith.addi %m, %later : index
        %after = arith.addi %m, %c2 : index
        %high = arith.minsi %after, %M : index
        scf.for %n = %low to %high step %c1 {
          // CHECK: rank.fetch %[[HOST]] to %[[BACK:.*]][%{{.*}}]
          rank.fetch %host to %back[%n]
        }
        // CHECK: rank.fetched %[[BACK]][%{{.*}}] : memref<4xf32>
        %0 = rank.fetched %back[%m] : memref<4xf32>
        rank.release %back[%m]
      }
    }
  }
}
