// Over a grid of shards the model's own file splits parameters and batches along both axes, unless a hint says otherwise.
//
// RUN: pp-opt %s --pipeline-shard="grid=2,2" | FileCheck %s --implicit-check-not=split_
// RUN: pp-opt %s --pipeline-shard="grid=2,2 hints=[bc]=whole;1,x=whole" | FileCheck %s --check-prefix=HINTS
// RUN: pp-opt %s --pipeline-shard="grid=2,3" | FileCheck %s --check-prefix=UNEVEN
// RUN: pp-opt %s --pipeline-shard="ways=2" 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not=remark:
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=[ac]=1,b=0" 2>&1 | FileCheck %s --check-prefix=ALL --implicit-check-not=remark:
// RUN: sed 's/array<i64: 0, -1>/0 : i64, pipeline.split_derived/' %s | pp-opt --pipeline-shard="grid=2,2" 2>&1 | FileCheck %s --check-prefix=DERIVED --implicit-check-not=remark:
// DERIVED: remark: a constraint would split dimension 0 of parameter 'b' over one axis, but the shards form a grid of 2 axes; it stays whole; to follow constraints, import the model with --shard-axis=AXIS,AXIS
// DERIVED: tensor<8x4xf32> {{{[^}]*}}pipeline.name = "b"
// DEFINE: %{edit} =
// DEFINE: %{refused} = sed %{edit} %s | not pp-opt --pipeline-shard="grid=2,2" 2>&1 | FileCheck %s --check-prefix
// REDEFINE: %{edit} = 's/array<i64: 0, -1>/0 : i64/'
// RUN: %{refused}=AXIS
// AXIS: error: the model's own file splits parameter 'b' over one axis, along dimension 0, but the shards form a grid of 2 axes; import the model with --shard-axis=AXIS,AXIS, or let a hint have an entry for each axis, such as --shard='b=0;whole'
// REDEFINE: %{edit} = 's/array<i64: 1, 0>/array<i64: 1, 1>, pipeline.split_outer = array<i64: 1, 4>/'
// RUN: %{refused}=FIT
// FIT: error: parameter 'c' of type 'tensor<4x4xf32>' (in a shard of the first axis) cannot be split over 2 shards of the second axis by the model's own file: dimension 1 must be a multiple of 4, and at least 8, got 4
// REDEFINE: %{edit} = 's/array<i64: 1, 0>/array<i64: 1, -1>/; s/array<i64: -1, 0>/array<i64: -1, -1>/'
// RUN: %{refused}=SECOND
// SECOND: error: no parameter is split over the 2 shards of the second axis: the model's own file splits none over it; let --shard have an entry for each axis, as */w=0;1
// REDEFINE: %{edit} = 's/array<i64: 1, 0>/array<i64: 1, 0, 0>/'
// RUN: %{refused}=LENGTH
// LENGTH: error: 'pipeline.split_dim' of argument 0 must be a list of 2 integers from -1 to 1, got array<i64: 1, 0, 0>
// REDEFINE: %{edit} = 's/array<i64: 1, 0>/array<i64: 1, 0>, pipeline.split_outer = array<i64: 0, 1>/'
// RUN: %{refused}=OUTER
// OUTER: error: 'pipeline.split_outer' of argument 0 must be a list of 2 integers from 1 to {{.*}}, got array<i64: 0, 1>

// Columns of c over the first axis, its rows over the second; the hidden units over the first axis, samples over the second.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %arg0: tensor<2x4xf32> {{{[^}]*}}pipeline.slice_dim = array<i64: 1, 0>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>, pipeline.slice_ways = array<i64: 2, 2>}
// CHECK-SAME: %arg6: tensor<4x4xf32> {{{[^}]*}}pipeline.name = "b"{{[^}]*}}pipeline.slice = 0 : i64, pipeline.slice_dim = array<i64: 0>, {{[^}]*}}pipeline.slice_ways = array<i64: 2>}
// CHECK-SAME: %arg8: tensor<4x4xf32> {{{[^}]*}}pipeline.name = "x"
// CHECK: tensor.extract_slice %arg8[0, 0] [2, 4]
// CHECK: tensor.extract_slice %arg8[2, 0] [2, 4]

// HINTS: func.func @step(%arg0: tensor<4x4xf32> {{{[^}]*}}pipeline.slice_dim = array<i64: 1>, {{.*}}%arg2: tensor<4x4xf32> {{{[^}]*}}pipeline.name = "a"{{[^}]*}}pipeline.slice_dim = array<i64: 1>, {{.*}}%arg4: tensor<8x2xf32> {{{[^}]*}}pipeline.name = "b"
// HINTS-NOT: tensor.extract_slice %arg6

// UNEVEN: func.func @step(%arg0: tensor<2x4xf32> {{.*}}%arg1: tensor<1x4xf32> {{.*}}%arg2: tensor<1x4xf32>

// One axis of shards cannot follow two, so that the compiler chooses, or hints do.
// ONE: remark: the model's own file splits parameter 'c' over two axes, which is not followed, since layers are split over one axis of 2 shards; give --tensor-parallel=ROWSxCOLUMNS, or import the model with --shard-axis=AXIS
// ONE: remark: layers are split over 2 shards as by --shard='c=0'
// ONE: func.func @step(%arg0: tensor<2x8xf32>
// ALL: func.func @step(%arg0: tensor<4x4xf32>

func.func @step(%c: tensor<4x8xf32> {pipeline.role = "parameter", pipeline.name = "c", pipeline.split_dim = array<i64: 1, 0>},
                %a: tensor<4x8xf32> {pipeline.role = "parameter", pipeline.name = "a", pipeline.split_dim = array<i64: 1, -1>},
                %b: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.name = "b", pipeline.split_dim = array<i64: 0, -1>},
                %x: tensor<4x4xf32> {pipeline.role = "batch", pipeline.name = "x", pipeline.split_dim = array<i64: -1, 0>})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%h, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
