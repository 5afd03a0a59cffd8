// RUN: pp-opt %s --convert-host-to-llvm | FileCheck %s

// Buffers without elements are pointers like others, even if one of their strides would be 0.
// CHECK-NOT: llvm.mlir.global
memref.global "private" constant @none : memref<1x3x0x3xf32> = dense<>

// CHECK: llvm.func @take(!llvm.ptr)
func.func private @take(memref<1x3x0x3xf32>)

// CHECK: llvm.func internal @give(%{{.*}}: !llvm.ptr)
func.func private @give(%a: memref<1x3x0x3xf32>) {
  %none = memref.get_global @none : memref<1x3x0x3xf32>
  func.call @take(%none) : (memref<1x3x0x3xf32>) -> ()
  func.call @take(%a) : (memref<1x3x0x3xf32>) -> ()
  return
}
