// Splits that follow from constraints on values, over both axes of a grid. The second axis splits what the first leaves.
//
// RUN: pp-opt %s --pipeline-shard="grid=2,2" 2>&1 | FileCheck %s

// Of three elements two shards cannot have equal parts.
// CHECK: remark: a constraint would split dimension 0 of parameter 'odd', here of type 'tensor<3x2xf32>', but not into equal parts for 2 shards of the second axis; it stays whole over this axis
// The first axis leaves four and three elements. All parts are split over the second axis, or none.
// CHECK: remark: a constraint would split dimension 1 of parameter 'uneven', here of type 'tensor<2x3xf32>', but not into equal parts for 2 shards of the second axis; it stays whole over this axis
// CHECK-NOT: remark

// Four heads of four elements: heads over the first axis, which leaves two, and the elements of each over the second.
// CHECK: func.func @step(%{{.*}}: tensor<2x4xf32> {pipeline.name = "heads"{{[^}]*}}pipeline.slice_dim = array<i64: 1, 1>, pipeline.slice_outer = array<i64: 1, 2>, pipeline.slice_unit = array<i64: 1, 1>
// Two heads: their elements over the first axis, which leaves two of each, and the heads over the second.
// CHECK-SAME: tensor<2x2xf32> {pipeline.name = "elements"{{[^}]*}}pipeline.slice_dim = array<i64: 1, 1>, pipeline.slice_outer = array<i64: 2, 1>, pipeline.slice_unit = array<i64: 1, 1>
// The same factor over both axes.
// CHECK-SAME: tensor<2x4xf32> {pipeline.name = "both"{{[^}]*}}pipeline.slice_dim = array<i64: 1, 1>, pipeline.slice_outer = array<i64: 2, 2>, pipeline.slice_unit = array<i64: 1, 1>
// CHECK-SAME: tensor<3x2xf32> {pipeline.name = "odd"{{[^}]*}}pipeline.slice_dim = array<i64: 1>
// CHECK-SAME: tensor<2x4xf32> {pipeline.name = "uneven"{{[^}]*}}pipeline.slice_dim = array<i64: 1>
// CHECK-SAME: tensor<2x3xf32> {pipeline.name = "uneven"{{[^}]*}}pipeline.slice_dim = array<i64: 1>
func.func @step(%a: tensor<2x16xf32> {pipeline.role = "parameter", pipeline.name = "heads", pipeline.split_derived = array<i64: 1, 1>,
                  pipeline.split_dim = array<i64: 1, 1>, pipeline.split_outer = array<i64: 1, 4>, pipeline.split_unit = array<i64: 4, 1>},
                %b: tensor<2x8xf32> {pipeline.role = "parameter", pipeline.name = "elements", pipeline.split_derived = array<i64: 1, 1>,
                  pipeline.split_dim = array<i64: 1, 1>, pipeline.split_outer = array<i64: 2, 1>, pipeline.split_unit = array<i64: 1, 4>},
                %c: tensor<2x16xf32> {pipeline.role = "parameter", pipeline.name = "both", pipeline.split_derived = array<i64: 1, 1>,
                  pipeline.split_dim = array<i64: 1, 1>, pipeline.split_outer = array<i64: 2, 2>, pipeline.split_unit = array<i64: 2, 2>},
                %d: tensor<3x4xf32> {pipeline.role = "parameter", pipeline.name = "odd", pipeline.split_derived = array<i64: 0, 1>,
                  pipeline.split_dim = array<i64: 1, 0>},
                %f: tensor<2x7xf32> {pipeline.role = "parameter", pipeline.name = "uneven", pipeline.split_derived = array<i64: 0, 1>,
                  pipeline.split_dim = array<i64: 1, 1>},
                %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4xf32> {pipeline.role = "output"}) {
  return %x : tensor<4xf32>
}
