// RUN: pp-opt %s -pipeline-estimate-cost="cluster=local:1 profile=%inputs/profile.json" -verify-diagnostics | FileCheck %s
// RUN: pp-opt %s -pipeline-estimate-cost=profile=%inputs/profile.json -verify-diagnostics | FileCheck %s --check-prefix=ALONE

// Measured seconds replace the estimates. A backward measured as a whole is divided by its arithmetic, 1 : 3; a merged one
// takes the sum of its measured parts.
// CHECK-LABEL: pipeline.graph
// ALONE-LABEL: pipeline.graph
// expected-remark @+1 {{has no time for 'b.F'; their estimates stay}}
pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {layers = ["a", "b"]} {
  // CHECK: "a.F" {{.*}} seconds = {"cpu-core" = 5.000000e-01 : f64}>
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "b.F" {{.*}} seconds = {"cpu-core" = 1.000000e+00 : f64}>
  // ALONE: "b.F" {{.*}} cost <flops = 78000000000> :
  %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 78000000000> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "b.B" {{.*}} seconds = {"cpu-core" = 3.000000e+00 : f64}>
  %2 = pipeline.node "b.B" phase B layer 1 (%1) cost <flops = 1> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "a.I" {{.*}} seconds = {"cpu-core" = 1.000000e+00 : f64}>
  %3 = pipeline.node "a.I" phase I layer 0 (%2) cost <flops = 100> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "a.W" {{.*}} seconds = {"cpu-core" = 3.000000e+00 : f64}>
  %4 = pipeline.node "a.W" phase W layer 0 (%3) cost <flops = 300> : (tensor<8xf32>) -> tensor<8xf32>
  // The measured run may not have had repeated work, so the profile lacks it.
  %5 = pipeline.node "b.again" phase B layer 1 (%0) cost <flops = 7> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %1, %4 results [0, 1] : tensor<8xf32>, tensor<8xf32>
}
