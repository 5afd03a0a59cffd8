// RUN: not pp-opt %s --pipeline-print-layouts=ways=1 2>&1 | FileCheck %s --check-prefix=WAYS
// RUN: not pp-opt %s --pipeline-form-graph --pipeline-print-layouts 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: not pp-opt %s --pipeline-print-layouts=ways=4096 2>&1 | FileCheck %s --check-prefix=MANY

// WAYS: error: layouts are for 2 to 1024 parts, got 1
// MANY: error: layouts are for 2 to 1024 parts, got 4096
// GRAPH: error: pipeline-print-layouts analyses a step, but the module has a graph

func.func @step(%w: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %x: tensor<4x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.add ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
