// RUN: pp-opt %s --lower-rank-to-host | FileCheck %s

// Values of an action may lie anywhere in a workspace, beyond 256 MiB too.
// CHECK-LABEL: func.func @step.0
// CHECK: %[[WS:.*]] = llvm.call @sw_slot
// CHECK: %[[AT:.*]] = arith.constant 805306368 : i64
// CHECK: llvm.getelementptr %[[WS]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: call @f

rank.step @step() -> (tensor<f32> {pipeline.position = 0 : i64, pipeline.role = "loss", pipeline.combine = "mean"})
func.func private @f(%v: memref<16xf32>) {
  return
}
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "gpipe" {
  %loss = rank.buffer "loss" accumulator 0 : memref<f32>
  %t = rank.buffer "workspace" workspace : memref<805306432xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %v = rank.view %t[805306368] : memref<16xf32>
        rank.call @f outs(%v : memref<16xf32>) node "f"
      }
    }
  }
}
