// RUN: pp-opt %s --pass-pipeline='builtin.module(body-outline-kernels)' | FileCheck %s

#id = affine_map<(i) -> (i)>

// Equal loop nests become one function; an operand read and written is one argument.
// CHECK-LABEL: @first
// CHECK-NEXT: call @kernel.0(%arg0, %arg1)
// CHECK-NEXT: call @kernel.1(%arg1)
func.func private @first(%x: memref<8xf32>, %y: memref<8xf32>) {
  linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.exp ins(%y : memref<8xf32>) outs(%y : memref<8xf32>)
  return
}
// CHECK-LABEL: @second
// CHECK-NEXT: call @kernel.0(%arg1, %arg0)
func.func private @second(%x: memref<8xf32>, %y: memref<8xf32>) {
  linalg.exp ins(%y : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// Two views of one buffer may alias, so their arguments are not marked noalias.
// CHECK-LABEL: @views
// CHECK: call @kernel.2
func.func private @views(%x: memref<16xf32>) {
  %a = memref.subview %x[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %b = memref.subview %x[4] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 4>>
  linalg.exp ins(%a : memref<8xf32, strided<[1]>>) outs(%b : memref<8xf32, strided<[1], offset: 4>>)
  return
}

// A view at an offset known only at run time is made inside the kernel.
// CHECK-LABEL: @moving
// CHECK: %[[I:.*]] = memref.load
// CHECK: call @kernel.3(%arg0, %[[I]], %arg2)
func.func private @moving(%x: memref<16xf32>, %at: memref<index>, %y: memref<8xf32>) {
  %i = memref.load %at[] : memref<index>
  %a = memref.subview %x[%i] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: ?>>
  linalg.exp ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%y : memref<8xf32>)
  return
}

// CHECK-LABEL: func.func private @kernel.0(
// CHECK-SAME: {llvm.noalias}
// CHECK-SAME: {llvm.noalias}
// CHECK-SAME: host.kernel
// CHECK-LABEL: func.func private @kernel.2(
// CHECK-NOT: noalias
// CHECK-LABEL: func.func private @kernel.3(
// CHECK: memref.subview
