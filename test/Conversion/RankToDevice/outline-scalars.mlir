// RUN: pp-opt %s --split-input-file --device-outline-kernels --verify-diagnostics | FileCheck %s

// The start of a slice is a number in the device's memory, which the kernel reads. The number is overwritten before the second
// kernel, so both read a copy.
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

// The host does not know the address of a library call's operand: a kernel copies the slice to another buffer. The second call
// writes its result to a buffer, from which a kernel copies it.
// CHECK-LABEL: @layer.F(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x6xf32>, %[[I:[a-z0-9]+]]: memref<i32>, %[[W:[a-z0-9]+]]: memref<6x4xf32>, %[[Y:[a-z0-9]+]]: memref<3x4xf32>, %[[Z:[a-z0-9]+]]: memref<8x4xf32>
// CHECK: %[[SLICE:.*]] = memref.alloc() : memref<3x6xf32>
// CHECK: call @{{kernel[.0-9]+}}(%[[X]], %[[I]], %[[SLICE]])
// CHECK: rank.contract accumulate {{.*}} ins(%[[SLICE]], %[[W]] : memref<3x6xf32>, memref<6x4xf32>) outs(%[[Y]] : memref<3x4xf32>)
// CHECK: %[[PRODUCT:.*]] = memref.alloc() : memref<3x4xf32>
// CHECK: rank.contract overwrite {{.*}} outs(%[[PRODUCT]] : memref<3x4xf32>)
// CHECK: call @{{kernel[.0-9]+}}(%[[PRODUCT]], %[[Z]], %[[I]])
func.func private @layer.F(%x: memref<8x6xf32>, %i: memref<i32>, %w: memref<6x4xf32>, %y: memref<3x4xf32>, %z: memref<8x4xf32>) {
  %0 = memref.load %i[] : memref<i32>
  %1 = arith.index_cast %0 : i32 to index
  %s = memref.subview %x[%1, 0] [3, 6] [1, 1] : memref<8x6xf32> to memref<3x6xf32, strided<[6, 1], offset: ?>>
  rank.contract accumulate maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%s, %w : memref<3x6xf32, strided<[6, 1], offset: ?>>, memref<6x4xf32>) outs(%y : memref<3x4xf32>)
  %t = memref.subview %z[%1, 0] [3, 4] [1, 1] : memref<8x4xf32> to memref<3x4xf32, strided<[4, 1], offset: ?>>
  rank.contract overwrite maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%s, %w : memref<3x6xf32, strided<[6, 1], offset: ?>>, memref<6x4xf32>) outs(%t : memref<3x4xf32, strided<[4, 1], offset: ?>>)
  return
}

// -----

// The graph library accepts only addresses that are multiples of 16 bytes.
// CHECK-LABEL: @layer.F(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1x2x5x3xf32>, %[[W:[a-z0-9]+]]: memref<1x1x2x2xf32>
// CHECK-DAG: %[[IMAGE:.*]] = memref.subview %[[X]][0, 0, 0, 0]
// CHECK-DAG: %[[SECOND:.*]] = memref.alloc() : memref<1x1x5x3xf32>
// CHECK: call @{{kernel[.0-9]+}}(%{{.*}}, %[[SECOND]])
// CHECK: rank.convolve {{.*}} ins(%[[SECOND]], %[[W]]
// CHECK: rank.convolve {{.*}} ins(%[[IMAGE]], %[[W]]
func.func private @layer.F(%x: memref<1x2x5x3xf32>, %w: memref<1x1x2x2xf32>, %y: memref<1x1x4x2xf32>, %z: memref<1x1x4x2xf32>) {
  %first = memref.subview %x[0, 0, 0, 0] [1, 1, 5, 3] [1, 1, 1, 1] : memref<1x2x5x3xf32> to memref<1x1x5x3xf32, strided<[30, 15, 3, 1]>>
  %second = memref.subview %x[0, 1, 0, 0] [1, 1, 5, 3] [1, 1, 1, 1] : memref<1x2x5x3xf32> to memref<1x1x5x3xf32, strided<[30, 15, 3, 1], offset: 15>>
  rank.convolve result image_dims [0, 1, 2, 3] filter_dims [0, 1, 2, 3] result_dims [0, 1, 2, 3] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0]
      ins(%second, %w : memref<1x1x5x3xf32, strided<[30, 15, 3, 1], offset: 15>>, memref<1x1x2x2xf32>) outs(%y : memref<1x1x4x2xf32>)
  rank.convolve result image_dims [0, 1, 2, 3] filter_dims [0, 1, 2, 3] result_dims [0, 1, 2, 3] stride [1, 1] dilation [1, 1] before [0, 0] after [0, 0]
      ins(%first, %w : memref<1x1x5x3xf32, strided<[30, 15, 3, 1]>>, memref<1x1x2x2xf32>) outs(%z : memref<1x1x4x2xf32>)
  return
}

// -----

// Arrays of a loop that do not fit in shared memory are moved to the workspace.
// CHECK-LABEL: @layer.F(
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<20000xf32>
// CHECK: call @[[LOOP:kernel[.0-9]+]](%{{.*}}, %[[OWN]])
// CHECK: func.func private @[[LOOP]](
// CHECK-NOT: memref.alloc
func.func private @layer.F(%x: memref<20000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    %own = memref.alloc() : memref<20000xf32>
    linalg.exp ins(%x : memref<20000xf32>) outs(%own : memref<20000xf32>)
    linalg.tanh ins(%own : memref<20000xf32>) outs(%x : memref<20000xf32>)
  }
  return
}

// -----

// Only kernels can use the number, not another call.
func.func private @other(%i: index)
func.func private @layer.F(%i: memref<i32>) {
  // expected-error @+1 {{a number that is computed on the GPU decides what 'func.call' reads or writes, which only kernels support; the target 'host' compiles this step}}
  %0 = memref.load %i[] : memref<i32>
  %1 = arith.index_cast %0 : i32 to index
  call @other(%1) : (index) -> ()
  return
}
