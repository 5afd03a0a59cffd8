// RUN: pp-opt %s --split-input-file --device-outline-kernels --device-write-kernels | FileCheck %s

// Numbers are added to looked-up elements, as in the gradient of take_along_axis: blocks divide the elements among them.
// CHECK-LABEL: gpu.func @kernel_0(
// CHECK-SAME: form = "scatter"
// CHECK-SAME: grid = [1, 64, 1]
func.func private @add(%ids: memref<4x300xi32>, %values: memref<4x300xf32>, %table: memref<4x300xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c300 = arith.constant 300 : index
  scf.for %b = %c0 to %c4 step %c1 {
    scf.for %i = %c0 to %c300 step %c1 {
      %id = memref.load %ids[%b, %i] : memref<4x300xi32>
      %at = arith.index_cast %id : i32 to index
      %inside = arith.cmpi slt, %at, %c300 : index
      scf.if %inside {
        %old = memref.load %table[%b, %at] : memref<4x300xf32>
        %value = memref.load %values[%b, %i] : memref<4x300xf32>
        %new = arith.addf %old, %value : f32
        memref.store %new, %table[%b, %at] : memref<4x300xf32>
      }
    }
  }
  return
}

// -----

// Each number is computed from the one before in the table: one thread runs the loop.
// CHECK-LABEL: gpu.func @kernel_0(
// CHECK-SAME: form = "loops"
// CHECK-SAME: grid = [1, 1, 1]
func.func private @chain(%ids: memref<300xi32>, %table: memref<300xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c300 = arith.constant 300 : index
  scf.for %i = %c1 to %c300 step %c1 {
    %id = memref.load %ids[%i] : memref<300xi32>
    %at = arith.index_cast %id : i32 to index
    %before = arith.subi %at, %c1 : index
    %old = memref.load %table[%before] : memref<300xf32>
    %new = arith.addf %old, %old : f32
    memref.store %new, %table[%at] : memref<300xf32>
  }
  return
}
