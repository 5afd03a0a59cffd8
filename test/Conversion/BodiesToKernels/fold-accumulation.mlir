// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-raise-contractions,body-fold-accumulation,canonicalize,cse))' | FileCheck %s

// A gradient is summed by the contraction that makes it.
// CHECK-LABEL: @contraction
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8x4xf32> {rank.accumulate}
// CHECK-NOT: linalg.generic
// CHECK: %[[R:.*]] = linalg.contract {{.*}} outs(%[[SUM]] : tensor<8x4xf32>)
// CHECK-NEXT: return %[[R]]
func.func private @contraction(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>, %sum: tensor<8x4xf32> {rank.accumulate}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e0 = tensor.empty() : tensor<8x2xf32>
  %xt = linalg.transpose ins(%x : tensor<2x8xf32>) outs(%e0 : tensor<8x2xf32>) permutation = [1, 0]
  %0 = linalg.matmul ins(%xt, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x4xf32>) outs(%sum : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// A reduction starts from the sum, also through a reshape.
// CHECK-LABEL: @reduction
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<1x4xf32> {rank.accumulate}
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[SUM]]
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%[[FLAT]] : tensor<4xf32>)
// CHECK-NOT: linalg.generic
func.func private @reduction(%x: tensor<2x4xf32>, %sum: tensor<1x4xf32> {rank.accumulate}) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce ins(%x : tensor<2x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0] (%in: f32, %out: f32) {
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  }
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %2 = arith.addf %sum, %1 : tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}

// The gradient of one sample needs no sum over samples: the sum over its rows starts from the gradient so far.
// CHECK-LABEL: @one_sample
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<4xf32> {rank.accumulate}
// CHECK: %[[WIDE:.*]] = tensor.expand_shape %[[SUM]]
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%[[WIDE]] : tensor<1x4xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @one_sample(%x: tensor<1x8x4xf32>, %sum: tensor<4xf32> {rank.accumulate}) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4xf32>) -> tensor<1x4xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<1x8x4xf32>) outs(%f : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<1x4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %samples = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>], iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<1x4xf32>) outs(%f1 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<4xf32>
  %1 = arith.addf %sum, %samples : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A value with another use is not folded: the sum is updated in place.
// CHECK-LABEL: @shared
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8x4xf32> {rank.accumulate}
// CHECK: %[[P:.*]] = linalg.contract
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<8x4xf32>) outs(%[[SUM]] : tensor<8x4xf32>)
func.func private @shared(%x: tensor<8x2xf32>, %y: tensor<2x4xf32>, %sum: tensor<8x4xf32> {rank.accumulate}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.add ins(%sum, %0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// Rows of a lookup's gradient are added to the sum itself, in its type.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<5x4xbf16>
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8x4xf32> {rank.accumulate}
// CHECK-NOT: fill
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[TABLE:.*]] = %[[SUM]]) -> (tensor<8x4xf32>)
// CHECK: tensor.extract_slice %[[ROWS]]
// CHECK: tensor.extract_slice %[[TABLE]]{{.*}} tensor<8x4xf32> to tensor<4xf32>
// CHECK: ^bb0(%[[IN:.*]]: bf16, %[[OUT:.*]]: f32):
// CHECK: %[[WIDE:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK: arith.addf %[[OUT]], %[[WIDE]] : f32
// CHECK: tensor.insert_slice {{.*}} into %[[TABLE]]{{.*}} tensor<4xf32> into tensor<8x4xf32>
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]
func.func private @rows(%rows: tensor<5x4xbf16>, %ids: tensor<5xindex>, %sum: tensor<8x4xf32> {rank.accumulate}) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : bf16
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<8x4xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%table = %f) -> (tensor<8x4xbf16>) {
    %id = tensor.extract %ids[%i] : tensor<5xindex>
    %inside = arith.cmpi ule, %id, %c7 : index
    %2 = scf.if %inside -> (tensor<8x4xbf16>) {
      %row = tensor.extract_slice %rows[%i, 0] [1, 4] [1, 1] : tensor<5x4xbf16> to tensor<4xbf16>
      %before = tensor.extract_slice %table[%id, 0] [1, 4] [1, 1] : tensor<8x4xbf16> to tensor<4xbf16>
      %after = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%row : tensor<4xbf16>) outs(%before : tensor<4xbf16>) {
      ^bb0(%in: bf16, %out: bf16):
        %s = arith.addf %out, %in : bf16
        linalg.yield %s : bf16
      } -> tensor<4xbf16>
      %stored = tensor.insert_slice %after into %table[%id, 0] [1, 4] [1, 1] : tensor<4xbf16> into tensor<8x4xbf16>
      scf.yield %stored : tensor<8x4xbf16>
    } else {
      scf.yield %table : tensor<8x4xbf16>
    }
    scf.yield %2 : tensor<8x4xbf16>
  }
  %e1 = tensor.empty() : tensor<8x4xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x4xbf16>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %s = arith.extf %in : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %1 = arith.addf %sum, %wide : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// A loop that reads rows of the table other than the one to which it adds is not folded.
// CHECK-LABEL: @table_is_read
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<8xf32> {rank.accumulate}
// CHECK: %[[LOOP:.*]] = scf.for
// CHECK: linalg.generic {{.*}} ins(%[[LOOP]] : tensor<8xf32>) outs(%[[SUM]] : tensor<8xf32>)
func.func private @table_is_read(%ids: tensor<5xindex>, %sum: tensor<8xf32> {rank.accumulate}) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%table = %f) -> (tensor<8xf32>) {
    %id = tensor.extract %ids[%i] : tensor<5xindex>
    %first = tensor.extract_slice %table[0] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %before = tensor.extract_slice %table[%id] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %after = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%first : tensor<1xf32>) outs(%before : tensor<1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<1xf32>
    %stored = tensor.insert_slice %after into %table[%id] [1] [1] : tensor<1xf32> into tensor<8xf32>
    scf.yield %stored : tensor<8xf32>
  }
  %1 = arith.addf %sum, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// The gradient of a weight that every iteration uses: the product adds to what the loop carries. An addend from outside of the
// loop is not moved into it.
// CHECK-LABEL: @carried
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[OTHER:.*]] = %{{.*}})
// CHECK: %[[NEW:.*]] = linalg.contract {{.*}} outs(%[[SUM]] : tensor<4x4xf32>)
// CHECK: %[[APART:.*]] = linalg.generic {{.*}} ins(%[[OTHER]],
// CHECK: scf.yield %[[NEW]], %[[APART]]
func.func private @carried(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %outer = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r:2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%sum = %z, %other = %z) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %p = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
        ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%sum, %p : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4x4xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%other, %outer : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<4x4xf32>
    scf.yield %s, %t : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %r#0, %r#1 : tensor<4x4xf32>, tensor<4x4xf32>
}
