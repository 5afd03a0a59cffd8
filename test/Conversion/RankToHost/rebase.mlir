// RUN: pp-opt %s --expand-strided-metadata --lower-affine --convert-host-to-llvm | FileCheck %s

// The pointer of the call is that of the view's first element, also at offsets that do not fit in the constant index of a GEP.
// CHECK-LABEL: llvm.func {{.*}}@calls
// CHECK: %[[BY:.*]] = llvm.mlir.constant(2147483664 : i64) : i64
// CHECK: llvm.getelementptr %{{.*}}[%[[BY]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: llvm.call @kernel
func.func private @kernel(%x: memref<16xf32>)
func.func @calls(%x: memref<200000000x16xf32>) {
  %row = memref.subview %x[134217729, 0] [1, 16] [1, 1] : memref<200000000x16xf32> to memref<16xf32, strided<[1], offset: 2147483664>>
  %0 = rank.rebase %row : memref<16xf32, strided<[1], offset: 2147483664>> to memref<16xf32>
  call @kernel(%0) : (memref<16xf32>) -> ()
  return
}
