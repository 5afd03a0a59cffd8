// RUN: pp-opt %s --device-outline-kernels | FileCheck %s
// RUN: pp-opt %s --device-outline-kernels --device-write-kernels | FileCheck %s --check-prefix=WRITTEN

// A scatter that replaces rows copies each of them, which a kernel does element by element.
// CHECK-LABEL: func.func private @replace
// CHECK: call @kernel.0(
// CHECK-LABEL: func.func private @kernel.0(
// CHECK: scf.for
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: block = [64, 1, 1]
func.func private @replace(%ids: memref<16xi32>, %rows: memref<16x64xf32>, %table: memref<32x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %id = memref.load %ids[%i] : memref<16xi32>
    %at = arith.index_cast %id : i32 to index
    %from = memref.subview %rows[%i, 0] [1, 64] [1, 1] : memref<16x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %table[%at, 0] [1, 64] [1, 1] : memref<32x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    memref.copy %from, %to : memref<64xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
  } {device.group = 0}
  return
}
