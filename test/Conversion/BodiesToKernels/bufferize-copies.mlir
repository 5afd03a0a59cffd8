// RUN: pp-opt %s -body-pass-destinations -body-bufferize -canonicalize | FileCheck %s

// Two results of one operation are reshaped and put into one array: the operation writes each one in its place.
// CHECK-LABEL: @joined
// CHECK-SAME: (%{{.*}}, %[[OUT:[a-z0-9_]+]]: memref<4x32xf32>)
// CHECK: %[[ALL:.*]] = memref.alloc() {{.*}} memref<4x32xf32>
// CHECK-DAG: %[[A:.*]] = memref.subview %[[ALL]][0, 0] [4, 16] [1, 1]
// CHECK-DAG: %[[B:.*]] = memref.subview %[[ALL]][0, 16] [4, 16] [1, 1]
// CHECK-DAG: %[[C:.*]] = memref.expand_shape %[[A]] {{.*}} output_shape [4, 4, 4]
// CHECK-DAG: %[[D:.*]] = memref.expand_shape %[[B]] {{.*}} output_shape [4, 4, 4]
// CHECK: linalg.generic {{.*}} outs(%[[C]], %[[D]] :
// CHECK-NOT: memref.copy
// CHECK: return
#all = affine_map<(i, j, k) -> (i, j, k)>
#one = affine_map<(i, j) -> (i, j)>
func.func private @joined(%x: tensor<4x4x4xf32>) -> tensor<4x32xf32> {
  %e = tensor.empty() : tensor<4x4x4xf32>
  %f = tensor.empty() : tensor<4x4x4xf32>
  %r:2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x4x4xf32>) outs(%e, %f : tensor<4x4x4xf32>, tensor<4x4x4xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x4x4xf32>, tensor<4x4x4xf32>)
  %u = tensor.collapse_shape %r#0 [[0], [1, 2]] : tensor<4x4x4xf32> into tensor<4x16xf32>
  %v = tensor.collapse_shape %r#1 [[0], [1, 2]] : tensor<4x4x4xf32> into tensor<4x16xf32>
  %whole = tensor.empty() : tensor<4x32xf32>
  %s = tensor.insert_slice %u into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %t = tensor.insert_slice %v into %s[0, 16] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %out = tensor.empty() : tensor<4x32xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x32xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// Boxes that overlap are filled one after the other, because the contents of the overlap depend on the order.
// CHECK-LABEL: @meeting
// CHECK: linalg.generic
// CHECK: memref.copy %{{.*}} to memref<4x16xf32, strided<[32, 1], offset: 8>>
func.func private @meeting(%x: tensor<4x16xf32>) -> tensor<4x32xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %r:2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x16xf32>) outs(%e, %f : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %whole = tensor.empty() : tensor<4x32xf32>
  %s = tensor.insert_slice %r#0 into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %t = tensor.insert_slice %r#1 into %s[0, 8] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x32xf32>
  %out = tensor.empty() : tensor<4x32xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x32xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// Rows of the second box begin at addresses that wide loads do not support, so the box is copied.
// CHECK-LABEL: @crooked
// CHECK: %[[APART:.*]] = memref.alloc() {{.*}} memref<4x16xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %[[APART]] :
// CHECK: memref.copy %[[APART]], %{{.*}} to memref<4x16xf32, strided<[36, 1], offset: 17>>
// CHECK: return
func.func private @crooked(%x: tensor<4x16xf32>) -> tensor<4x36xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %zero = arith.constant 0.0 : f32
  %r:2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x16xf32>) outs(%e, %f : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = arith.addf %a, %a : f32
    %1 = arith.mulf %a, %a : f32
    linalg.yield %0, %1 : f32, f32
  } -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %whole = tensor.empty() : tensor<4x36xf32>
  %s = tensor.insert_slice %r#0 into %whole[0, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x36xf32>
  %t = tensor.insert_slice %r#1 into %s[0, 17] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<4x36xf32>
  %out = tensor.empty() : tensor<4x36xf32>
  %y = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4x36xf32>) outs(%out : tensor<4x36xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x36xf32>
  return %y : tensor<4x36xf32>
}

// Two arrays that begin with the same part: it is inserted into both, and no array with missing parts is copied.
// CHECK-LABEL: @shared
// CHECK-NOT: memref.copy %{{.*}} : memref<2x8xf32>
// CHECK: return
func.func private @shared(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %e = tensor.empty() : tensor<2x8xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %b = tensor.insert_slice %y into %a[1, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %c = tensor.insert_slice %z into %a[1, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<2x8xf32>
  %o = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.exp ins(%b : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = linalg.exp ins(%c : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<2x8xf32>
}

// An update with one index: both branches use one buffer, a copy of the array, because the caller's is only read.
// CHECK-LABEL: @update
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<8xf32>
// CHECK: %[[NEW:.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK: memref.copy %[[X]], %[[NEW]] : memref<8xf32> to memref<8xf32>
// CHECK: scf.if
// CHECK-NOT: memref.alloc
// CHECK: memref.subview %[[NEW]][%{{.*}}] [1] [1]
// CHECK-NOT: else
// CHECK: linalg.exp {{.*}}ins(%[[NEW]]
func.func private @update(%x: tensor<8xf32>, %v: tensor<1xf32>, %at: tensor<i32>) -> tensor<8xf32> {
  %number = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %number : i32 to index
  %c8 = arith.constant 8 : index
  %inside = arith.cmpi slt, %i, %c8 : index
  %new = scf.if %inside -> tensor<8xf32> {
    %0 = tensor.insert_slice %v into %x[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  %o = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%new : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// If nothing else needs the array, or a loop carries it, there is no copy.
// CHECK-LABEL: @update_own
// CHECK: %[[OWN:.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK-NOT: memref.copy %{{.*}} : memref<8xf32>
// CHECK: linalg.tanh {{.*}}outs(%[[OWN]]
// CHECK-NOT: memref.copy %{{.*}} : memref<8xf32>
// CHECK: linalg.exp {{.*}}ins(%[[OWN]]
func.func private @update_own(%x: tensor<8xf32>, %v: tensor<1xf32>, %at: tensor<i32>) -> tensor<8xf32> {
  %number = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %number : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %inside = arith.cmpi slt, %i, %c8 : index
  %e = tensor.empty() : tensor<8xf32>
  %own = linalg.tanh ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %first = scf.if %inside -> tensor<8xf32> {
    %0 = tensor.insert_slice %v into %own[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %own : tensor<8xf32>
  }
  %new = scf.for %j = %c0 to %i step %c1 iter_args(%a = %first) -> tensor<8xf32> {
    %in = arith.cmpi slt, %j, %c8 : index
    %1 = scf.if %in -> tensor<8xf32> {
      %2 = tensor.insert_slice %v into %a[%j] [1] [1] : tensor<1xf32> into tensor<8xf32>
      scf.yield %2 : tensor<8xf32>
    } else {
      scf.yield %a : tensor<8xf32>
    }
    scf.yield %1 : tensor<8xf32>
  }
  %o = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%new : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
