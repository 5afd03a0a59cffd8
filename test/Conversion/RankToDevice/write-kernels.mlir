// RUN: pp-opt %s --split-input-file --device-write-kernels | FileCheck %s

// Neighbouring loops are one; a thread takes four elements side by side.
// CHECK-LABEL: func.func private @kernel.elementwise(
// CHECK: gpu.module @kernels
// CHECK: gpu.func @kernel_elementwise(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: block = [256, 1, 1]
// CHECK-SAME: bytes = [65536, 65536]
// CHECK-SAME: grid = [16, 1, 1]
// CHECK-SAME: shared = 0
// CHECK-NOT: arith.remui
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-4: arith.negf
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
#map = affine_map<(i, j) -> (i, j)>
func.func private @kernel.elementwise(%x: memref<64x256xf32>, %y: memref<64x256xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x256xf32>) outs(%y : memref<64x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Each warp has a row: results of one operation stay in registers for the next, and shuffles add the sums of lanes.
// CHECK-LABEL: gpu.func @kernel_rows
// CHECK-SAME: block = [128, 1, 1]
// CHECK-SAME: grid = [16, 1, 1]
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: arith.divf
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK-NOT: gpu.barrier
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @kernel.rows(%x: memref<64x128xf32>, %y: memref<64x128xf32>) attributes {host.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<64x128xf32>
  %s = memref.alloc() : memref<64xf32>
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x128xf32>) outs(%e : memref<64x128xf32>) attrs = {device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<64xf32>)
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : memref<64x128xf32>) outs(%s : memref<64xf32>) attrs = {device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : memref<64x128xf32>, memref<64xf32>) outs(%y : memref<64x128xf32>) attrs = {device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// The blocks of a scatter share the ids. A warp notes which of 32 updates belong to its block; then each thread makes those, in
// order, for one column. The added value is divided by 1, or by a count if the runtime sets a bit.
// CHECK-LABEL: gpu.func @kernel_scatter
// CHECK-SAME: adds = [2]
// CHECK-SAME: block = [64, 1, 1]
// CHECK-SAME: grid = [1, 16, 1]
// CHECK-SAME: shared = 16
// CHECK: scf.yield %{{.*}} : i1
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.intr.ctpop
// CHECK: "llvm.intr.cttz"
// CHECK: llvm.load {{.*}} -> i32
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK: llvm.store
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @kernel.scatter(%ids: memref<16xi32>, %rows: memref<16x64xf32>, %table: memref<32x64xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %id = memref.load %ids[%i] : memref<16xi32>
    %at = arith.index_cast %id : i32 to index
    %from = memref.subview %rows[%i, 0] [1, 64] [1, 1] : memref<16x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %table[%at, 0] [1, 64] [1, 1] : memref<32x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// If there are more updates than the notes have room for, several passes are made; notes are written after the previous pass.
// Rows of single numbers have one column, but there are 64 blocks all the same.
// CHECK-LABEL: gpu.func @kernel_many
// CHECK-SAME: block = [32, 1, 1]
// CHECK-SAME: grid = [1, 64, 1]
// CHECK-SAME: shared = 8192
// CHECK: gpu.barrier
// CHECK: llvm.intr.ctpop
// CHECK: gpu.barrier
func.func private @kernel.many(%ids: memref<4x20000xi32>, %rows: memref<4x20000x1xf32>, %table: memref<50x1xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c49 = arith.constant 49 : index
  %c20000 = arith.constant 20000 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c20000 step %c1 {
      %id = memref.load %ids[%i, %j] : memref<4x20000xi32>
      %at = arith.index_cast %id : i32 to index
      %inside = arith.cmpi ule, %at, %c49 : index
      scf.if %inside {
        %from = memref.subview %rows[%i, %j, 0] [1, 1, 1] [1, 1, 1] : memref<4x20000x1xf32> to memref<1xf32, strided<[1], offset: ?>>
        %to = memref.subview %table[%at, 0] [1, 1] [1, 1] : memref<50x1xf32> to memref<1xf32, strided<[1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
            ins(%from : memref<1xf32, strided<[1], offset: ?>>) outs(%to : memref<1xf32, strided<[1], offset: ?>>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.addf %o, %a : f32
          linalg.yield %0 : f32
        }
      }
    }
  }
  return
}

// Three warps use 2,046 of the 2,048 words for notes.
// CHECK-LABEL: gpu.func @kernel_three_warps
// CHECK-SAME: block = [96, 1, 1]
// CHECK-SAME: grid = [1, 128, 1]
// CHECK-SAME: shared = 8192
// CHECK: gpu.barrier
// CHECK: llvm.intr.ctpop
// CHECK: gpu.barrier
func.func private @kernel.three_warps(%ids: memref<4x20000xi32>, %rows: memref<4x20000x96xf32>, %table: memref<50x96xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c49 = arith.constant 49 : index
  %c20000 = arith.constant 20000 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c20000 step %c1 {
      %id = memref.load %ids[%i, %j] : memref<4x20000xi32>
      %at = arith.index_cast %id : i32 to index
      %inside = arith.cmpi ule, %at, %c49 : index
      scf.if %inside {
        %from = memref.subview %rows[%i, %j, 0] [1, 1, 96] [1, 1, 1] : memref<4x20000x96xf32> to memref<96xf32, strided<[1], offset: ?>>
        %to = memref.subview %table[%at, 0] [1, 96] [1, 1] : memref<50x96xf32> to memref<96xf32, strided<[1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
            ins(%from : memref<96xf32, strided<[1], offset: ?>>) outs(%to : memref<96xf32, strided<[1], offset: ?>>) {
        ^bb0(%a: f32, %o: f32):
          %0 = arith.addf %o, %a : f32
          linalg.yield %0 : f32
        }
      }
    }
  }
  return
}

// -----

// Updates of rows that overlap depend on each other, whatever their ids: one thread makes all of them.
// CHECK-LABEL: gpu.func @kernel_overlap
// CHECK-SAME: block = [32, 1, 1]
// CHECK-SAME: grid = [1, 1, 1]
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func private @kernel.overlap(%ids: memref<16xi32>, %rows: memref<16x64xf32>, %table: memref<128xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %id = memref.load %ids[%i] : memref<16xi32>
    %at = arith.index_cast %id : i32 to index
    %from = memref.subview %rows[%i, 0] [1, 64] [1, 1] : memref<16x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    %to = memref.subview %table[%at] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%from : memref<64xf32, strided<[1], offset: ?>>) outs(%to : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

// A kernel reads the array to which it adds, or if a bit of its argument is set, starts with zeros: the runtime sets it for the
// first. It divides the stored sum by a count if another bit is set: for the last.
// CHECK: gpu.func @kernel_adds(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[BITS:.*]]: i64) kernel
// CHECK-SAME: sums = [1]
// CHECK: %[[BIT:.*]] = arith.andi %[[BITS]], %{{.*}} : i64
// CHECK: %[[READS:.*]] = arith.cmpi eq, %[[BIT]],
// CHECK: scf.if %[[READS]]
// CHECK: llvm.load
// CHECK: else
// CHECK: %[[COUNT:.*]] = arith.shrui %[[BITS]],
// CHECK: arith.uitofp %[[COUNT]] : i64 to f32
// CHECK: arith.divf
// CHECK: llvm.store
#map = affine_map<(i, j) -> (i, j)>
func.func private @kernel.adds(%x: memref<64x256xf32>, %y: memref<64x256xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x256xf32>) outs(%y : memref<64x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// If a kernel adds to half of an array, it reads zeros, because a fill writes the whole array.
// CHECK-LABEL: gpu.func @kernel_half(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: shared = 0, written
#map = affine_map<(i, j) -> (i, j)>
func.func private @kernel.half(%x: memref<64x128xf32>, %y: memref<64x128xf32, strided<[256, 1]>>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32, strided<[256, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// 2.5e9 iterations over two small arrays are counted in 64 bits.
// CHECK-LABEL: gpu.func @pairs
// CHECK-NOT: -1794967296
// CHECK: 2500000000
// CHECK: gpu.return
#v = affine_map<(i, j) -> (i)>
#w = affine_map<(i, j) -> (j)>
#z = affine_map<(i, j) -> ()>
func.func private @pairs(%a: memref<50000xf32>, %b: memref<50000xf32>, %r: memref<f32>, %part: memref<512xf32>) attributes {host.kernel} {
  %f = memref.alloc() : memref<f32>
  linalg.generic {indexing_maps = [#v, #w, #z], iterator_types = ["reduction", "reduction"], device.parts = 512 : i64}
    ins(%a, %b : memref<50000xf32>, memref<50000xf32>) outs(%f : memref<f32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %m = arith.mulf %x, %y : f32
      %t = math.tanh %m : f32
      %n = arith.addf %s, %t : f32
      linalg.yield %n : f32
  }
  return
}
