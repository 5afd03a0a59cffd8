// RUN: not pp-opt %s --pipeline-repeat-layers=layers=a-1 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: layers must be ranges such as 0-3, got 'a-1'
// RUN: not pp-opt %s --pipeline-repeat-layers=layers=0-2 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: ranges of layers must ascend within the 2 layers of @step, got '0-2'
// RUN: not pp-opt %s --pipeline-repeat-layers=layers=0-9223372036854775807 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: error: ranges of layers must ascend within the 2 layers of @step, got '0-9223372036854775807'
// RUN: not pp-opt %s --pipeline-repeat-layers=layers=1-1,0-0 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: ranges of layers must ascend within the 2 layers of @step, got '0-0'
// RUN: not pp-opt %s --pipeline-repeat-layers=layers=0-0 2>&1 | FileCheck %s --check-prefix=BODY
// BODY: error: node 'a.F' has no body; only layers with bodies can be repeated
// RUN: not pp-opt %s --pipeline-repeat-layers=layers=1-1 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: error: node 'b.F' has no body; only layers with bodies can be repeated
// RUN: sed 's/"a", "b"/"a", "a.again"/' %s | not pp-opt --pipeline-repeat-layers=layers=0-1 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: layer 'a.again' repeats a forward; leave it out of the ranges

pipeline.graph @step() -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 () cost <seconds = {"profiled" = 1.0 : f64}> : () -> tensor<4xf32>
  %b = pipeline.node "b.F" @b.F phase F layer 1 (%h) cost <seconds = {"profiled" = 1.0 : f64}> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %b results [0] : tensor<4xf32>
}
func.func private @b.F(tensor<4xf32>) -> tensor<4xf32>
