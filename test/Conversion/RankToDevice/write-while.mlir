// RUN: pp-opt %s --split-input-file --device-write-kernels --verify-diagnostics | FileCheck %s

// A loop whose end depends on its values, and which has an array: one thread runs it, the array is in shared memory.
// CHECK-LABEL: gpu.func @kernel_0
// CHECK-SAME: block = [32, 1, 1]
// CHECK-SAME: grid = [1, 1, 1]
// CHECK-SAME: shared = 16
// CHECK: gpu.dynamic_shared_memory
// CHECK: scf.if
// CHECK: scf.while
// CHECK: scf.for
// CHECK: arith.maximumf
// CHECK: scf.condition
// CHECK: } do {
// CHECK: scf.for
// CHECK: arith.mulf
#all = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func private @body(%x: memref<80xf32>) {
  call @kernel.0(%x) : (memref<80xf32>) -> ()
  return
}
func.func private @kernel.0(%x: memref<80xf32>) attributes {host.kernel} {
  %least = arith.constant 0xFF800000 : f32
  %limit = arith.constant 0.3 : f32
  %factor = arith.constant 0.7 : f32
  scf.while : () -> () {
    %max = memref.alloc() : memref<f32>
    linalg.fill ins(%least : f32) outs(%max : memref<f32>)
    linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%x : memref<80xf32>) outs(%max : memref<f32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.maximumf %o, %a : f32
      linalg.yield %0 : f32
    }
    %m = memref.load %max[] : memref<f32>
    %more = arith.cmpf ogt, %m, %limit : f32
    scf.condition(%more)
  } do {
    linalg.generic {indexing_maps = [#all], iterator_types = ["parallel"]} outs(%x : memref<80xf32>) {
    ^bb0(%o: f32):
      %0 = arith.mulf %o, %factor : f32
      linalg.yield %0 : f32
    }
    scf.yield
  }
  return
}

// -----

func.func private @body(%x: memref<80xf32>, %n: index) {
  call @kernel.0(%x, %n) : (memref<80xf32>, index) -> ()
  return
}
// expected-error @+1 {{no code for a GPU can be written for these operations, which must be one kernel: memref.alloc, memref.store, scf.for; arrays that a loop keeps for itself may have at most 49152 bytes; the target 'host' compiles this step}}
func.func private @kernel.0(%x: memref<80xf32>, %n: index) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<20000xf32>
    memref.store %zero, %own[%i] : memref<20000xf32>
  }
  return
}
