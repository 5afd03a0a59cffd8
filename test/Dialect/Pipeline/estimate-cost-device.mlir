// RUN: pp-opt %s -pipeline-estimate-cost="cluster=h200:2 profile=%inputs/profile-cuda.json" | FileCheck %s
// RUN: sed s/cuda/V100/ %inputs/profile-cuda.json > %t.json
// RUN: pp-opt %s -pipeline-estimate-cost="cluster=h200:2 profile=%t.json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: pp-opt %s -pipeline-estimate-cost=profile=%inputs/profile-cuda.json | FileCheck %s --check-prefix=ALONE

// pp-run does not know what a cluster calls the GPU that it ran on. If all devices are of one class, a profile of class `cuda`
// is used for it; a profile of another class is not.
// CHECK-LABEL: pipeline.graph
// OTHER: warning: the profile is of devices of class 'V100', but those of the cluster are 'H200'; their estimates stay
pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a", "b"]} {
  // CHECK: "a.F" {{.*}} seconds = {H200 = 5.000000e-01 : f64}>
  // ALONE: "a.F" {{.*}} seconds = {cuda = 5.000000e-01 : f64}>
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "b.F" {{.*}} seconds = {H200 = 2.500000e-01 : f64}>
  %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 9> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %1 results [0] : tensor<8xf32>
}
