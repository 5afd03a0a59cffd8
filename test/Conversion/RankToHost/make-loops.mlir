// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-make-loops,canonicalize,cse))' --split-input-file | FileCheck %s

// Elementwise on contiguous buffers: one loop over all elements, four vectors per iteration, no loop for a remainder.
// CHECK-LABEL: @elementwise
// CHECK-DAG: %[[ALL:.*]] = arith.constant 4096 : index
// CHECK-DAG: %[[TURN:.*]] = arith.constant 64 : index
// CHECK: scf.for %{{.*}} to %[[ALL]] step %[[TURN]] {
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK: } {host.parallel, loop_annotation
// CHECK-NOT: scf.for
// CHECK: return
#id = affine_map<(i, j, k) -> (i, j, k)>
func.func private @elementwise(%x: memref<4x16x64xf32>, %y: memref<4x16x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<4x16x64xf32>) outs(%y : memref<4x16x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  }
  return
}

// -----

// A sum along rows: four partial sums in registers, added up once a row. Values of which a row has only one are computed once.
// CHECK-LABEL: @sum_along_rows
// CHECK: scf.for
// CHECK:   %[[S:.*]] = llvm.load {{.*}} -> f32
// CHECK:   math.sqrt %[[S]] : f32
// CHECK:   %[[SUMS:.*]]:4 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-NOT: llvm.store
// CHECK:   vector.reduction <add>, {{.*}} fastmath<reassoc> : vector<16xf32> into f32
// CHECK:   llvm.store {{.*}} : f32
// CHECK: } {host.parallel}
func.func private @sum_along_rows(%x: memref<8x256xf32>, %s: memref<8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : memref<8x256xf32>, memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %r = math.sqrt %scale : f32
    %p = arith.mulf %in, %r : f32
    %a = arith.addf %out, %p : f32
    linalg.yield %a : f32
  }
  return
}

// -----

// A sum of rows: columns outside, their sums in registers while the rows pass.
// CHECK-LABEL: @sum_of_rows
// CHECK: scf.for {{.*}} {
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK:   scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-NOT: llvm.store
// CHECK:     scf.yield
// CHECK:   }
// CHECK:   llvm.store {{.*}} : vector<16xf32>
func.func private @sum_of_rows(%x: memref<4x32x128xf32>, %y: memref<128xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>],
                  iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : memref<4x32x128xf32>) outs(%y : memref<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  }
  return
}

// -----

// 29 elements: one vector of 16, then 8, 4 and 1.
// CHECK-LABEL: @remainder
// CHECK-NOT: scf.for
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : f32
func.func private @remainder(%y: memref<29xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<29xf32>)
  return
}

// -----

// A truth value is a byte in memory, a bit in a vector. A comparison of columns counts in 32 bits at once.
// CHECK-LABEL: @causal
// CHECK-DAG: arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi32>
// CHECK: %[[M:.*]] = arith.cmpi sge, {{.*}} : vector<16xi32>
// CHECK: %[[B:.*]] = llvm.load {{.*}} -> vector<16xi8>
// CHECK: arith.trunci %[[B]] : vector<16xi8> to vector<16xi1>
#rc = affine_map<(i, j) -> (i, j)>
func.func private @causal(%b: memref<16x64xi1>, %y: memref<16x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<16x64xi1>) outs(%y : memref<16x64xf32>) {
  ^bb0(%in: i1, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %r = arith.index_cast %i : index to i32
    %c = arith.index_cast %j : index to i32
    %m = arith.cmpi sge, %r, %c : i32
    %both = arith.andi %m, %in : i1
    %v = arith.select %both, %one, %zero : f32
    linalg.yield %v : f32
  }
  return
}

// -----

// Rows of a table: the row is computed once, its columns are contiguous. Both outer loops are one.
// CHECK-LABEL: @embedding
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 32 : index
// CHECK: scf.for %{{.*}} to %[[ROWS]]
// CHECK:   llvm.load {{.*}} -> i32
// CHECK-NOT: gather
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
func.func private @embedding(%y: memref<4x8x256xf32>, %ids: memref<4x8xi32>, %table: memref<512x256xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>],
                  iterator_types = ["parallel", "parallel", "parallel"]} outs(%y : memref<4x8x256xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %id = memref.load %ids[%i, %j] : memref<4x8xi32>
    %row = arith.index_cast %id : i32 to index
    %v = memref.load %table[%row, %k] : memref<512x256xf32>
    linalg.yield %v : f32
  }
  return
}

// -----

// Parts of this sum cannot be combined: one element after the other.
// CHECK-LABEL: @in_order
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32)
// CHECK-NOT: vector
// CHECK: return
func.func private @in_order(%x: memref<64xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<64xf32>) outs(%y : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.subf %in, %out : f32
    linalg.yield %a : f32
  }
  return
}

// -----

// On slices in a loop, whose places are known only when it runs.
// CHECK-LABEL: @slices
// CHECK: scf.for %[[I:.*]] = {{.*}}
// CHECK:   arith.muli %[[I]]
// CHECK-NOT: memref.subview
// CHECK:   llvm.store {{.*}} : vector<16xf32>
func.func private @slices(%x: memref<64x48xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c8 {
    %part = memref.subview %x[%i, 0] [8, 48] [1, 1] : memref<64x48xf32> to memref<8x48xf32, strided<[48, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%part : memref<8x48xf32, strided<[48, 1], offset: ?>>)
  }
  return
}

// -----

// A body with a branch has no vector form.
// CHECK-LABEL: @branch
// CHECK: scf.for
// CHECK:   memref.load
// CHECK:   scf.if
func.func private @branch(%x: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%out: f32):
    %negative = arith.cmpf olt, %out, %zero : f32
    %v = scf.if %negative -> f32 {
      scf.yield %zero : f32
    } else {
      %r = math.log %out : f32
      scf.yield %r : f32
    }
    linalg.yield %v : f32
  }
  return
}
