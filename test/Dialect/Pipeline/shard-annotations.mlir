// RUN: pp-opt --pipeline-shard="ways=2 cluster=local:2" %s 2>/dev/null | FileCheck %s
// RUN: pp-opt --pipeline-shard="ways=2 cluster=local:2" %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: pp-opt --stagewright-pipeline="to=graph shards=2 cluster=local:2 annotate=c=split(2)" %s 2>/dev/null | FileCheck %s --check-prefix=GRAPH
// RUN: pp-opt --pipeline-shard="ways=2 cluster=local:2 hints=b=whole,a=1" %s 2>/dev/null | FileCheck %s --check-prefix=HINT
// RUN: not pp-opt --pipeline-shard="ways=4 cluster=local:4" %s 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not pp-opt --stagewright-pipeline="to=program cluster=local:2" %s 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not pp-opt --pipeline-shard="grid=2,2 hints=a=0;1" %s 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: sed 's/tensor<4x8xf32>/tensor<3x8xf32>/g' %s | not pp-opt --pipeline-shard="ways=2 cluster=local:2" 2>&1 | FileCheck %s --check-prefix=SAMPLES

// Layer a is replicated: each shard computes its two samples with the whole parameter. Layer b is split by its rows, which needs
// all samples. Layer c has no annotation, and the compiler chooses.

// REMARK: remark: layers are split over 2 shards as by --shard='b=0,c=1'
// CHECK: func.func @step(%[[X:[^:]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[A:[^:]*]]: tensor<8x8xf32>
// CHECK-SAME: %[[B0:[^:]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[B1:[^:]*]]: tensor<4x8xf32>
// CHECK-DAG: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 8] [1, 1]
// CHECK-DAG: %[[X1:.*]] = tensor.extract_slice %[[X]][2, 0] [2, 8] [1, 1]
// CHECK: linalg.matmul ins(%[[X0]], %[[A]] : tensor<2x8xf32>, tensor<8x8xf32>)
// CHECK: linalg.matmul ins(%[[X1]], %[[A]] : tensor<2x8xf32>, tensor<8x8xf32>)
// CHECK: linalg.matmul ins(%{{.*}}, %[[B0]] : tensor<4x4xf32>, tensor<4x8xf32>)
// CHECK: linalg.matmul ins(%{{.*}}, %[[B1]] : tensor<4x4xf32>, tensor<4x8xf32>)

// GRAPH: pipeline.annotation = "stagewright:split:2:1000000:%27c%3Dsplit%282%29%27", pipeline.name = "c"
// GRAPH-NOT: pipeline.shard_annotations

// Hints come before annotations.
// HINT: func.func @step(%{{[^:]*}}: tensor<4x8xf32>
// HINT-SAME: %{{[^:]*}}: tensor<8x4xf32> {pipeline.name = "a"
// HINT-SAME: %{{[^:]*}}: tensor<8x4xf32> {pipeline.name = "a"
// HINT-SAME: tensor<8x8xf32> {pipeline.name = "b"

// COUNT: error: replicate(2) at model.py:3 is for 2 devices, but layers are split over 4; give all annotations the same number, and omit --tensor-parallel or set it to that number
// GRID: error: replicate(2) at model.py:3 places layers on one axis of devices, but the shards form a grid of 2x2; remove it, or give one number of shards
// WHOLE: error: 'pipeline.graph' op has layers that are to be split, by split(2) at model.py:5, but they are whole; compile the step with pp-compile, or give stagewright-pipeline shards=2
// SAMPLES: error: replicate(2) at model.py:3 shares the samples of a microbatch equally among 2 devices, but 'x' has 3; give microbatches of a multiple of 2 samples
#a = loc("jit(step)/stagewright:replicate:2:0:model.py%3A3/a/dot_general")
#b = loc("jit(step)/stagewright:split:2:1:model.py%3A5/b/dot_general")
#c = loc("jit(step)/c/dot_general")
func.func @step(%x: tensor<4x8xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64, pipeline.name = "x"},
                %a: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "a"},
                %b: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "b"},
                %c: tensor<8x8xf32> {pipeline.role = "parameter", pipeline.name = "c"})
    -> (tensor<4x8xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.batch_dim = 0 : i64}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc(#a)
  %1 = linalg.matmul ins(%0, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc(#b)
  %2 = linalg.matmul ins(%1, %c : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32> loc(#c)
  return %2 : tensor<4x8xf32>
}
