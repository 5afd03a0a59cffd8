// RUN: pp-opt %s --split-input-file --device-call-contractions --verify-diagnostics

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @integers(%rank: !llvm.ptr, %x: memref<4x8xi32>, %w: memref<8x6xi32>, %y: memref<4x6xi32>) {
  // expected-error @+1 {{has operands of type 'memref<4x8xi32>', which the device's library does not multiply}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xi32>, memref<8x6xi32>) outs(%y : memref<4x6xi32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @without_rank(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{needs the rank as the first argument of its function; run device-pass-rank first}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}
