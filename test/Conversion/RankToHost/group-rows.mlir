// RUN: pp-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(host-group-rows,canonicalize,cse))' | FileCheck %s

// A softmax is one loop over blocks of rows; what it makes on the way is as small as a block.
// CHECK-LABEL: @softmax
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<64x128xf32>
// CHECK: %[[LOOP:.*]] = scf.for %[[I:.*]] = %{{.*}} to %c16 step %c1 iter_args(%[[CARRIED:.*]] = %[[OUT]])
// CHECK: %[[AT:.*]] = arith.muli %[[I]], %c4
// CHECK: tensor.extract_slice %arg0[%[[AT]], 0] [4, 128]
// CHECK: } -> tensor<4xf32>
// CHECK: math.exp
// CHECK: } -> tensor<4x128xf32>
// CHECK: tensor.extract_slice %[[CARRIED]][%[[AT]], 0] [4, 128]
// CHECK: arith.divf
// CHECK: tensor.insert_slice
// CHECK: {host.parallel}
// CHECK: return %[[LOOP]]
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64xf32>
  %e2 = tensor.empty() : tensor<64x128xf32>
  %lows = linalg.fill ins(%low : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%lows : tensor<64xf32>) {
  ^bb0(%a: f32, %m: f32):
    %0 = arith.maximumf %a, %m : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %exp = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<64x128xf32>, tensor<64xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<64x128xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.divf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  return %p : tensor<64x128xf32>
}

// -----

// The gradient of a bias, a sum over rows, joins what makes them: it makes one sum for each block; after the loop these are
// added to the gradient so far. No sum depends on which thread runs a block.
// CHECK-LABEL: @bias_gradient
// CHECK: %[[SUMS:.*]] = tensor.empty() : tensor<16x128xf32>
// CHECK: %[[LOOP:.*]]:2 = scf.for
// CHECK-SAME: %[[CARRIED:[a-z0-9]+]] = %[[SUMS]])
// CHECK: arith.mulf
// CHECK: tensor.extract_slice %[[CARRIED]]
// CHECK: linalg.fill
// CHECK: arith.addf
// CHECK: {host.parallel}
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[LOOP]]#1 : tensor<16x128xf32>) outs(%arg2
#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(j, i) -> (i, j)>
#column = affine_map<(j, i) -> (j)>
func.func private @bias_gradient(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>, %so_far: tensor<128xf32>)
    -> (tensor<64x128xf32>, tensor<128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %p = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<64x128xf32>, tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %sum = linalg.generic {indexing_maps = [#columns, #column], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<64x128xf32>) outs(%so_far : tensor<128xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<128xf32>
  return %p, %sum : tensor<64x128xf32>, tensor<128xf32>
}

// -----

// A contraction combines rows, so the operations before it and those after it cannot be one loop, even if they read the same
// array.
// CHECK-LABEL: @around_a_contraction
// CHECK-NOT: scf.for
// CHECK: return
#rows = affine_map<(i, j) -> (i, j)>
func.func private @around_a_contraction(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %c = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>] ins(%a, %w : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%a, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%in: f32, %in2: f32, %o: f32):
    %0 = arith.mulf %in, %in2 : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}

// -----

// An operation that reads rows other than the one just made does not join the loop, even if it also reads that one.
// CHECK-LABEL: @transposed
// CHECK-NOT: scf.for
// CHECK: return
#rows = affine_map<(i, j, k) -> (i, j, k)>
#turned = affine_map<(i, j, k) -> (j, i, k)>
func.func private @transposed(%x: tensor<8x8x32xf32>) -> tensor<8x8x32xf32> {
  %e = tensor.empty() : tensor<8x8x32xf32>
  %a = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<8x8x32xf32>) outs(%e : tensor<8x8x32xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<8x8x32xf32>
  %b = linalg.generic {indexing_maps = [#rows, #turned, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %a : tensor<8x8x32xf32>, tensor<8x8x32xf32>) outs(%e : tensor<8x8x32xf32>) {
  ^bb0(%in: f32, %in2: f32, %o: f32):
    %0 = arith.mulf %in, %in2 : f32
    linalg.yield %0 : f32
  } -> tensor<8x8x32xf32>
  return %b : tensor<8x8x32xf32>
}

// -----

// A gather from a value of the group reads the row of the block; other indices are those of the whole.
// CHECK-LABEL: @picked
// CHECK: scf.for
// CHECK: %[[AT:.*]] = arith.muli
// CHECK: %[[TILE:.*]] = linalg.generic
// CHECK: } -> tensor<4x128xf32>
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: affine.apply {{.*}}(%[[AT]])[%[[ROW]]]
// CHECK: tensor.extract %[[TILE]][%[[ROW]],
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i) -> (i)>
func.func private @picked(%x: tensor<64x128xf32>, %which: tensor<64xindex>) -> tensor<64xf32> {
  %e1 = tensor.empty() : tensor<64xf32>
  %e2 = tensor.empty() : tensor<64x128xf32>
  %a = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %b = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%which : tensor<64xindex>) outs(%e1 : tensor<64xf32>) {
  ^bb0(%j: index, %o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %a[%i, %j] : tensor<64x128xf32>
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %0 = arith.mulf %v, %f : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %b : tensor<64xf32>
}

// -----

// Values that fit in the first-level cache are not grouped.
// CHECK-LABEL: @small
// CHECK-NOT: scf.for
// CHECK: return
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @small(%x: tensor<16x16xf32>, %sum: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
  %e = tensor.empty() : tensor<16x16xf32>
  %a = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %b = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<16x16xf32>) outs(%sum : tensor<16xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %o : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  return %a, %b : tensor<16x16xf32>, tensor<16xf32>
}
