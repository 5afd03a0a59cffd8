// RUN: pp-opt %s --device-outline-kernels | FileCheck %s

// Equal work on views whose offsets are multiples of 16 bytes is one kernel; another offset is part of the kernel.
// CHECK-LABEL: func.func private @rows(
// CHECK: call @[[ROW:kernel[.0-9]+]](%{{.*}}, %{{.*}}) : (memref<16xf32>, memref<16xf32>)
// CHECK: %[[SECOND:.*]] = rank.rebase %{{.*}} : memref<16xf32, strided<[1], offset: 16>> to memref<16xf32>
// CHECK: call @[[ROW]](%[[SECOND]], %{{.*}}) : (memref<16xf32>, memref<16xf32>)
// CHECK-NOT: rank.rebase
// CHECK: call @{{kernel[.0-9]+}}(%{{.*}}, %{{.*}}) : (memref<16xf32, strided<[1], offset: 1>>, memref<16xf32>)
func.func private @rows(%x: memref<3x16xf32>, %a: memref<16xf32>, %b: memref<16xf32>, %c: memref<16xf32>) {
  %first = memref.subview %x[0, 0] [1, 16] [1, 1] : memref<3x16xf32> to memref<16xf32, strided<[1]>>
  %0 = memref.cast %first : memref<16xf32, strided<[1]>> to memref<16xf32>
  %second = memref.subview %x[1, 0] [1, 16] [1, 1] : memref<3x16xf32> to memref<16xf32, strided<[1], offset: 16>>
  %flat = memref.collapse_shape %x [[0, 1]] : memref<3x16xf32> into memref<48xf32>
  %odd = memref.subview %flat[1] [16] [1] : memref<48xf32> to memref<16xf32, strided<[1], offset: 1>>
  linalg.exp {device.group = 0} ins(%0 : memref<16xf32>) outs(%a : memref<16xf32>)
  linalg.exp {device.group = 1} ins(%second : memref<16xf32, strided<[1], offset: 16>>) outs(%b : memref<16xf32>)
  linalg.exp {device.group = 2} ins(%odd : memref<16xf32, strided<[1], offset: 1>>) outs(%c : memref<16xf32>)
  return
}
