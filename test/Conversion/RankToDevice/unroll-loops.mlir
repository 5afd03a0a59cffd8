// RUN: pp-opt %s --split-input-file --device-mark-loops --verify-diagnostics | FileCheck %s --check-prefix=MARKED
// RUN: pp-opt %s --split-input-file --device-mark-loops='max-operations=40' --verify-diagnostics=only-expected 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: pp-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(device-mark-loops,device-group-kernels,body-pass-destinations),body-bufferize,func.func(device-unroll-loops,canonicalize,cse))' --verify-diagnostics=only-expected | FileCheck %s

// A recurrence with a product: each of its three iterations becomes a product and a kernel.
// MARKED-LABEL: @recurrence
// MARKED: } {device.unroll}
// FEW-LABEL: @recurrence
// FEW-NOT: device.unroll
// CHECK-LABEL: @recurrence
// CHECK-NOT: scf.for
// CHECK-COUNT-3: rank.contract
// CHECK-NOT: rank.contract
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#each = affine_map<(i, j) -> (i, j)>
func.func private @recurrence(%x: tensor<3x8x16xf32>, %w: tensor<16x16xf32>, %h: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %last = scf.for %t = %c0 to %c3 step %c1 iter_args(%state = %h) -> tensor<8x16xf32> {
    %row = tensor.extract_slice %x[%t, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<3x8x16xf32> to tensor<8x16xf32>
    %e = tensor.empty() : tensor<8x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%state, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
    %o = tensor.empty() : tensor<8x16xf32>
    %new = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel", "parallel"]}
        ins(%p, %row : tensor<8x16xf32>, tensor<8x16xf32>) outs(%o : tensor<8x16xf32>) {
    ^bb0(%u: f32, %v: f32, %out: f32):
      %0 = arith.addf %u, %v : f32
      %1 = math.tanh %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x16xf32>
    scf.yield %new : tensor<8x16xf32>
  }
  return %last : tensor<8x16xf32>
}

// -----

// Rows element by element: one kernel runs the loop, a thread for each column.
// MARKED-LABEL: @columns
// CHECK-LABEL: @columns
// CHECK: scf.for
// MARKED-NOT: device.unroll
// MARKED: return
#each = affine_map<(i) -> (i)>
func.func private @columns(%x: tensor<3x512xf32>, %h: tensor<512xf32>) -> tensor<512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %last = scf.for %t = %c0 to %c3 step %c1 iter_args(%state = %h) -> tensor<512xf32> {
    %row = tensor.extract_slice %x[%t, 0] [1, 512] [1, 1] : tensor<3x512xf32> to tensor<512xf32>
    %o = tensor.empty() : tensor<512xf32>
    %new = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
        ins(%state, %row : tensor<512xf32>, tensor<512xf32>) outs(%o : tensor<512xf32>) {
    ^bb0(%u: f32, %v: f32, %out: f32):
      %0 = arith.addf %u, %v : f32
      linalg.yield %0 : f32
    } -> tensor<512xf32>
    scf.yield %new : tensor<512xf32>
  }
  return %last : tensor<512xf32>
}

// -----

// The number of iterations is computed.
// MARKED-LABEL: @computed
// CHECK-LABEL: @computed
// CHECK: scf.for
// MARKED-NOT: device.unroll
// MARKED: return
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func private @computed(%n: tensor<i32>, %w: tensor<16x16xf32>, %h: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %number = tensor.extract %n[] : tensor<i32>
  %end = arith.index_cast %number : i32 to index
  // expected-warning @+1 {{one thread of the GPU runs this loop, which is slow}}
  %last = scf.for %t = %c0 to %end step %c1 iter_args(%state = %h) -> tensor<8x16xf32> {
    %e = tensor.empty() : tensor<8x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = linalg.contract indexing_maps = [#a, #b, #c] ins(%state, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %p : tensor<8x16xf32>
  }
  return %last : tensor<8x16xf32>
}
