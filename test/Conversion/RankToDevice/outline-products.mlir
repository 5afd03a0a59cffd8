// RUN: pp-opt %s --split-input-file --device-outline-kernels | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// The product includes the row that is added to it; the kernel after it is for a library that does not support this.
// CHECK-LABEL: @layer.F(
// CHECK-NOT: call @kernel
// CHECK: rank.contract overwrite {{.*}} outs(%[[Y:.*]] : memref<48x64xf32>) epilogue bias bias(%[[B:.*]] : memref<64xf32>)
// CHECK-NEXT: rank.otherwise @[[KERNEL:.*]](%[[B]], %[[Y]])
// CHECK-NEXT: return
// CHECK: func.func private @[[KERNEL]](
// CHECK: linalg.generic
// CHECK-NOT: device.epilogue
func.func private @layer.F(%x: memref<48x32xf32>, %w: memref<32x64xf32>, %b: memref<64xf32>, %y: memref<48x64xf32>) {
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<64xf32>) outs(%y : memref<48x64xf32>) attrs = {device.epilogue = "bias"} {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.addf %o, %u : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// Without the hint, or if the product adds to an array, the addition is a kernel like others.
// CHECK-LABEL: @layer.F(
// CHECK: rank.contract overwrite
// CHECK-NOT: epilogue
// CHECK: call @[[KERNEL:kernel.*]](
// CHECK: rank.contract accumulate
// CHECK-NOT: epilogue
// CHECK: call @[[KERNEL]](
func.func private @layer.F(%x: memref<48x32xf32>, %w: memref<32x64xf32>, %b: memref<64xf32>, %y: memref<48x64xf32>) {
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<64xf32>) outs(%y : memref<48x64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.addf %o, %u : f32
    linalg.yield %0 : f32
  }
  rank.contract accumulate maps [#a, #b, #c] ins(%x, %w : memref<48x32xf32>, memref<32x64xf32>) outs(%y : memref<48x64xf32>)
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<64xf32>) outs(%y : memref<48x64xf32>) attrs = {device.epilogue = "bias"} {
  ^bb0(%u: f32, %o: f32):
    %0 = arith.addf %o, %u : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// A product in a loop that is a kernel starts from zeros there: the kernel calls no library.
// CHECK-LABEL: @layer.F(
// CHECK: func.func private @kernel.0(
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-NOT: rank.contract
func.func private @layer.F(%x: memref<4x3x2xf32>, %w: memref<2x3xf32>, %y: memref<3x3xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  scf.for %i = %0 to %4 step %1 {
    %s = memref.subview %x[%i, 0, 0] [1, 3, 2] [1, 1, 1] : memref<4x3x2xf32> to memref<3x2xf32, strided<[2, 1], offset: ?>>
    rank.contract overwrite maps [#a, #b, #c] ins(%s, %w : memref<3x2xf32, strided<[2, 1], offset: ?>>, memref<2x3xf32>) outs(%y : memref<3x3xf32>)
  }
  return
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// An unrolled loop reads its slices through casts; their places are known, so nothing is copied.
// CHECK-LABEL: @layer.F(
// CHECK-NOT: call @kernel
// CHECK: rank.contract overwrite {{.*}} ins(%{{.*}} : memref<3x2xf32, strided<[2, 1], offset: 6>>, memref<2x3xf32>)
// CHECK-NOT: call @kernel
func.func private @layer.F(%x: memref<4x3x2xf32>, %w: memref<2x3xf32>, %y: memref<3x3xf32>) {
  %s = memref.subview %x[1, 0, 0] [1, 3, 2] [1, 1, 1] : memref<4x3x2xf32> to memref<3x2xf32, strided<[2, 1], offset: 6>>
  %t = memref.cast %s : memref<3x2xf32, strided<[2, 1], offset: 6>> to memref<3x2xf32, strided<[2, 1], offset: ?>>
  rank.contract overwrite maps [#a, #b, #c] ins(%t, %w : memref<3x2xf32, strided<[2, 1], offset: ?>>, memref<2x3xf32>) outs(%y : memref<3x3xf32>)
  return
}
