// RUN: pp-opt %s --split-input-file --device-write-kernels | FileCheck %s

// Row t + 1 from row t, column by column: a thread for each column runs the loop.
// CHECK-LABEL: gpu.func @kernel_0
// CHECK-SAME: block = [128, 1, 1]
// CHECK-SAME: grid = [2, 1, 1]
#row = affine_map<(i) -> (i)>
func.func private @body(%x: memref<9x256xf32>) {
  call @kernel.0(%x) : (memref<9x256xf32>) -> ()
  return
}
func.func private @kernel.0(%x: memref<9x256xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %t = %c0 to %c8 step %c1 {
    %next = arith.addi %t, %c1 : index
    %a = memref.subview %x[%t, 0] [1, 256] [1, 1] : memref<9x256xf32> to memref<256xf32, strided<[1], offset: ?>>
    %b = memref.subview %x[%next, 0] [1, 256] [1, 1] : memref<9x256xf32> to memref<256xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%a : memref<256xf32, strided<[1], offset: ?>>) outs(%b : memref<256xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %in : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// Each row is the row before, shifted by one column: a thread would read what another one wrote, so one thread runs the loop.
// CHECK-LABEL: gpu.func @kernel_0
// CHECK-SAME: block = [32, 1, 1]
// CHECK-SAME: grid = [1, 1, 1]
#row = affine_map<(i) -> (i)>
func.func private @body(%x: memref<9x256xf32>) {
  call @kernel.0(%x) : (memref<9x256xf32>) -> ()
  return
}
func.func private @kernel.0(%x: memref<9x256xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %t = %c0 to %c8 step %c1 {
    %next = arith.addi %t, %c1 : index
    %a = memref.subview %x[%t, 1] [1, 255] [1, 1] : memref<9x256xf32> to memref<255xf32, strided<[1], offset: ?>>
    %b = memref.subview %x[%next, 0] [1, 255] [1, 1] : memref<9x256xf32> to memref<255xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%a : memref<255xf32, strided<[1], offset: ?>>) outs(%b : memref<255xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %in : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// The next row is chosen by a number in the array that the loop writes: one thread.
// CHECK-LABEL: gpu.func @kernel_0
// CHECK-SAME: block = [32, 1, 1]
// CHECK-SAME: grid = [1, 1, 1]
#row = affine_map<(i) -> (i)>
func.func private @body(%x: memref<8x256xi32>) {
  call @kernel.0(%x) : (memref<8x256xi32>) -> ()
  return
}
func.func private @kernel.0(%x: memref<8x256xi32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %t = %c0 to %c8 step %c1 {
    %number = memref.load %x[%t, %c0] : memref<8x256xi32>
    %to = arith.index_cast %number : i32 to index
    %a = memref.subview %x[%t, 0] [1, 256] [1, 1] : memref<8x256xi32> to memref<256xi32, strided<[1], offset: ?>>
    %b = memref.subview %x[%to, 0] [1, 256] [1, 1] : memref<8x256xi32> to memref<256xi32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%a : memref<256xi32, strided<[1], offset: ?>>) outs(%b : memref<256xi32, strided<[1], offset: ?>>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.addi %in, %in : i32
      linalg.yield %0 : i32
    }
  }
  return
}

// -----

// A row from a column of the same square: threads would read what others wrote, so one runs the loop.
// CHECK-LABEL: gpu.func @k
// CHECK-SAME: block = [32, 1, 1]
func.func private @k(%a: memref<64x64xf32>, %b: memref<64x64xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %col = memref.subview %a[0, %i] [64, 1] [1, 1] : memref<64x64xf32> to memref<64xf32, strided<[64], offset: ?>>
    %rowb = memref.subview %b[%i, 0] [1, 64] [1, 1] : memref<64x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%col : memref<64xf32, strided<[64], offset: ?>>) outs(%rowb : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32):
        %s = arith.addf %x, %x : f32
        linalg.yield %s : f32
    }
    %row = memref.subview %a[%i, 0] [1, 64] [1, 1] : memref<64x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%rowb : memref<64xf32, strided<[1], offset: ?>>) outs(%row : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32):
        linalg.yield %x : f32
    }
  }
  return
}
