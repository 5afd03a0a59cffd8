// RUN: pp-opt %s --verify-diagnostics --pipeline-offer-recompute

// The cost of recomputation depends on the devices, so a cluster is required.
// expected-error @below {{the cost of recomputation depends on the devices; give them with cluster=}}
module {
  pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
    %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
    pipeline.yield %h results [0] : tensor<4xf32>
  }
}
