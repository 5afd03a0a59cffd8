// RUN: pp-opt %s --split-input-file --device-outline-kernels | FileCheck %s
// RUN: pp-opt %s --split-input-file --device-outline-kernels --device-write-kernels | FileCheck %s --check-prefix=WRITTEN

// Enough rows for several parts: one kernel computes the parts, another adds them to the initial values of the fill.
// CHECK-LABEL: func.func private @columns
// CHECK: %[[PARTS:.*]] = memref.alloc() : memref<64x40xf32>
// CHECK: call @kernel.0(%arg0, %[[PARTS]])
// CHECK: call @kernel.1(%arg1, %[[PARTS]])
// CHECK-LABEL: func.func private @kernel.0(
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]{{.*}} attrs = {device.parts = 64 : i64}
// CHECK-LABEL: func.func private @kernel.1(
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]

// Lanes take columns and strands of lanes take rows; shuffles add the strands of a warp. Blocks are few, so each has the 8 columns that memory moves at once: five for 40.
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: block = [256, 1, 1]
// WRITTEN-SAME: grid = [5, 64, 1]
// WRITTEN-SAME: shared = 256
// WRITTEN-COUNT-2: gpu.shuffle xor
// WRITTEN: gpu.barrier
// WRITTEN-LABEL: gpu.func @kernel_1
// WRITTEN-SAME: grid = [5, 1, 1]
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @columns(%x: memref<4096x40xf32>, %y: memref<40xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill {device.group = 0} ins(%zero : f32) outs(%y : memref<40xf32>)
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<4096x40xf32>) outs(%y : memref<40xf32>) attrs = {device.group = 0} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// One result: the terms are distributed over all threads of a block, few each.
// CHECK-LABEL: func.func private @all
// CHECK: %[[PARTS:.*]] = memref.alloc() : memref<320xf32>
// CHECK: call @kernel.0(%arg0, %[[PARTS]])
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: grid = [1, 320, 1]
// WRITTEN-COUNT-5: gpu.shuffle xor
#rows = affine_map<(i, j) -> (i, j)>
func.func private @all(%x: memref<4096x40xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<4096x40xf32>) outs(%y : memref<f32>) attrs = {device.group = 0} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// Few rows, or rows of many columns, need one kernel, whose warps share the rows. With few columns a block has as many of these
// as memory moves at once, and the max number of threads.
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: block = [1024, 1, 1]
// WRITTEN-SAME: grid = [5, 1, 1]
// WRITTEN: gpu.barrier
// CHECK-LABEL: func.func private @whole
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: call @kernel
// CHECK-NOT: device.parts
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @whole(%x: memref<400x40xf32>, %y: memref<40xf32>, %z: memref<4096x20000xf32>, %w: memref<20000xf32>) {
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<400x40xf32>) outs(%y : memref<40xf32>) attrs = {device.group = 0} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%z : memref<4096x20000xf32>) outs(%w : memref<20000xf32>) attrs = {device.group = 1} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Few rows of few columns, such as parts, are shared by warps too; with many columns every thread has one column.
// WRITTEN-LABEL: gpu.func @kernel_0
// WRITTEN-SAME: grid = [48, 1, 1]
// WRITTEN: gpu.barrier
// WRITTEN-LABEL: gpu.func @kernel_1
// WRITTEN-NOT: gpu.barrier
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @parts(%x: memref<21x768xf32>, %y: memref<768xf32>, %z: memref<21x100000xf32>, %w: memref<100000xf32>) {
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<21x768xf32>) outs(%y : memref<768xf32>) attrs = {device.group = 0} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%z : memref<21x100000xf32>) outs(%w : memref<100000xf32>) attrs = {device.group = 1} {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}
