// RUN: pp-opt %s --split-input-file --device-outline-kernels | FileCheck %s
// RUN: pp-opt %s --split-input-file --device-outline-kernels --device-write-kernels | FileCheck %s --check-prefix=WRITTEN

// For a sum over rows the kernel of a row group stores one part per block, and another kernel adds these to the initial values
// of the fill. 4096 rows: 256 blocks of 8 teams, each of which takes two rows.
// CHECK-LABEL: func.func private @gradient
// CHECK: %[[PARTS:.*]] = memref.alloc() : memref<256x768xf32>
// CHECK: call @kernel.0(%arg0, %arg1, %arg2, %[[PARTS]])
// CHECK: call @kernel.1(%arg3, %[[PARTS]])
// CHECK-LABEL: func.func private @kernel.0(
// CHECK: linalg.generic {{.*}} attrs = {device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs = {device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs = {device.parts = 256 : i64, device.rows = array<i64: 0>}
// CHECK-LABEL: func.func private @kernel.1(
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]

// Each value of a row is read once. The two warps of a team exchange sums in shared memory, so there is a barrier between rows;
// at the end the sums of the teams are added there.
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: block = [512, 1, 1]
// WRITTEN-SAME: form = "rows", grid = [256, 1, 1], {{.*}}read = 25165824, {{.*}}written = 13369344
// WRITTEN: scf.for
// WRITTEN-COUNT-6: llvm.load {{.*}} vector<4xf32>
// WRITTEN-NOT: llvm.load {{.*}} vector<4xf32>
// WRITTEN: gpu.barrier
// WRITTEN: gpu.barrier
// WRITTEN-NEXT: scf.yield
// WRITTEN: gpu.barrier
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func private @gradient(%x: memref<4096x768xf32>, %y: memref<4096x768xf32>, %out: memref<4096x768xf32>, %g: memref<768xf32>) {
  %zero = arith.constant 0.0 : f32
  %dot = memref.alloc() : memref<4096xf32>
  linalg.fill {device.group = 0} ins(%zero : f32) outs(%dot : memref<4096xf32>)
  linalg.generic {indexing_maps = [#rows, #rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : memref<4096x768xf32>, memref<4096x768xf32>) outs(%dot : memref<4096xf32>)
      attrs = {device.group = 0, device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %dot : memref<4096x768xf32>, memref<4096xf32>) outs(%out : memref<4096x768xf32>)
      attrs = {device.group = 0, device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.mulf %a, %s : f32
    linalg.yield %0 : f32
  }
  linalg.fill {device.group = 0} ins(%zero : f32) outs(%g : memref<768xf32>)
  linalg.generic {indexing_maps = [#rows, #rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : memref<4096x768xf32>, memref<4096x768xf32>) outs(%g : memref<768xf32>)
      attrs = {device.group = 0, device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// Other passes have split this group, and the sum has too few rows for a common kernel: it gets a kernel of its own.
// CHECK-LABEL: func.func private @apart
// CHECK: call @kernel.0(%arg0, %arg1)
// CHECK: call @kernel.1(%arg0, %arg2)
// CHECK-NOT: device.parts
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @apart(%x: memref<64x40xf32>, %out: memref<64x40xf32>, %g: memref<40xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x40xf32>) outs(%out : memref<64x40xf32>) attrs = {device.group = 0, device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<64x40xf32>) outs(%g : memref<40xf32>) attrs = {device.group = 0, device.rows = array<i64: 0>} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}
