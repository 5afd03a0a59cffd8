// Finds the layers that mix rows of the batch, with the operation that does. The first graph uses sums over rows linearly.
// RUN: pp-opt %s -split-input-file -pipeline-infer-sliceable | FileCheck %s

// The mean of a loss, a matrix that every row is multiplied by and its gradient, a mask that is the same for all rows.
// CHECK-LABEL: pipeline.graph @sums
// CHECK: pipeline.node "a.F" @a.F phase F layer 0(%{{[^)]*}}) : (
#rows = affine_map<(b, o, i) -> (b, i)>
#matrix = affine_map<(b, o, i) -> (i, o)>
#out = affine_map<(b, o, i) -> (b, o)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
#none = affine_map<() -> ()>
func.func private @a.F(%w: tensor<8x16xf32>, %x: tensor<4x8xf32>) -> (tensor<f32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 64.0 : f32
  %mask = arith.constant dense<0.5> : tensor<4x16xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.generic {indexing_maps = [#rows, #matrix, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z : tensor<4x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  %masked = arith.mulf %y, %mask : tensor<4x16xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction", "reduction"]}
      ins(%masked : tensor<4x16xf32>) outs(%z0 : tensor<f32>) {
  ^bb0(%in: f32, %acc: f32):
    %s = arith.addf %acc, %in : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %mean = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%sum : tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.divf %in, %count : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %dw = linalg.generic {indexing_maps = [affine_map<(i, o, b) -> (b, i)>, affine_map<(i, o, b) -> (b, o)>, affine_map<(i, o, b) -> (i, o)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %masked : tensor<4x8xf32>, tensor<4x16xf32>) outs(%z1 : tensor<8x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %mean, %dw : tensor<f32>, tensor<8x16xf32>
}
pipeline.graph @sums(%w: tensor<8x16xf32> {pipeline.role = "parameter"}, %x: tensor<4x8xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<8x16xf32> {pipeline.role = "gradient", pipeline.of = 0}) attributes {layers = ["a"]} {
  %0:2 = pipeline.node "a.F" @a.F phase F layer 0 (%w, %x) : (tensor<8x16xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<8x16xf32>)
  pipeline.yield %0#0, %0#1 results [0, 1] : tensor<f32>, tensor<8x16xf32>
}

// -----

// Rows of a table are looked up, and their gradients are added to the gradients of these rows, row by row.
// CHECK-LABEL: pipeline.graph @table
// CHECK: pipeline.node "a.F" @a.F phase F layer 0(%{{[^)]*}}) : (
func.func private @a.F(%table: tensor<64x8xf32>, %ids: tensor<4x2xi32>) -> (tensor<4x2x8xf32>, tensor<64x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4x2x8xf32>
  %found = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%e : tensor<4x2x8xf32>) {
  ^bb0(%out: f32):
    %b = linalg.index 0 : index
    %t = linalg.index 1 : index
    %d = linalg.index 2 : index
    %id = tensor.extract %ids[%b, %t] : tensor<4x2xi32>
    %at = arith.index_cast %id : i32 to index
    %value = tensor.extract %table[%at, %d] : tensor<64x8xf32>
    linalg.yield %value : f32
  } -> tensor<4x2x8xf32>
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  %sum = scf.for %b = %c0 to %c4 step %c1 iter_args(%outer = %zero) -> tensor<64x8xf32> {
    %inner = scf.for %t = %c0 to %c2 step %c1 iter_args(%acc = %outer) -> tensor<64x8xf32> {
      %id = tensor.extract %ids[%b, %t] : tensor<4x2xi32>
      %at = arith.index_cast %id : i32 to index
      %valid = arith.cmpi sge, %at, %c0 : index
      %next = scf.if %valid -> tensor<64x8xf32> {
        %row = tensor.extract_slice %found[%b, %t, 0] [1, 1, 8] [1, 1, 1] : tensor<4x2x8xf32> to tensor<8xf32>
        %old = tensor.extract_slice %acc[%at, 0] [1, 8] [1, 1] : tensor<64x8xf32> to tensor<8xf32>
        %new = arith.addf %old, %row : tensor<8xf32>
        %put = tensor.insert_slice %new into %acc[%at, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<64x8xf32>
        scf.yield %put : tensor<64x8xf32>
      } else {
        scf.yield %acc : tensor<64x8xf32>
      }
      scf.yield %next : tensor<64x8xf32>
    }
    scf.yield %inner : tensor<64x8xf32>
  }
  return %found, %sum : tensor<4x2x8xf32>, tensor<64x8xf32>
}
pipeline.graph @table(%table: tensor<64x8xf32> {pipeline.role = "parameter"}, %ids: tensor<4x2xi32> {pipeline.role = "batch"})
    -> (tensor<4x2x8xf32> {pipeline.role = "output"}, tensor<64x8xf32> {pipeline.role = "gradient", pipeline.of = 0}) attributes {layers = ["a"]} {
  %0:2 = pipeline.node "a.F" @a.F phase F layer 0 (%table, %ids) : (tensor<64x8xf32>, tensor<4x2xi32>) -> (tensor<4x2x8xf32>, tensor<64x8xf32>)
  pipeline.yield %0#0, %0#1 results [0, 1] : tensor<4x2x8xf32>, tensor<64x8xf32>
}

// -----

// Rows are a batch of attention; in the second layer they are its queries.
// CHECK-LABEL: pipeline.graph @attention
// CHECK: pipeline.node "batch.F" @batch.F phase F layer 0(%{{[^)]*}}) : (
// CHECK: "queries.F" {{.*}} {mixes = "its queries meet keys of other rows of the batch", sliceable = false}
#q = affine_map<(b, i, j, w, v) -> (b, i, w)>
#k = affine_map<(b, i, j, w, v) -> (b, j, w)>
#v = affine_map<(b, i, j, w, v) -> (b, j, v)>
#o = affine_map<(b, i, j, w, v) -> (b, i, v)>
#s = affine_map<(b, i, j, w, v) -> (b, i)>
func.func private @batch.F(%x: tensor<2x128x64xf32>) -> tensor<2x128x64xf32> {
  %o0 = tensor.empty() : tensor<2x128x64xf32>
  %s0 = tensor.empty() : tensor<2x128xf32>
  %o:2 = pipeline.attention scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s]
      ins(%x, %x, %x : tensor<2x128x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>)
      outs(%o0, %s0 : tensor<2x128x64xf32>, tensor<2x128xf32>) -> tensor<2x128x64xf32>, tensor<2x128xf32>
  return %o#0 : tensor<2x128x64xf32>
}
#q1 = affine_map<(i, j, w, v) -> (i, w)>
#k1 = affine_map<(i, j, w, v) -> (j, w)>
#v1 = affine_map<(i, j, w, v) -> (j, v)>
#o1 = affine_map<(i, j, w, v) -> (i, v)>
#s1 = affine_map<(i, j, w, v) -> (i)>
func.func private @queries.F(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %o0 = tensor.empty() : tensor<2x64xf32>
  %s0 = tensor.empty() : tensor<2xf32>
  %o:2 = pipeline.attention scale 1.250000e-01 maps [#q1, #k1, #v1, #o1, #s1]
      ins(%x, %x, %x : tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>)
      outs(%o0, %s0 : tensor<2x64xf32>, tensor<2xf32>) -> tensor<2x64xf32>, tensor<2xf32>
  return %o#0 : tensor<2x64xf32>
}
pipeline.graph @attention(%x: tensor<2x128x64xf32> {pipeline.role = "batch"}, %y: tensor<2x64xf32> {pipeline.role = "batch"})
    -> (tensor<2x128x64xf32> {pipeline.role = "output"}, tensor<2x64xf32> {pipeline.role = "output"}) attributes {layers = ["batch", "queries"]} {
  %0 = pipeline.node "batch.F" @batch.F phase F layer 0 (%x) : (tensor<2x128x64xf32>) -> tensor<2x128x64xf32>
  %1 = pipeline.node "queries.F" @queries.F phase F layer 1 (%y) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  pipeline.yield %0, %1 results [0, 1] : tensor<2x128x64xf32>, tensor<2x64xf32>
}

// -----

// Each layer mixes rows in another way; the layers after it are examined as if it computed whole microbatches.
// CHECK-LABEL: pipeline.graph @mixing
// CHECK: "maximum.F" {{.*}} {mixes = "'arith.maximumf' reduces over the rows of the batch; only sums can be taken apart", sliceable = false}
// CHECK: "normalize.F" {{.*}} {mixes = "a sum over the rows of the batch is spread over its rows", sliceable = false}
// CHECK: "square.F" {{.*}} {mixes = "'arith.mulf' uses a sum over the rows of the batch, and not linearly", sliceable = false}
// CHECK: "some.F" {{.*}} {mixes = "it takes some of the rows of the batch", sliceable = false}
// CHECK: "pairs.F" {{.*}} {mixes = "every row of the batch is combined with every other", sliceable = false}
// CHECK: "lookup.F" {{.*}} {mixes = "rows of the batch are looked up", sliceable = false}
// CHECK: "around.F" {{.*}} {mixes = "it divides a dimension so that samples of the batch are not together", sliceable = false}
// CHECK: "start.F" {{.*}} {mixes = "it reduces over the rows of the batch, and not by a sum that starts at zero", sliceable = false}
// CHECK: "plain.F" @plain.F phase F layer 8(%{{[^)]*}}) : (
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func private @maximum.F(%x: tensor<4x6xf32>) -> tensor<6xf32> {
  %zero = arith.constant dense<0.0> : tensor<6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.maximumf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @normalize.F(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant dense<0.0> : tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.addf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func private @square.F(%x: tensor<4x6xf32>) -> tensor<6xf32> {
  %zero = arith.constant dense<0.0> : tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.addf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %0 = arith.mulf %sum, %sum : tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @some.F(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
  %0 = tensor.extract_slice %x[0, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}
func.func private @pairs.F(%x: tensor<4x6xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @lookup.F(%x: tensor<4x6xf32>, %at: tensor<6xindex>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%at : tensor<6xindex>) outs(%e : tensor<6xf32>) {
  ^bb0(%i: index, %out: f32):
    %j = linalg.index 0 : index
    %v = tensor.extract %x[%i, %j] : tensor<4x6xf32>
    linalg.yield %v : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @around.F(%x: tensor<4x6xf32>) -> tensor<2x2x6xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  return %0 : tensor<2x2x6xf32>
}
func.func private @start.F(%x: tensor<4x6xf32>, %w: tensor<6xf32>) -> tensor<6xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%w : tensor<6xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.addf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @plain.F(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = math.exp %x : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
pipeline.graph @mixing(%x: tensor<4x6xf32> {pipeline.role = "batch"}, %at: tensor<6xindex> {pipeline.role = "constant"}, %w: tensor<6xf32> {pipeline.role = "parameter"})
    -> (tensor<6xf32> {pipeline.role = "output"}) attributes {layers = ["maximum", "normalize", "square", "some", "pairs", "lookup", "around", "start", "plain"]} {
  %0 = pipeline.node "maximum.F" @maximum.F phase F layer 0 (%x) : (tensor<4x6xf32>) -> tensor<6xf32>
  %1 = pipeline.node "normalize.F" @normalize.F phase F layer 1 (%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = pipeline.node "square.F" @square.F phase F layer 2 (%x) : (tensor<4x6xf32>) -> tensor<6xf32>
  %3 = pipeline.node "some.F" @some.F phase F layer 3 (%x) : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %4 = pipeline.node "pairs.F" @pairs.F phase F layer 4 (%x) : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %5 = pipeline.node "lookup.F" @lookup.F phase F layer 5 (%x, %at) : (tensor<4x6xf32>, tensor<6xindex>) -> tensor<6xf32>
  %6 = pipeline.node "around.F" @around.F phase F layer 6 (%x) : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %7 = pipeline.node "start.F" @start.F phase F layer 7 (%x, %w) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %8 = pipeline.node "plain.F" @plain.F phase F layer 8 (%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  pipeline.yield %7 results [0] : tensor<6xf32>
}

// -----

// One sample cannot be shared: replicas take whole microbatches in turn.
// CHECK-LABEL: pipeline.graph @one
// CHECK: "a.F" {{.*}} {mixes = "a microbatch has one sample", sliceable = false}
func.func private @a.F(%x: tensor<1x16xf32>) -> tensor<1x1x16xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 1, 16] : tensor<1x16xf32> into tensor<1x1x16xf32>
  return %0 : tensor<1x1x16xf32>
}
pipeline.graph @one(%x: tensor<1x16xf32> {pipeline.role = "batch"}) -> (tensor<1x1x16xf32> {pipeline.role = "output"}) attributes {layers = ["a"]} {
  %0 = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<1x16xf32>) -> tensor<1x1x16xf32>
  pipeline.yield %0 results [0] : tensor<1x1x16xf32>
}

// Rows update one array one after the other: the result is not a sum of what each row does.
// CHECK-LABEL: pipeline.graph @updating
// CHECK: "update.F" {{.*}} {mixes = "a value goes from one row of the batch to the next", sliceable = false}
func.func private @update.F(%x: tensor<4x6xf32>, %w: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%array = %w) -> (tensor<6xf32>) {
    %row = tensor.extract %x[%i, %c1] : tensor<4x6xf32>
    %old = tensor.extract %array[%c1] : tensor<6xf32>
    %new = arith.mulf %row, %old : f32
    %next = tensor.insert %new into %array[%c1] : tensor<6xf32>
    scf.yield %next : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}
pipeline.graph @updating(%x: tensor<4x6xf32> {pipeline.role = "batch"}, %w: tensor<6xf32> {pipeline.role = "parameter"})
    -> (tensor<6xf32> {pipeline.role = "output"}) attributes {layers = ["update"]} {
  %0 = pipeline.node "update.F" @update.F phase F layer 0 (%x, %w) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<6xf32>
  pipeline.yield %0 results [0] : tensor<6xf32>
}
