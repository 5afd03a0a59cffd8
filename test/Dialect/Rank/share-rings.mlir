// Three channels of one pair of ranks, whose messages are used at once, share a ring; one of another type, one whose messages
// wait for the end and one with one message per step stay. The ranks also finish with that ring.
// RUN: pp-opt %s -rank-share-rings | FileCheck %s
// RUN: pp-opt %s -rank-share-rings -verify-rank-programs -o /dev/null
// RUN: sed 's/microbatches 4 only/microbatches 4/' %s | pp-opt -rank-share-rings | FileCheck %s --check-prefix=ANY

// ANY: rank.channel @c from 0 to 1 depth 2 : memref<4xf32>

rank.step @step() -> ()

// CHECK: rank.channel @from0.to1 from 0 to 1 depth [[DEPTH:[3-5]]] messages 12 : memref<4xf32>
// CHECK-NEXT: rank.channel @wide from 0 to 1 depth 2 : memref<8xf32>
// CHECK-NEXT: rank.channel @late from 0 to 1 depth 4 : memref<4xf32>
// CHECK-NEXT: rank.channel @end from 0 to 1 depth 1 once : memref<4xf32>
// CHECK-NOT: rank.channel
rank.channel @a from 0 to 1 depth 2 : memref<4xf32>
rank.channel @b from 0 to 1 depth 2 : memref<4xf32>
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.channel @wide from 0 to 1 depth 2 : memref<8xf32>
rank.channel @late from 0 to 1 depth 4 : memref<4xf32>
rank.channel @end from 0 to 1 depth 1 once : memref<4xf32>

// A loop runs the microbatches one by one, so the numbers of messages are linear in them.
// CHECK-LABEL: rank.program @step.0
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: scf.for %[[M:.*]] =
// CHECK: %[[A:.*]] = arith.muli %[[M]], %[[THREE]]
// CHECK-NEXT: rank.claim @from0.to1[%[[A]]]
// CHECK: rank.send @from0.to1[
// CHECK: rank.claim @wide[%[[M]]]
// CHECK: arith.addi
// CHECK-NEXT: rank.claim @from0.to1[
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 only schedule "levels" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.claim @a[%m] : memref<4xf32>
        rank.send @a[%m]
        %1 = rank.claim @wide[%m] : memref<8xf32>
        rank.send @wide[%m]
      }
      rank.action F stage 2 microbatch %m {
        %0 = rank.claim @b[%m] : memref<4xf32>
        rank.send @b[%m]
        %1 = rank.claim @late[%m] : memref<4xf32>
        rank.send @late[%m]
        %2 = rank.claim @c[%m] : memref<4xf32>
        rank.send @c[%m]
      }
    }
    %3 = rank.claim @end[%c0] : memref<4xf32>
    rank.send @end[%c0]
  }
}

// An order as a table gets a column with the number of the first message of every row.
// CHECK-LABEL: rank.program @step.1
// CHECK: %[[CASE:.*]], %[[MB:.*]] = rank.table[%[[ROW:.*]]] cases [0, 1, 0, 1, 0, 1, 0, 1] microbatches [0, 0, 1, 1, 2, 2, 3, 3]
// CHECK-NEXT: %{{.*}}, %[[NUMBER:.*]] = rank.table[%[[ROW]]] cases [0, 0, 0, 0, 0, 0, 0, 0] microbatches [0, 1, 3, 4, 6, 7, 9, 10]
// CHECK: rank.recv @from0.to1[%[[NUMBER]]]
// CHECK: rank.release_channel @from0.to1[%[[NUMBER]]]
// CHECK: rank.recv @wide[%[[MB]]]
// CHECK: rank.recv @from0.to1[%[[NUMBER]]]
// CHECK: rank.recv @late[%[[MB]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[NUMBER]],
// CHECK-NEXT: rank.recv @from0.to1[%[[NEXT]]]
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 only schedule "levels" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %k = %c0 to %c8 step %c1 {
      %case, %m = rank.table[%k] cases [0, 1, 0, 1, 0, 1, 0, 1] microbatches [0, 0, 1, 1, 2, 2, 3, 3]
      scf.index_switch %case
      case 0 {
        rank.action F stage 1 microbatch %m {
          %0 = rank.recv @a[%m] : memref<4xf32>
          rank.release_channel @a[%m]
          %1 = rank.recv @wide[%m] : memref<8xf32>
          rank.release_channel @wide[%m]
        }
        scf.yield
      }
      default {
        rank.action F stage 3 microbatch %m {
          %0 = rank.recv @b[%m] : memref<4xf32>
          rank.release_channel @b[%m]
          %1 = rank.recv @late[%m] : memref<4xf32>
          %2 = rank.recv @c[%m] : memref<4xf32>
          rank.release_channel @c[%m]
        }
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.release_channel @late[%m]
    }
    // A transfer that never runs names the shared ring, too.
    scf.for %m = %c0 to %c0 step %c1 {
      rank.release_channel @a[%m]
    }
    %3 = rank.recv @end[%c0] : memref<4xf32>
    rank.release_channel @end[%c0]
  }
}
