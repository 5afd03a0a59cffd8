// RUN: pp-opt %s --device-outline-kernels | FileCheck %s
// RUN: pp-opt %s --device-outline-kernels --device-write-kernels | FileCheck %s --check-prefix=WRITTEN

// If only a sum over an array is read, the array gives the sum its loops, but it is not an argument and not stored.
// CHECK-LABEL: func.func private @sum_of_one_hot
// CHECK-NOT: memref.alloc
// CHECK: call @kernel.{{[0-9]+}}(%{{[^,]*}}, %{{[^,]*}}) : (memref<8xi32>, memref<8xf32>) -> ()
// WRITTEN-LABEL: gpu.func @kernel_{{[0-9]+}}(%arg0: !llvm.ptr, %arg1: !llvm.ptr
// WRITTEN: scf.for
// WRITTEN: llvm.store {{.*}} : f32, !llvm.ptr
// WRITTEN-NOT: llvm.store
// WRITTEN: gpu.return
func.func private @sum_of_one_hot(%ids: memref<8xi32>, %sums: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %hot = memref.alloc() : memref<8x100xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%ids : memref<8xi32>) outs(%hot, %sums : memref<8x100xf32>, memref<8xf32>) attrs = {device.group = 1} {
  ^bb0(%id: i32, %h: f32, %s: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %is = arith.cmpi eq, %id, %n : i32
    %value = arith.select %is, %one, %zero : f32
    %sum = arith.addf %s, %value : f32
    linalg.yield %value, %sum : f32, f32
  }
  return
}
