// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-estimate-cost=profile=%inputs/profile.json
// RUN: not pp-opt %s -split-input-file -pipeline-estimate-cost=profile=no-such.json 2>&1 | FileCheck %s
// CHECK: error: cannot read 'no-such.json': No such file or directory

// expected-error-re @+1 {{profile '{{.*}}profile.json' has times for nodes that @step does not have: 'a.B', 'b.I', 'b.W'; measure this model with pp-run --profile}}
pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %0 results [0] : tensor<8xf32>
}

// -----

pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
  // expected-error @+1 {{'a.F' has neither a body nor a cost; give it one of them}}
  %0 = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %0 results [0] : tensor<8xf32>
}
