// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-partition=microbatches=2

// expected-error @+1 {{module has 2 clusters; give another with cluster=, or leave only one}}
module {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
  pipeline.cluster @one {
    pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  }
  pipeline.cluster @two {
    pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  }
}

// -----

module {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
  // expected-error @+1 {{devices 'd0' and 'd1' have the same class 'cpu-core', but different flops, bandwidth, speed, rates, contractions or bandwidth to the host; give them two classes}}
  pipeline.cluster @mine {
    pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
    pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 2.0 bandwidth 1.0
  }
}

// -----

module {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a", "b"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %1 results [0] : tensor<8xf32>
  }
  // expected-error @+1 {{no path of links joins devices 'd0' and 'd1'; give a link to one of them, or a fabric}}
  pipeline.cluster @mine {
    pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
    pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  }
}

// -----

// expected-error @+1 {{one graph can be partitioned, the module has 2}}
module attributes {pipeline.cluster = "local:1"} {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
  pipeline.graph @other(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
}
