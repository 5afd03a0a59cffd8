// RUN: pp-opt %s --body-outline-kernels=fills | FileCheck %s
// RUN: pp-opt %s --body-outline-kernels | FileCheck %s --check-prefix=HOST

// On a device, means of vectors of one type are one kernel; the runtime folds those of matrices into products.
// CHECK: rank.entry (%[[M:.*]])
// CHECK: scf.if
// CHECK-NEXT: call @[[TWO:.*]](%[[A:.*]], %[[M]], %[[B:.*]])
// CHECK-NEXT: call @[[MATRIX:.*]](%{{.*}}, %[[M]])
// CHECK-NEXT: call @[[SHORT:.*]](%{{.*}}, %[[M]])
// CHECK-NEXT: }
// CHECK: func.func private @[[TWO]](%[[X:.*]]: memref<8xf32{{.*}}>{{.*}}, %[[N:.*]]: index, %[[Y:.*]]: memref<8xf32{{.*}}>
// CHECK: %[[COUNT:.*]] = arith.uitofp
// CHECK: linalg.generic {{.*}} outs(%[[X]], %[[Y]] :
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// HOST-COUNT-4: call @kernel
rank.step @step()
    -> (tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "output", pipeline.combine = "mean"},
        tensor<8xf32> {pipeline.position = 1 : i64, pipeline.role = "output", pipeline.combine = "mean"},
        tensor<8x4xf32> {pipeline.position = 2 : i64, pipeline.role = "output", pipeline.combine = "mean"},
        tensor<4xf32> {pipeline.position = 3 : i64, pipeline.role = "output", pipeline.combine = "mean"})
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  %a = rank.buffer "a" accumulator 0 : memref<8xf32>
  %b = rank.buffer "b" accumulator 1 : memref<8xf32>
  %w = rank.buffer "w" accumulator 2 : memref<8x4xf32>
  %s = rank.buffer "s" accumulator 3 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.slot %a : memref<8xf32>
    %1 = rank.slot %b : memref<8xf32>
    %2 = rank.slot %w : memref<8x4xf32>
    %3 = rank.slot %s : memref<4xf32>
    rank.action U stage 0 microbatch %c0 {
      rank.combine mean %0 over %M : memref<8xf32>
      rank.combine mean %2 over %M : memref<8x4xf32>
      rank.combine mean %1 over %M : memref<8xf32>
      rank.combine mean %3 over %M : memref<4xf32>
    }
  }
}
