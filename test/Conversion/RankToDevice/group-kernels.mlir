// RUN: pp-opt %s --split-input-file --device-group-kernels | FileCheck %s

// A softmax is one kernel, with the fills that its sums start from; the contraction after it is not a part of it.
// CHECK-LABEL: @softmax
// CHECK: linalg.fill {device.group = 0 : i64}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.fill {device.group = 0 : i64}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK-NOT: device.group
// CHECK: linalg.contract
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @softmax(%x: tensor<64x128xf32>, %w: tensor<128x8xf32>) -> tensor<64x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = tensor.empty() : tensor<64x128xf32>
  %lows = linalg.fill ins(%low : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%lows : tensor<64xf32>) {
  ^bb0(%a: f32, %m: f32):
    %0 = arith.maximumf %m, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %exp = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<64x128xf32>, tensor<64xf32>) outs(%f : tensor<64x128xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<64x128xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %out = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<64x128xf32>, tensor<64xf32>) outs(%f : tensor<64x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.divf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<64x128xf32>
  %g = tensor.empty() : tensor<64x8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%out, %w : tensor<64x128xf32>, tensor<128x8xf32>) outs(%start : tensor<64x8xf32>) -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// Too few rows for a group: every operation is a separate kernel, and a team computes the sum of each row.
// CHECK-LABEL: @few
// CHECK: linalg.fill {device.group = 0 : i64}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 1 : i64}
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @few(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x128xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %out = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<8x128xf32>, tensor<8xf32>) outs(%f : tensor<8x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.subf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<8x128xf32>
  return %out : tensor<8x128xf32>
}

// -----

// Two sums over the same rows that share what they read are one kernel; a third that needs one of them is not a part of it.
// CHECK-LABEL: @sums
// CHECK: %[[BOTH:.*]]:2 = linalg.generic {indexing_maps = [#[[ROWS:.*]], #[[ROWS]], #[[COLUMN:.*]], #[[COLUMN]]]
// CHECK-SAME: ins(%arg0, %arg1 : tensor<8x128xf32>, tensor<8x128xf32>) outs(%arg2, %arg2 :
// CHECK-SAME: device.group = 1
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[BOTH]]#0 : {{.*}}{device.group = 0
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func private @sums(%x: tensor<8x128xf32>, %y: tensor<8x128xf32>, %z: tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
  %b = linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x128xf32>) outs(%z : tensor<128xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<128xf32>
  %c = linalg.generic {indexing_maps = [#rows, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %b : tensor<8x128xf32>, tensor<128xf32>) outs(%z : tensor<128xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %0 = arith.mulf %a, %m : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128xf32>
  %g = linalg.generic {indexing_maps = [#rows, #rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : tensor<8x128xf32>, tensor<8x128xf32>) outs(%z : tensor<128xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %0 = arith.mulf %a, %m : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128xf32>
  return %c, %g : tensor<128xf32>, tensor<128xf32>
}

// -----

// Sums over all rows of a group join it, in one operation, if what they read is in the group's registers: not %z.
// CHECK-LABEL: @gradients
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}} attrs =  {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]{{.*}} {device.group = 0 : i64, device.rows = array<i64: 0>}
// CHECK: -> (tensor<96xf32>, tensor<96xf32>)
// CHECK-NEXT: linalg.fill {device.group = 1 : i64}
// CHECK-NEXT: linalg.generic {{.*}} attrs =  {device.group = 1 : i64}
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func private @gradients(%x: tensor<4096x96xf32>, %y: tensor<4096x96xf32>, %z: tensor<4096x96xf32>)
    -> (tensor<4096x96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %f = tensor.empty() : tensor<4096x96xf32>
  %c = tensor.empty() : tensor<96xf32>
  %starts = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %dot = linalg.generic {indexing_maps = [#rows, #rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<4096x96xf32>, tensor<4096x96xf32>) outs(%starts : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4096xf32>
  %dx = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %dot : tensor<4096x96xf32>, tensor<4096xf32>) outs(%f : tensor<4096x96xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = arith.mulf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<4096x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%c : tensor<96xf32>) -> tensor<96xf32>
  %db = linalg.generic {indexing_maps = [#rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<4096x96xf32>) outs(%zeros : tensor<96xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  } -> tensor<96xf32>
  %dg = linalg.generic {indexing_maps = [#rows, #rows, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : tensor<4096x96xf32>, tensor<4096x96xf32>) outs(%zeros : tensor<96xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<96xf32>
  %dz = linalg.generic {indexing_maps = [#rows, #row, #column], iterator_types = ["reduction", "parallel"]}
      ins(%z, %dot : tensor<4096x96xf32>, tensor<4096xf32>) outs(%zeros : tensor<96xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<96xf32>
  return %dx, %db, %dg, %dz : tensor<4096x96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>
}

// Two gates of a recurrent network become one operation. The third is separate, because it needs the first.
// CHECK-LABEL: @gates
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8x16xf32>) outs(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<8x16xf32>)
// CHECK: math.tanh
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: math.sin
// CHECK: return
#gate = affine_map<(i, j) -> (i, j)>
func.func private @gates(%x0: tensor<8x16xf32>, %y0: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %x0, %y = %y0) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %e = tensor.empty() : tensor<8x16xf32>
  %f = tensor.empty() : tensor<8x16xf32>
  %g = tensor.empty() : tensor<8x16xf32>
  %a = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.tanh %u : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %b = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.exp %u : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %c = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xf32>) outs(%g : tensor<8x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.sin %u : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  scf.yield %b, %c : tensor<8x16xf32>, tensor<8x16xf32>
  } {device.unroll}
  return %r#0, %r#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// What the first reads is overwritten before the second, so they stay separate.
// CHECK-LABEL: @overwritten
// CHECK: math.tanh
// CHECK: linalg.generic
// CHECK: math.cos
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: return
func.func private @overwritten(%x0: tensor<8x16xf32>, %y0: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z0 = tensor.empty() : tensor<4x16xf32>
  %r:3 = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %x0, %y = %y0, %z = %z0) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x16xf32>) {
  %e = tensor.empty() : tensor<8x16xf32>
  %f = tensor.empty() : tensor<8x16xf32>
  %a = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.tanh %u : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %s = tensor.extract_slice %y[0, 0] [4, 16] [1, 1] : tensor<8x16xf32> to tensor<4x16xf32>
  %i = tensor.insert_slice %s into %x[4, 0] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<8x16xf32>
  %h = tensor.empty() : tensor<4x16xf32>
  %c = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x16xf32>) outs(%h : tensor<4x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.cos %u : f32
    linalg.yield %0 : f32
  } -> tensor<4x16xf32>
  %b = linalg.generic {indexing_maps = [#gate, #gate], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<8x16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%u: f32, %o: f32):
    %0 = math.exp %u : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  scf.yield %a, %b, %c : tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x16xf32>
  } {device.unroll}
  return %r#0, %r#1, %r#2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x16xf32>
}
