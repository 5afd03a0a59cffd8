// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,body-fuse-elementwise,canonicalize,cse))' | FileCheck %s
// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,body-fuse-elementwise{max-ops=0},canonicalize,cse))' | FileCheck %s --check-prefix=NONE
// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,body-fuse-elementwise{longest-row=7},canonicalize,cse))' | FileCheck %s --check-prefix=LONG
// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops,body-fuse-elementwise{longest-row=8},canonicalize,cse))' | FileCheck %s

// A cheap producer is computed again in each of its two consumers.
// CHECK-LABEL: @two_consumers
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
// NONE-LABEL: @two_consumers
// NONE-COUNT-3: linalg.generic
func.func private @two_consumers(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.mul ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.sub ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// With long rows the producer is not computed again, because each consumer would read more bytes.
// LONG-LABEL: @more_reads
// LONG-COUNT-3: linalg.generic
// LONG: return
// A producer is not computed again if each consumer would then read two arrays instead of one.
// CHECK-LABEL: @more_reads
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func private @more_reads(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.mul ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %z : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.sub ins(%0, %z : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// An exponential is not computed again, unless rows are too long to be kept.
// LONG-LABEL: @costly
// LONG-COUNT-2: linalg.generic
// LONG-NOT: linalg.generic
// LONG: return
// CHECK-LABEL: @costly
// CHECK-COUNT-3: linalg.generic
// CHECK: return
func.func private @costly(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.sub ins(%0, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// The producer of a reduction is fused into it.
// CHECK-LABEL: @into_reduction
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func private @into_reduction(%x: tensor<8x4xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.mul ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<8x4xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A sum over one element and the reshape before it are removed.
// CHECK-LABEL: @units
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK-NOT: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @units(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %unit = tensor.expand_shape %s [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%unit : tensor<8x1xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    %0 = arith.addf %n, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<8x4xf32>, tensor<8xf32>) outs(%e2 : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// An operation that adds to a value is not repeated for every point of a consumer: it would add again.
// CHECK-LABEL: @adds_once
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @adds_once(%x: tensor<8xf32>, %so_far: tensor<8xf32>, %y: tensor<8x4xf32>, %sum: tensor<f32>) -> tensor<f32> {
  %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%so_far : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%t, %y : tensor<8xf32>, tensor<8x4xf32>) outs(%sum : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// If fewer elements of an array are read than it has, only those are computed; the input from which they are computed is read
// in its own type.
// CHECK-LABEL: @reads_elements
// CHECK-SAME: (%[[IDS:.*]]: tensor<3xindex>, %[[TABLE:.*]]: tensor<50x8xf32>, %[[SHIFT:.*]]: tensor<50x1xf32>)
// CHECK: linalg.generic
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[TABLE]][%[[I:.*]], %[[J]]]
// CHECK-DAG: %[[S:.*]] = tensor.extract %[[SHIFT]][%[[I]], %c0]
// CHECK: arith.subf %[[X]], %[[S]]
// CHECK: arith.truncf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @reads_elements(%ids: tensor<3xindex>, %table: tensor<50x8xf32>, %shift: tensor<50x1xf32>) -> tensor<3x8xbf16> {
  %e = tensor.empty() : tensor<50x8xbf16>
  %e2 = tensor.empty() : tensor<3x8xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%table, %shift : tensor<50x8xf32>, tensor<50x1xf32>) outs(%e : tensor<50x8xbf16>) {
  ^bb0(%a: f32, %b: f32, %o: bf16):
    %0 = arith.subf %a, %b : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<50x8xbf16>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<3xindex>) outs(%e2 : tensor<3x8xbf16>) {
  ^bb0(%id: index, %o: bf16):
    %j = linalg.index 1 : index
    %0 = tensor.extract %narrow[%id, %j] : tensor<50x8xbf16>
    linalg.yield %0 : bf16
  } -> tensor<3x8xbf16>
  return %rows : tensor<3x8xbf16>
}

// More reads than the array has elements: it is computed once.
// CHECK-LABEL: @reads_elements_often
// CHECK-COUNT-2: linalg.generic
func.func private @reads_elements_often(%ids: tensor<9xindex>, %table: tensor<5xf32>) -> tensor<9xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %e2 = tensor.empty() : tensor<9xf32>
  %made = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%table : tensor<5xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<5xf32>
  %read = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<9xindex>) outs(%e2 : tensor<9xf32>) {
  ^bb0(%id: index, %o: f32):
    %0 = tensor.extract %made[%id] : tensor<5xf32>
    linalg.yield %0 : f32
  } -> tensor<9xf32>
  return %read : tensor<9xf32>
}

// The sum of an array that is zero except in one column is the number in that column, if the column exists.
// CHECK-LABEL: @sums_one_hot
// CHECK-NOT: "reduction"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK: ^bb0(%[[HOT:.*]]: i32, %{{.*}}: f32):
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[HOT]], %c50_i32
// CHECK: %[[TERM:.*]] = arith.select %[[INSIDE]]
// CHECK: %[[NEGATED:.*]] = arith.negf %[[TERM]]
// CHECK: arith.addf %[[NEGATED]], %[[ZERO:.*]] :
// CHECK-NOT: "reduction"
// CHECK: return
func.func private @sums_one_hot(%hot: tensor<8xi32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8x50xf32>
  %e2 = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
  %sum:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%hot : tensor<8xi32>) outs(%e, %zeros : tensor<8x50xf32>, tensor<8xf32>) {
  ^bb0(%a: i32, %o: f32, %p: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %is = arith.cmpi eq, %n, %a : i32
    %0 = arith.select %is, %half, %zero : f32
    %1 = arith.negf %0 : f32
    %2 = arith.addf %1, %p : f32
    linalg.yield %0, %2 : f32, f32
  } -> (tensor<8x50xf32>, tensor<8xf32>)
  return %sum#1 : tensor<8xf32>
}

// Zero times an element of an array need not be zero, because the element may be infinite or NaN.
// CHECK-LABEL: @sums_products
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
func.func private @sums_products(%hot: tensor<8xi32>, %x: tensor<8x50xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e2 = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%hot, %x : tensor<8xi32>, tensor<8x50xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%a: i32, %b: f32, %o: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %is = arith.cmpi eq, %n, %a : i32
    %0 = arith.select %is, %half, %zero : f32
    %1 = arith.mulf %0, %b : f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// One iteration of a recurrence reads one row of the transposed input: only that row is computed. Its columns are numbered as in
// the input.
// CHECK-LABEL: @one_step
// CHECK: %[[ROW:.*]] = tensor.extract_slice %arg0[0, 5, 8] [4, 1, 16] [1, 1, 1] : tensor<4x64x32xf32> to tensor<4x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[ROW]] : tensor<4x16xf32>)
// CHECK: %[[COLUMN:.*]] = linalg.index 1
// CHECK: arith.addi %[[COLUMN]], %c8
// CHECK: math.tanh
// CHECK-NOT: tensor<64x4x32xf32>
// CHECK: return
#steps = affine_map<(t, b, d) -> (b, t, d)>
#whole = affine_map<(t, b, d) -> (t, b, d)>
#step = affine_map<(b, d) -> (b, d)>
func.func @one_step(%x: tensor<4x64x32xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<64x4x32xf32>
  %t = linalg.generic {indexing_maps = [#steps, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x64x32xf32>) outs(%e : tensor<64x4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 2 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %0 = arith.addf %a, %k : f32
    linalg.yield %0 : f32
  } -> tensor<64x4x32xf32>
  %s = tensor.extract_slice %t[5, 0, 8] [1, 4, 16] [1, 1, 1] : tensor<64x4x32xf32> to tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %y = linalg.generic {indexing_maps = [#step, #step], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x16xf32>) outs(%f : tensor<4x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.tanh %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// The whole array is read, in parts, so it is computed once.
// CHECK-LABEL: @all_parts
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @all_parts(%x: tensor<4x32xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %e = tensor.empty() : tensor<4x32xf32>
  %t = linalg.generic {indexing_maps = [#step, #step], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x32xf32>) outs(%e : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x32xf32>
  %s = tensor.extract_slice %t[0, 0] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
  %u = tensor.extract_slice %t[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
  return %s, %u : tensor<4x16xf32>, tensor<4x16xf32>
}

// The index of the row that an iteration reads is a number, not an array of one element.
// CHECK-LABEL: @row_number
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NOT: linalg.generic
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: %[[ROW:.*]] = arith.subi %{{.*}}, %[[NUMBER]] : i32
// CHECK: arith.index_cast %[[ROW]] : i32 to index
// CHECK: return
#none = affine_map<() -> ()>
func.func @row_number(%x: tensor<9x16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %y) -> tensor<16xf32> {
    %n = arith.index_cast %i : index to i32
    %t = tensor.from_elements %n : tensor<i32>
    %e = tensor.empty() : tensor<i32>
    %g = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%t : tensor<i32>) outs(%e : tensor<i32>) {
    ^bb0(%in: i32, %o: i32):
      %c8 = arith.constant 8 : i32
      %0 = arith.subi %c8, %in : i32
      linalg.yield %0 : i32
    } -> tensor<i32>
    %m = tensor.extract %g[] : tensor<i32>
    %at = arith.index_cast %m : i32 to index
    %row = tensor.extract_slice %x[%at, 0] [1, 16] [1, 1] : tensor<9x16xf32> to tensor<16xf32>
    scf.yield %row : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}

// An addition may use the number from which it starts twice.
// CHECK-LABEL: @doubled
// CHECK: return
func.func private @doubled() -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%z : tensor<8xf32>) {
  ^bb0(%o: f32):
    %a = arith.addf %o, %o : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
