// RUN: pp-opt %s --pipeline-shard="grid=2,2 hints=w=0;1" | FileCheck %s
// RUN: pp-compile %s --cluster=local:4 --tensor-parallel=2x2 '--shard=w=0;1' --microbatches=1 --emit=schedule --quiet 2>&1 | FileCheck %s --check-prefix=PLAN

// Errors.
// DEFINE: %{hints} =
// DEFINE: %{split} = not pp-opt %s --pipeline-shard="grid=2,2 hints=%{hints}" 2>&1 | FileCheck %s --check-prefix
// REDEFINE: %{hints} = w=0
// RUN: %{split}=ENTRIES
// ENTRIES: error: 'w=0' does not say how a parameter is split over a grid; write GLOB=whole, or a dimension or 'whole' for each of its 2 axes, as */w=0;1
// REDEFINE: %{hints} = w=0;auto
// RUN: %{split}=AUTO
// AUTO: error: 'w=0;auto' does not say how
// REDEFINE: %{hints} = w=0;whole
// RUN: %{split}=USELESS
// USELESS: error: no parameter is split over the 2 shards of the second axis: neither a hint's entry for it nor the model's own file names a dimension; let one do so, as */w=0;1
// REDEFINE: %{hints} =
// RUN: %{split}=NONE
// NONE: error: no parameter is split over the 2 shards of the first axis: the model's own file splits none over it; let --shard have an entry for each axis, as */w=0;1
// REDEFINE: %{hints} = w=1;1:5
// RUN: %{split}=TWICE
// TWICE: error: parameter 'w' of type 'tensor<16x6xf32>' (in a shard of the first axis) cannot be split over 2 shards of the second axis by 'w=1;1:5': dimension 1 must be a multiple of 5, and at least 10, got 6
// REDEFINE: %{hints} = x=0:2;0
// RUN: %{split}=CHUNKS
// CHUNKS: error: batch 'x' of type 'tensor<8x16xf32>' cannot be split over 2 shards of the second axis by 'x=0:2;0': the first axis splits chunks of dimension 0, and the second cannot split these parts of a batch; give one of them another dimension or 'whole'
// RUN: not pp-opt %s --pipeline-shard="grid=3,2 hints=x=0;0" 2>&1 | FileCheck %s --check-prefix=THIRDS
// THIRDS: error: batch 'x' of type 'tensor<8x16xf32>' cannot be split over 2 shards of the second axis by 'x=0;0': dimension 0 must be a multiple of 3, and at least 6, got 8
// RUN: not pp-opt %s --pipeline-shard="grid=3,2 hints=x=0:1:2;0" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: error: batch 'x' of type 'tensor<8x16xf32>' cannot be split over 2 shards of the second axis by 'x=0:1:2;0': the first axis splits dimension 0, in units of 2, into parts that are not equal, and the second cannot split these parts of a batch; give one of them another dimension or 'whole'
// RUN: not pp-opt %s --pipeline-shard="grid=2,2,2 hints=w=0;1;1" 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not pp-opt %s --pipeline-shard="grid=2,1 hints=w=0;1" 2>&1 | FileCheck %s --check-prefix=AXES
// AXES: error: a grid of shards has two axes, each of 2 to 1024 shards
// RUN: not pp-opt %s --pipeline-shard="grid=64,64 hints=w=0;1" 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: shards of a grid must be from 1 to 1024, got 4096
// RUN: not pp-opt %s --pipeline-shard="ways=4 hints=w=0;1" 2>&1 | FileCheck %s --check-prefix=NOGRID
// NOGRID: error: 'w=0;1' does not say how a parameter is split: entries for several axes need a grid of shards, as of 2x2
// RUN: sed 's/"output"})/"output"}) attributes {pipeline.grid = array<i64: 2, 2>}/' %s | not pp-opt --pipeline-form-graph 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: operation is at no level and shard of the grid of @step; form the graph right after pipeline-shard

// DEFINE: %{options} =
// DEFINE: %{pipeline} = not pp-opt %s "--stagewright-pipeline=to=graph cluster=local:4 shard-grid=2x2 %{options}" 2>&1 | FileCheck %s --check-prefix
// REDEFINE: %{options} = shards=3
// RUN: %{pipeline}=NUMBER
// NUMBER: error: shards form a grid of 2x2, which has 4 shards, but their number is 3; give the product of the grid's axes
// REDEFINE: %{options} = shard=w=0;1
// RUN: %{pipeline}=NUMBERLESS
// NUMBERLESS: error: shards form a grid of 2x2, which has 4 shards, but their number is not given; give it too, such as shards=4
// RUN: not pp-opt %s "--stagewright-pipeline=to=graph cluster=local:4 shards=4 shard-grid=2xq" 2>&1 | FileCheck %s --check-prefix=LETTERS
// LETTERS: error: shard-grid is '2xq', expected numbers of shards with 'x' between them, such as 2x2

// Both axes split the samples: each shard computes a quarter.
// RUN: pp-opt %s --pipeline-shard="grid=2,2 hints=x=0;0" | FileCheck %s --check-prefix=SAMPLES
// SAMPLES-COUNT-4: linalg.matmul {{.*}} tensor<2x16xf32>, tensor<16x12xf32>
// SAMPLES-NOT: linalg.matmul

// The rows of w are split over the first axis, the columns of each part over the second.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %arg1: tensor<8x6xf32> {{{.*}}pipeline.slice = 0 : i64, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>, pipeline.slice_ways = array<i64: 2, 2>}, %arg2
// CHECK-SAME: tensor<8x6xf32> {{{.*}}pipeline.slice = 3 : i64
// CHECK-SAME: attributes {pipeline.grid = array<i64: 2, 2>
// CHECK-COUNT-4: linalg.matmul {{.*}} tensor<8x8xf32>, tensor<8x6xf32>
// The sum over the first axis, in both shards of the second that return parts, then the join.
// CHECK-COUNT-2: linalg.add {{.*}} tensor<8x6xf32>
// CHECK-COUNT-2: tensor.insert_slice {{.*}} tensor<8x6xf32> into tensor<8x12xf32>

// PLAN: pipeline.stage {{.*}}@d0
// PLAN: pipeline.stage {{.*}}@d3

func.func @step(%x: tensor<8x16xf32> {pipeline.role = "batch", pipeline.name = "x"},
                %w: tensor<16x12xf32> {pipeline.role = "parameter", pipeline.name = "w"}) -> (tensor<8x12xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x12xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x12xf32>) -> tensor<8x12xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%zeros : tensor<8x12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}
