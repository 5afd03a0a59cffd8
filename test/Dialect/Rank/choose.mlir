// Ready-first execution: rows in lanes, proved for every order, with the memory of all credits.
// RUN: pp-opt %s -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s | pp-opt | FileCheck %s --check-prefix=SAME

// Unless its lane follows that of the forward, the backward could run before the forward.
// RUN: sed 's/after \[0, 1\]/after []/' %s | not pp-opt -verify-rank-programs 2>&1 | FileCheck %s --check-prefix=RACE
// RACE: error: 0B0 uses microbatch 0 of 'k', but does not follow 0F0, which holds it first

// Lanes that follow each other never run.
// RUN: sed 's/after \[0, 1\]/after [0, 1, 1, 0]/' %s | not pp-opt -verify-rank-programs 2>&1 | FileCheck %s --check-prefix=CYCLE
// CYCLE: error: rank 0 can run none of its next actions: 0B0 (follows 0F0), 0F0 (follows 0B0)

// Slots in the workspace are shared according to an order, but this rank has no order.
// RUN: sed 's/stash depth 2 :/stash depth 2 at 0 :/' %s | not pp-opt -verify-rank-programs 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: stash 'k' shares bytes of the workspace by an order of actions, but its rank has none; give it memory of its own

// RUN: sed 's/to %c4 step/to %c3 step/' %s | not pp-opt -verify-rank-programs 2>&1 | FileCheck %s --check-prefix=TURNS
// TURNS: error: takes 3 iterations, but the lanes have 4 rows

rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 1 : memref<16xf32>
rank.channel @g from 1 to 0 depth 1 : memref<16xf32>
// CHECK-LABEL: rank.program @step.0
// Two slots of the stash and one of the channel.
// CHECK-SAME: live_peak = 192 : i64
// CHECK-SAME: stash = 128 : i64
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "1f1b" {
  %k = rank.buffer "k" stash depth 2 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    scf.for %row = %c0 to %c4 step %c1 {
      // SAME: rank.choose lanes [2, 2] turns [0, 1, 2, 3] after [0, 1]
      %next = rank.choose lanes [2, 2] turns [0, 1, 2, 3] after [0, 1]
      %case, %m = rank.table[%next] cases [0, 0, 1, 1] microbatches [0, 1, 0, 1]
      scf.index_switch %case
      case 0 {
        rank.action B stage 0 microbatch %m {
          %0 = rank.recv @g[%m] : memref<16xf32>
          %1 = rank.slot %k[%m] : memref<16xf32>
          rank.release_channel @g[%m]
          rank.release %k[%m]
        }
        scf.yield
      }
      case 1 {
        rank.action F stage 0 microbatch %m {
          %0 = rank.acquire %k[%m] : memref<16xf32>
          %1 = rank.claim @h[%m] : memref<16xf32>
          rank.send @h[%m]
        }
        scf.yield
      }
      default {
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 2 only schedule "1f1b" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %0 = rank.recv @h[%m] : memref<16xf32>
        rank.release_channel @h[%m]
      }
      rank.action B stage 1 microbatch %m {
        %0 = rank.claim @g[%m] : memref<16xf32>
        rank.send @g[%m]
      }
    }
  }
}
