// RUN: pp-opt %s --split-input-file --device-outline-kernels --verify-diagnostics | FileCheck %s

// Where a slice begins is a number in the device's memory: the kernel reads it. The number is overwritten before the second
// kernel, which reads a copy.
// CHECK-LABEL: @layer.F(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x6xf32>, %[[I:[a-z0-9]+]]: memref<i32>, %[[Y:[a-z0-9]+]]: memref<3x6xf32>, %[[Z:[a-z0-9]+]]: memref<3x6xf32>
// CHECK-NOT: memref.load
// CHECK: %[[KEPT:.*]] = memref.alloc() : memref<i32>
// CHECK: call @{{.*}}(%{{.*}}, %[[KEPT]])
// CHECK: call @[[SLICE:kernel[.0-9]+]](%[[X]], %[[KEPT]], %[[Y]])
// CHECK: call @{{.*}}(%[[I]])
// CHECK: call @[[SLICE]](%[[X]], %[[KEPT]], %[[Z]])
// CHECK: func.func private @[[SLICE]](%[[FROM:.*]]: memref<8x6xf32>, %[[AT:.*]]: memref<i32>, %[[TO:.*]]: memref<3x6xf32>)
// CHECK: memref.load %[[AT]][]
// CHECK: arith.index_cast
// CHECK: memref.subview %[[FROM]]
// CHECK: linalg.exp
#all = affine_map<(i, j) -> (i, j)>
#none = affine_map<() -> ()>
func.func private @layer.F(%x: memref<8x6xf32>, %i: memref<i32>, %y: memref<3x6xf32>, %z: memref<3x6xf32>) {
  %0 = memref.load %i[] : memref<i32>
  %1 = arith.index_cast %0 : i32 to index
  %s = memref.subview %x[%1, 0] [3, 6] [1, 1] : memref<8x6xf32> to memref<3x6xf32, strided<[6, 1], offset: ?>>
  linalg.exp ins(%s : memref<3x6xf32, strided<[6, 1], offset: ?>>) outs(%y : memref<3x6xf32>)
  linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
  ^bb0(%o: i32):
    %2 = arith.addi %o, %o : i32
    linalg.yield %2 : i32
  }
  linalg.exp ins(%s : memref<3x6xf32, strided<[6, 1], offset: ?>>) outs(%z : memref<3x6xf32>)
  return
}

// -----

// A library's call has a constant address.
func.func private @layer.F(%x: memref<8x6xf32>, %i: memref<i32>, %w: memref<6x4xf32>, %y: memref<3x4xf32>) {
  // expected-error @+1 {{a number that is computed on the GPU decides what 'linalg.contract' reads or writes, which only kernels support; the target 'host' compiles this step}}
  %0 = memref.load %i[] : memref<i32>
  %1 = arith.index_cast %0 : i32 to index
  %s = memref.subview %x[%1, 0] [3, 6] [1, 1] : memref<8x6xf32> to memref<3x6xf32, strided<[6, 1], offset: ?>>
  linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%s, %w : memref<3x6xf32, strided<[6, 1], offset: ?>>, memref<6x4xf32>) outs(%y : memref<3x4xf32>)
  return
}
