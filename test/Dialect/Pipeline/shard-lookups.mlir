// RUN: pp-opt %s --pipeline-shard="ways=2 hints=ids=0" | FileCheck %s --check-prefix=IDS
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=table=1" | FileCheck %s --check-prefix=WIDTH
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=table=0" | FileCheck %s --check-prefix=ROWS
// RUN: pp-opt %s --pipeline-shard="ways=3 hints=table=0" | FileCheck %s --check-prefix=THREE
// Each shard computes its own samples, but looks up rows for all samples, so it needs only its part of the table.
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=table=0,ids=0" | FileCheck %s --check-prefix=ROWS
// A constant table, such as features of nodes, is split by its exact name.
// RUN: sed 's/role = "parameter"/role = "constant"/' %s | pp-opt --pipeline-shard="ways=2 hints=table=0" | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/role = "parameter"/role = "constant"/' %s | not pp-opt --pipeline-shard="ways=2 hints=t*=0" 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: no parameter has a name like 't*=0'
// RUN: pp-opt %s --pipeline-print-layouts -o /dev/null | FileCheck %s --check-prefix=CLASSES

// Each shard looks up its own ids: those of the second are rows 0 and 1 of its part.
// IDS: %[[OWN:.*]] = tensor.extract_slice %arg1[2, 0] [2, 6] [1, 1]
// IDS: linalg.generic {{.*}} outs({{.*}} : tensor<2x6x4xf32>)
// IDS: linalg.generic {{.*}} outs({{.*}} : tensor<2x6x4xf32>)
// IDS: %[[I:.*]] = linalg.index 0
// IDS: %[[J:.*]] = linalg.index 1
// IDS: tensor.extract %[[OWN]][%[[I]], %[[J]]] : tensor<2x6xi32>

// Each shard looks up its columns of the rows of all ids.
// WIDTH: func.func @step(%arg0: tensor<8x2xf32>
// WIDTH-NOT: arith.cmpi
// WIDTH: tensor.extract %arg2[%{{.*}}, %{{.*}}] : tensor<4x6xi32>
// WIDTH: tensor.extract %arg0[%{{.*}}, %{{.*}}] : tensor<8x2xf32>
// WIDTH-NOT: arith.cmpi

// Each shard provides the rows of the table that it has and zeros for the others; both are added.
// ROWS: func.func @step(%arg0: tensor<4x4xf32>
// ROWS: arith.cmpi ult
// ROWS: tensor.extract %arg0[%{{.*}}, %{{.*}}] : tensor<4x4xf32>
// ROWS: arith.addf

// Three shards have three, three and two of the eight rows.
// THREE: func.func @step(%arg0: tensor<3x4xf32> {{.*}} %arg1: tensor<3x4xf32> {{.*}} %arg2: tensor<2x4xf32>
// THREE: %[[START:.*]] = arith.constant 6 : index
// THREE: arith.subi %{{.*}}, %[[START]]
// THREE: %[[COUNT:.*]] = arith.constant 2 : index
// THREE: arith.cmpi ult, %{{.*}}, %[[COUNT]]
// THREE: tensor.extract %arg2[

// CLASSES: {{^}}  1 class of size 8: table dim 0
// CLASSES: {{^}}  1 class of size 4: table dim 1, 1 intermediate value
// CLASSES: {{^}}  1 class of size 4: ids dim 0, 1 intermediate value
// CLASSES: {{^}}  1 class of size 6: ids dim 1, 1 intermediate value

func.func @step(%table: tensor<8x4xf32> {pipeline.role = "parameter", pipeline.name = "table"},
                %ids: tensor<4x6xi32> {pipeline.role = "batch", pipeline.name = "ids"}) -> (tensor<4x6x4xf32> {pipeline.role = "output"}) {
  %e = tensor.empty() : tensor<4x6x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%e : tensor<4x6x4xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %id = tensor.extract %ids[%i, %j] : tensor<4x6xi32>
    %row = arith.index_cast %id : i32 to index
    %found = tensor.extract %table[%row, %k] : tensor<8x4xf32>
    linalg.yield %found : f32
  } -> tensor<4x6x4xf32> loc("jit(step)/embed/gather")
  return %y : tensor<4x6x4xf32>
}
