// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-verify-buffers))' | FileCheck %s

// A value is read before the operation that takes its buffer.
// CHECK-LABEL: @before
func.func private @before(%x: memref<4x8xf32>, %out: memref<4x8xf32>, %sum: memref<4x8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4x8xf32> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %a = linalg.exp ins(%t : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.exp ins(%a : tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %row = tensor.extract_slice %b[0, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  %c = tensor.insert_slice %row into %a[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  bufferization.materialize_in_destination %b in writable %sum : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  bufferization.materialize_in_destination %c in writable %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// Boxes of one buffer that share no element, also interleaved ones.
// CHECK-LABEL: @apart
func.func private @apart(%x: memref<2x8xf32>, %out: memref<8x8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<2x8xf32> to tensor<2x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = tensor.insert_slice %t into %e[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  %1 = tensor.insert_slice %t into %0[3, 0] [2, 8] [2, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  %s = tensor.extract_slice %1[0, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %2 = tensor.insert_slice %t into %1[2, 0] [2, 8] [2, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  %3 = tensor.insert_slice %s into %2[6, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  bufferization.materialize_in_destination %3 in writable %out : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// The new contents of a box are made in the box and then inserted there: nothing is overwritten, and the rest stays.
// CHECK-LABEL: @box
func.func private @box(%out: memref<4x8xf32>, %i: index) {
  %t = bufferization.to_tensor %out restrict writable : memref<4x8xf32> to tensor<4x8xf32>
  %s = tensor.extract_slice %t[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  %a = linalg.exp ins(%s : tensor<1x8xf32>) outs(%s : tensor<1x8xf32>) -> tensor<1x8xf32>
  %r = tensor.insert_slice %a into %t[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  bufferization.materialize_in_destination %r in writable %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// A value is made in parts in every second column of the destination, then inserted there: nothing is overwritten.
// CHECK-LABEL: @strided
func.func private @strided(%x: memref<1x1xf32>, %out: memref<1x3xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<1x1xf32> to tensor<1x1xf32>
  %o = bufferization.to_tensor %out restrict writable : memref<1x3xf32> to tensor<1x3xf32>
  %s = tensor.extract_slice %o[0, 0] [1, 2] [1, 2] : tensor<1x3xf32> to tensor<1x2xf32>
  %0 = tensor.insert_slice %t into %s[0, 0] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
  %1 = tensor.insert_slice %t into %0[0, 1] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x2xf32>
  %2 = tensor.insert_slice %1 into %o[0, 0] [1, 2] [1, 2] : tensor<1x2xf32> into tensor<1x3xf32>
  %3 = tensor.insert_slice %t into %2[0, 1] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x3xf32>
  bufferization.materialize_in_destination %3 in writable %out : (tensor<1x3xf32>, memref<1x3xf32>) -> ()
  return
}

// A copy into which a value is inserted need not have the elements that the insertion overwrites.
// CHECK-LABEL: @copied
func.func private @copied(%x: memref<8xf32>, %a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  %e = bufferization.to_tensor %a restrict writable : memref<4x8xf32> to tensor<4x8xf32>
  %0 = tensor.insert_slice %t into %e[0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
  %s = tensor.extract_slice %0[3, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
  %r = linalg.exp ins(%t : tensor<8xf32>) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %1 = bufferization.alloc_tensor() copy(%0) : tensor<4x8xf32>
  %2 = tensor.insert_slice %t into %1[3, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
  %3 = tensor.insert_slice %r into %0[3, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
  bufferization.materialize_in_destination %3 in writable %a : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  bufferization.materialize_in_destination %2 in writable %b : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// A loop may write what its iteration has read, in several steps.
// CHECK-LABEL: @carried
func.func private @carried(%x: memref<8xf32>, %out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %out restrict writable : memref<8xf32> to tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %t) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %b = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %d = linalg.exp ins(%b : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    %g = linalg.exp ins(%d : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %c = bufferization.materialize_in_destination %g in %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  bufferization.materialize_in_destination %r in writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
