// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-plan-workspace,canonicalize))' | FileCheck %s

// The first temporary is dead before the third is made: they share bytes. Sizes are rounded up to 64.
// CHECK-LABEL: @chain
// CHECK-SAME: %[[WS:[a-z0-9]+]]: memref<192xi8>
// CHECK-SAME: rank.workspace = 192
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[NEXT:.*]] = arith.constant 128 : index
// CHECK-DAG: memref.view %[[WS]][%[[ZERO]]][] : memref<192xi8> to memref<32xf32>
// CHECK-DAG: memref.view %[[WS]][%[[NEXT]]][] : memref<192xi8> to memref<4xf32>
// CHECK-DAG: memref.view %[[WS]][%[[ZERO]]][] : memref<192xi8> to memref<8xf32>
// CHECK-NOT: memref.alloc
func.func private @chain(%x: memref<32xf32>, %y: memref<4xf32>, %z: memref<8xf32>) {
  %a = memref.alloc() : memref<32xf32>
  linalg.copy ins(%x : memref<32xf32>) outs(%a : memref<32xf32>)
  %b = memref.alloc() : memref<4xf32>
  %part = memref.subview %a[0] [4] [1] : memref<32xf32> to memref<4xf32, strided<[1]>>
  linalg.copy ins(%part : memref<4xf32, strided<[1]>>) outs(%b : memref<4xf32>)
  %c = memref.alloc() : memref<8xf32>
  linalg.copy ins(%z : memref<8xf32>) outs(%c : memref<8xf32>)
  linalg.copy ins(%c : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.copy ins(%b : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// A view keeps its buffer alive.
// CHECK-LABEL: @alias
// CHECK-SAME: rank.workspace = 256
func.func private @alias(%x: memref<32xf32>, %y: memref<4xf32>) {
  %a = memref.alloc() : memref<32xf32>
  linalg.copy ins(%x : memref<32xf32>) outs(%a : memref<32xf32>)
  %part = memref.subview %a[0] [4] [1] : memref<32xf32> to memref<4xf32, strided<[1]>>
  %b = memref.alloc() : memref<32xf32>
  linalg.copy ins(%x : memref<32xf32>) outs(%b : memref<32xf32>)
  linalg.copy ins(%b : memref<32xf32>) outs(%x : memref<32xf32>)
  linalg.copy ins(%part : memref<4xf32, strided<[1]>>) outs(%y : memref<4xf32>)
  return
}

// An i1 takes a byte.
// CHECK-LABEL: @bytes
// CHECK-SAME: rank.workspace = 128
func.func private @bytes(%x: memref<100xi1>) {
  %a = memref.alloc() : memref<100xi1>
  linalg.copy ins(%x : memref<100xi1>) outs(%a : memref<100xi1>)
  linalg.copy ins(%a : memref<100xi1>) outs(%x : memref<100xi1>)
  return
}
