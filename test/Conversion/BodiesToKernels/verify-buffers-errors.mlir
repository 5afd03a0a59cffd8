// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-verify-buffers))' --split-input-file --verify-diagnostics

// A stash that is also a result is updated in place for the other result. This once gave wrong gradients.
func.func private @stash(%x: memref<4x8xf32>, %b: memref<4x8xf32>, %a: memref<4x8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4x8xf32> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  // expected-note @below {{the value is made here}}
  %0 = linalg.exp ins(%t : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %row = tensor.extract_slice %t[0, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  // expected-note @below {{'tensor.insert_slice' writes over it}}
  %1 = tensor.insert_slice %row into %0[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  bufferization.materialize_in_destination %1 in writable %b : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  // expected-error @below {{operand 0 of 'bufferization.materialize_in_destination' is read from a buffer that another operation has written since}}
  bufferization.materialize_in_destination %0 in writable %a : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// -----

// A destination is written before the last reader of a value in it.
func.func private @destination(%x: memref<8xf32>, %b: memref<8xf32>, %a: memref<8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  %d = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  // expected-note @below {{the value is made here}}
  %0 = linalg.exp ins(%t : tensor<8xf32>) outs(%d : tensor<8xf32>) -> tensor<8xf32>
  // expected-note @below {{'bufferization.materialize_in_destination' writes over it}}
  bufferization.materialize_in_destination %t in writable %b : (tensor<8xf32>, memref<8xf32>) -> ()
  // expected-error @below {{operand 0 of 'bufferization.materialize_in_destination' is read from a buffer that another operation has written since}}
  bufferization.materialize_in_destination %0 in writable %a : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// A value is overwritten after it is read, and the next iteration reads it again.
func.func private @again(%x: memref<8xf32>, %out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  %o = bufferization.to_tensor %out restrict writable : memref<8xf32> to tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  // expected-note @below {{the value is made here}}
  %0 = linalg.exp ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %o) -> tensor<8xf32> {
    // expected-error @below {{operand 0 of 'linalg.exp' is read from a buffer that another operation has written since}}
    %b = linalg.exp ins(%0 : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
    // expected-note @below {{'linalg.exp' writes over it}}
    %c = linalg.exp ins(%b : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
    %d = bufferization.materialize_in_destination %c in %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %d : tensor<8xf32>
  }
  bufferization.materialize_in_destination %r in writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// A carried value must be left in the buffer that the next iteration reads.
func.func private @elsewhere(%out: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %out restrict writable : memref<8xf32> to tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %t) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %b = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    // expected-error @below {{value 0 that the loop carries is left in a buffer other than the one that the next iteration reads}}
    scf.yield %b : tensor<8xf32>
  }
  bufferization.materialize_in_destination %r in writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
