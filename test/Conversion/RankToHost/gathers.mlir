// Each slot of a gather is a collective; they are numbered after the sums. Parts are places in a slot.
// RUN: pp-opt %s -lower-rank-to-host | FileCheck %s

rank.step @step() -> ()
rank.collective @sum among [0, 1] : memref<16xf32>
rank.gather @join among [0, 1] depth 2 : memref<4x4xf32>
rank.gather @scatter exchange among [0, 1] depth 1 : memref<64xi8>
// CHECK: rank.artifact "step"
// CHECK: collectives [
// CHECK-NEXT: #rank.collective<name = "sum", type = tensor<16xf32>, buckets = [<rank = 0, first = 1, buffers = 1>, <rank = 1, first = 1, buffers = 1>]>
// CHECK-NEXT: #rank.collective<name = "join", type = tensor<4x4xf32>, buckets = [<rank = 0, first = 0, buffers = 1>, <rank = 1, first = 0, buffers = 1>], gathers = true>
// CHECK-NEXT: #rank.collective<name = "join", type = tensor<4x4xf32>, buckets = [<rank = 0, first = 0, buffers = 1, slot = 1>, <rank = 1, first = 0, buffers = 1, slot = 1>], gathers = true>,
// CHECK-NEXT: #rank.collective<name = "scatter", type = tensor<64xi8>, buckets = [<rank = 0, first = 2, buffers = 1>, <rank = 1, first = 2, buffers = 1>], gathers = true, exchanges = true>

// CHECK-LABEL: func.func @step.1(%arg0: !llvm.ptr, %arg1: i64)
// CHECK: %[[SLOT:.*]] = llvm.call @sw_acquire
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: func.call @f(%{{.*}}) : (memref<4x4xf32>) -> ()
// CHECK: %[[TURN:.*]] = arith.remui %[[M:.*]], %c2{{.*}} : i64
// CHECK: %[[NUMBER:.*]] = arith.addi %c1{{.*}}, %[[TURN]] : i64
// CHECK: llvm.call @sw_all_reduce(%arg0, %[[NUMBER]])
// CHECK: arith.remui
// CHECK: llvm.call @sw_await_reduced(%arg0, %{{.*}})
func.func private @f(%to: memref<4x4xf32>) {
  return
}
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  %s = rank.buffer "join" stash depth 2 : memref<2x4x4xf32>
  %g = rank.buffer "gradient" gradient : memref<16xf32>
  %x = rank.buffer "scatter" stash depth 1 : memref<4x64xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %s[%m] : memref<2x4x4xf32>
        %1 = rank.part %0[0] : memref<4x4xf32> of memref<2x4x4xf32>
        rank.call @f outs(%1 : memref<4x4xf32>) node "f"
        rank.all_gather @join (%s)[%m]
        rank.await_gathered @join[%m]
        rank.release %s[%m]
      }
    }
    %1 = rank.acquire %x[%c0] : memref<4x64xi8>
    rank.all_gather @scatter (%x)[%c0]
    rank.await_gathered @scatter[%c0]
    rank.release %x[%c0]
    rank.all_reduce @sum (%g)
    rank.await_reduced @sum
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  %s = rank.buffer "join" stash depth 2 : memref<2x4x4xf32>
  %g = rank.buffer "gradient" gradient : memref<16xf32>
  %x = rank.buffer "scatter" stash depth 1 : memref<4x64xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %s[%m] : memref<2x4x4xf32>
        %1 = rank.part %0[1] : memref<4x4xf32> of memref<2x4x4xf32>
        rank.call @f outs(%1 : memref<4x4xf32>) node "f"
        rank.all_gather @join (%s)[%m]
        rank.await_gathered @join[%m]
        rank.release %s[%m]
      }
    }
    %1 = rank.acquire %x[%c0] : memref<4x64xi8>
    rank.all_gather @scatter (%x)[%c0]
    rank.await_gathered @scatter[%c0]
    rank.release %x[%c0]
    rank.all_reduce @sum (%g)
    rank.await_reduced @sum
  }
}
