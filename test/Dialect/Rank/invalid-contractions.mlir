// RUN: pp-opt %s --split-input-file --verify-diagnostics

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
func.func @contract_c1_maps(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op needs a map of the same loops for each of A, B and C, with a result for each of its dimensions}}
  rank.contract overwrite maps [#a, #b] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m + k, n)>
func.func @contract_c1_result(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<11x6xf32>) {
  // expected-error @+1 {{'rank.contract' op needs distinct loops as indices of C, got affine_map<(d0, d1, d2) -> (d0 + d2, d1)>}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<11x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k, l) -> (m, k, l)>
#b = affine_map<(m, n, k, l) -> (k, n)>
#c = affine_map<(m, n, k, l) -> (m, n)>
func.func @contract_c1_alone(%x: memref<4x8x2xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op has loop 3, which indexes fewer than two operands}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8x2xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c2_dynamic(%x: memref<?x8xf32>, %w: memref<8x6xf32>, %y: memref<?x6xf32>) {
  // expected-error @+1 {{'rank.contract' op needs static shapes, got 'memref<?x8xf32>'}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<?x8xf32>, memref<8x6xf32>) outs(%y : memref<?x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k, i) -> (m, k + i)>
#b = affine_map<(m, n, k, i) -> (k + i, n)>
#c = affine_map<(m, n, k, i) -> (m, n)>
func.func @contract_c2_extent(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op has loop 2 without an extent}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c2_unequal(%x: memref<4x8xf32>, %w: memref<9x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op indexes dimensions of 'memref<4x8xf32>' by affine_map<(d0, d1, d2) -> (d0, d2)> with loops of extents 4, 6, 9}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<9x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m * 2 + k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c2_outside(%x: memref<8xf32>, %w: memref<3x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op indexes dimensions of 'memref<8xf32>' by affine_map<(d0, d1, d2) -> (d0 * 2 + d2)> with loops of extents 4, 6, 3}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<8xf32>, memref<3x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c3(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op needs two loops of equal extent, one of which indexes C, as a triangle; got loops 0, 1 of 4, 6, 8}}
  rank.contract overwrite maps [#a, #b, #c] triangle [0, 1] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c4_operands(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op has operands that do not fit its epilogue, bias}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>) epilogue bias
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c4_adds(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op has an epilogue, but does not overwrite a buffer}}
  rank.contract accumulate maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>) epilogue gelu
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c4_row(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{'rank.contract' op needs a row of C as bias and an array like C as aux, where C is 'memref<4x6xf32>'}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>) epilogue bias bias(%b : memref<4xf32>)
  return
}

// -----

func.func private @kernel(memref<4x6xf32>) -> i32
func.func @otherwise_c1(%y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.otherwise' op 'kernel' is not a function that takes the operands and returns nothing}}
  rank.otherwise @kernel(%y) : memref<4x6xf32>
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, -k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c2_before_the_first(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op indexes dimensions of 'memref<4x8xf32>' by affine_map<(d0, d1, d2) -> (d0, -d2)>}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c1_vector(%x: vector<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{'rank.contract' op needs either only tensors or only buffers, got 'vector<4x8xf32>'}}
  %0 = rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : vector<4x8xf32>, tensor<8x6xf32>) outs(%y : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @contract_c4_tensor(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>, %t: tensor<4x6xf32>) {
  // expected-error @+1 {{'rank.contract' op needs a row of C as bias and an array like C as aux, where C is 'memref<4x6xf32>'}}
  rank.contract overwrite maps [#a, #b, #c] ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>) outs(%y : memref<4x6xf32>) epilogue add aux(%t : tensor<4x6xf32>)
  return
}
