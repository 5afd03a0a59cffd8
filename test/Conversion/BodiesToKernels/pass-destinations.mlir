// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-raise-contractions,body-fold-accumulation,body-pass-destinations),body-bufferize,func.func(canonicalize,cse))' | FileCheck %s

// Arguments: inputs, results, sums. The contraction writes into the sum, the exponential into the result; nothing is copied.
// CHECK-LABEL: @body
// CHECK-SAME: (%[[X:.*]]: memref<8x2xf32>, %[[Y:.*]]: memref<2x4xf32>, %[[OUT:.*]]: memref<2x4xf32>, %[[SUM:.*]]: memref<8x4xf32> {rank.accumulate})
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK-NOT: overwrite
// CHECK: linalg.generic {{.*}} ins(%[[Y]] {{.*}} outs(%[[OUT]]
// CHECK: rank.contract accumulate {{.*}} ins(%[[X]], %[[OUT]] {{.*}} outs(%[[SUM]]
// CHECK: return
func.func private @body(%x: tensor<8x2xf32>, %sum: tensor<8x4xf32> {rank.accumulate}, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x4xf32>
  %z = linalg.exp ins(%y : tensor<2x4xf32>) outs(%e0 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %z : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.add ins(%sum, %0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %z, %1 : tensor<2x4xf32>, tensor<8x4xf32>
}

// A contraction from zero overwrites; its result lies in the destination through a reshape.
// CHECK-LABEL: @overwrite
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<32xf32>)
// CHECK-NOT: linalg.fill
// CHECK: %[[VIEW:.*]] = memref.expand_shape %[[OUT]]
// CHECK: rank.contract overwrite {{.*}} outs(%[[VIEW]]
func.func private @overwrite(%x: tensor<8x2xf32>, %y: tensor<2x4xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  return %1 : tensor<32xf32>
}

// A result that is an input is copied: it never aliases.
// CHECK-LABEL: @identity
// CHECK: memref.copy %arg0, %arg1
func.func private @identity(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// Two results made from one value are two buffers.
// CHECK-LABEL: @twice
// CHECK: linalg.generic {{.*}} outs(%[[A:.*]] : memref<8xf32>)
// CHECK: memref.copy
func.func private @twice(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0, %0 : tensor<8xf32>, tensor<8xf32>
}

// Two results that start from one array of zeros, which no fill makes: neither destination may hold the zeros, since writing
// one result would overwrite them before the other is made.
// CHECK-LABEL: @start
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[A:[a-z0-9]+]]: memref<8xf32>, %[[B:[a-z0-9]+]]: memref<8xf32>)
// CHECK-NOT: outs(%[[A]]
// CHECK-NOT: outs(%[[B]]
// CHECK: memref.copy %{{.*}}, %[[A]]
// CHECK-NEXT: memref.copy %{{.*}}, %[[B]]
func.func private @start(%x: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.addf %o, %v : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %0 = arith.subf %o, %v : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// A result that is a changed copy of another: if the destination of the second held the first before the change, the
// first would be written over before it is copied to its own.
// CHECK-LABEL: @updated
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[B:[a-z0-9]+]]: memref<4x8xf32>, %[[A:[a-z0-9]+]]: memref<4x8xf32>)
// CHECK: linalg.generic {{.*}} outs(%[[A]]
// CHECK: memref.copy %[[A]], %[[C:[a-z0-9_]+]] :
// CHECK: memref.copy %{{.*}}, %{{.*}} : {{.*}} to memref<1x8xf32, strided
// CHECK: memref.copy %[[C]], %[[B]] :
// CHECK-NOT: memref.copy
func.func private @updated(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %row = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  %b = tensor.insert_slice %row into %a[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %b, %a : tensor<4x8xf32>, tensor<4x8xf32>
}

// A loop that swaps two values that it carries: each goes through a copy into the other's buffer, and none is left in a buffer
// that the next iteration would write.
// CHECK-LABEL: @swapped
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<8xf32>, %[[B:[a-z0-9]+]]: memref<8xf32>)
// CHECK: scf.for
// CHECK: memref.copy %[[Q:[a-z0-9_]+]], %[[C:[a-z0-9_]+]] :
// CHECK: memref.copy %[[P:[a-z0-9_]+]], %[[D:[a-z0-9_]+]] :
// CHECK: memref.copy %[[C]], %[[P]] :
// CHECK: memref.copy %[[D]], %[[Q]] :
// CHECK: memref.copy %[[P]], %[[A]]
// CHECK: memref.copy %[[Q]], %[[B]]
func.func private @swapped(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %b, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// A loop whose end depends on what it computes also keeps each carried value in one buffer.
// CHECK-LABEL: @open
// CHECK: memref.copy %{{.*}}, %[[H:[a-z0-9_]+]] :
// CHECK: scf.while
// CHECK: memref.copy %{{.*}}, %[[H]] :
// CHECK: memref.copy %[[H]], %{{.*}} :
func.func private @open(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %r = scf.while (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    %first = tensor.extract %a[%c0] : tensor<8xf32>
    %more = arith.cmpf olt, %first, %one : f32
    scf.condition(%more) %a : tensor<8xf32>
  } do {
  ^bb0(%b: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %c = linalg.exp ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// A loop over blocks of rows updates what it reads: no array is allocated, and one view is read and written
// (the copy of it onto itself is dropped when copies become loops).
// CHECK-LABEL: @update
// CHECK-SAME: (%[[G:.*]]: memref<64x32xf32>, %[[M:.*]]: memref<64x32xf32> {rank.accumulate})
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: %[[ROWS:.*]] = memref.subview %[[M]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[ROWS]] : {{.*}} outs(%[[ROWS]]
// CHECK-NOT: memref.copy %{{.*}}, %[[M]]
// CHECK: return
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func private @update(%g: tensor<64x32xf32>, %m: tensor<64x32xf32> {rank.accumulate}) -> tensor<64x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = scf.for %i = %c0 to %c16 step %c1 iter_args(%carried = %e) -> tensor<64x32xf32> {
    %row = arith.muli %i, %c4 : index
    %a = tensor.extract_slice %g[%row, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %b = tensor.extract_slice %m[%row, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %c = tensor.extract_slice %carried[%row, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %d = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<4x32xf32>, tensor<4x32xf32>) outs(%c : tensor<4x32xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    } -> tensor<4x32xf32>
    %next = tensor.insert_slice %d into %carried[%row, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
    scf.yield %next : tensor<64x32xf32>
  } {host.parallel}
  return %0 : tensor<64x32xf32>
}

// A loop that reads rows that another iteration writes keeps a copy of their old contents.
// CHECK-LABEL: @shift
// CHECK: memref.copy
// CHECK: scf.for
func.func private @shift(%m: tensor<64x32xf32> {rank.accumulate}) -> tensor<64x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  %c60 = arith.constant 60 : index
  %e = tensor.empty() : tensor<64x32xf32>
  %0 = scf.for %i = %c0 to %c16 step %c1 iter_args(%carried = %e) -> tensor<64x32xf32> {
    %row = arith.muli %i, %c4 : index
    %from = arith.subi %c60, %row : index
    %b = tensor.extract_slice %m[%from, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %c = tensor.extract_slice %carried[%row, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %d = linalg.exp ins(%b : tensor<4x32xf32>) outs(%c : tensor<4x32xf32>) -> tensor<4x32xf32>
    %next = tensor.insert_slice %d into %carried[%row, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
    scf.yield %next : tensor<64x32xf32>
  } {host.parallel}
  return %0 : tensor<64x32xf32>
}

// A triangle that was found becomes a part of the operation, unless the operation has become a slice of its loops.
// CHECK-LABEL: @triangle
// CHECK: rank.contract overwrite {{.*}} triangle [0, 1] ins(%{{.*}} : memref<64x16xf32>, memref<64x16xf32>)
// CHECK: rank.contract overwrite maps {{\[[^]]*\]}} ins(%{{.*}} : memref<8x16xf32>, memref<64x16xf32>)
func.func private @triangle(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %p: tensor<8x16xf32>) -> (tensor<64x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<64x64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(q, k, d) -> (q, d)>, affine_map<(q, k, d) -> (k, d)>, affine_map<(q, k, d) -> (q, k)>]
      {host.triangle = array<i64: 0, 1, 64, 64>}
      ins(%q, %k : tensor<64x16xf32>, tensor<64x16xf32>) outs(%f0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<8x64xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(q, k, d) -> (q, d)>, affine_map<(q, k, d) -> (k, d)>, affine_map<(q, k, d) -> (q, k)>]
      {host.triangle = array<i64: 0, 1, 64, 64>}
      ins(%p, %k : tensor<8x16xf32>, tensor<64x16xf32>) outs(%f1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<8x64xf32>
}
