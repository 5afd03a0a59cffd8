// RUN: pp-opt %s --split-input-file --device-write-kernels | FileCheck %s

// An operand that is broadcast counts once, and so does one that is read twice; values that stay in registers do not count.
// CHECK-LABEL: gpu.func @kernel_broadcast
// CHECK-SAME: flops = 8192, form = "elements", {{.*}}read = 33280, {{.*}}written = 32768
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @kernel.broadcast(%x: memref<64x128xf32>, %g: memref<128xf32>, %y: memref<64x128xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#all, #column, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %g, %g : memref<64x128xf32>, memref<128xf32>, memref<128xf32>) outs(%y : memref<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A gather reads one row for each id, at most the table.
// CHECK-LABEL: gpu.func @kernel_gather
// CHECK-SAME: flops = 0, form = "elements", {{.*}}read = 8256, {{.*}}written = 8192
#id = affine_map<(i, j) -> (i)>
#row = affine_map<(i, j) -> (i, j)>
func.func private @kernel.gather(%t: memref<1000x128xf32>, %ids: memref<16xi32>, %y: memref<16x128xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel"]}
      ins(%ids : memref<16xi32>) outs(%y : memref<16x128xf32>) {
  ^bb0(%id: i32, %o: f32):
    %i = arith.index_cast %id : i32 to index
    %j = linalg.index 1 : index
    %0 = memref.load %t[%i, %j] : memref<1000x128xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// One element of each row, at any place: for each a sector of 32 bytes is moved.
// CHECK-LABEL: gpu.func @kernel_take
// CHECK-SAME: flops = 0, form = "elements", {{.*}}read = 576, {{.*}}written = 64
#each = affine_map<(i) -> (i)>
func.func private @kernel.take(%t: memref<16x1000xf32>, %ids: memref<16xi32>, %y: memref<16xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]}
      ins(%ids : memref<16xi32>) outs(%y : memref<16xf32>) {
  ^bb0(%id: i32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %id : i32 to index
    %0 = memref.load %t[%i, %j] : memref<16x1000xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// A scatter-add touches a row of the table for each update, not the table.
// CHECK-LABEL: gpu.func @kernel_scatter
// CHECK-SAME: flops = {{[0-9]+}}, form = "scatter", {{.*}}read = 16448, {{.*}}written = 8192
#one = affine_map<(j) -> (j)>
func.func private @kernel.scatter(%ids: memref<16xi32>, %u: memref<16x128xf32>, %t: memref<1000x128xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %n = %c0 to %c16 step %c1 {
    %id = memref.load %ids[%n] : memref<16xi32>
    %i = arith.index_cast %id : i32 to index
    %from = memref.subview %u[%n, 0] [1, 128] [1, 1] : memref<16x128xf32> to memref<128xf32, strided<[1], offset: ?>>
    %to = memref.subview %t[%i, 0] [1, 128] [1, 1] : memref<1000x128xf32> to memref<128xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
        ins(%from : memref<128xf32, strided<[1], offset: ?>>) outs(%to : memref<128xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}
