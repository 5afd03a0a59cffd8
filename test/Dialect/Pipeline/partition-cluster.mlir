// RUN: pp-opt --pipeline-partition="planner=balance cluster=dapple-a:1 stages=2 microbatches=4" %s | FileCheck %s
// RUN: pp-opt --pipeline-partition="planner=balance cluster=dapple-a:1 stages=2 microbatches=4" %s \
// RUN:   | pp-opt --pipeline-partition="planner=balance stages=2 microbatches=4" | FileCheck %s
// RUN: pp-opt --pipeline-partition="planner=balance cluster=a100 stages=2 microbatches=4" %s \
// RUN:   | pp-opt --pipeline-partition="planner=balance stages=2 microbatches=4" | FileCheck %s --check-prefix=PORT

// A preset becomes IR, from which the planner reads the same cluster.

// CHECK-LABEL: pipeline.cluster @"dapple-a"
// CHECK: pipeline.device @d0 class "V100" memory 16000000000 node 0 flops 1.570000e+13 bandwidth 9.000000e+11 rates {f16 = 1.250000e+14 : f64, f64 = 7.800000e+12 : f64}
// CHECK: pipeline.device @d7
// CHECK-NOT: pipeline.link
// CHECK: pipeline.fabric inside bandwidth 2.500000e+10 latency 0.000000e+00 between bandwidth 3.125000e+09 latency 0.000000e+00 nic 3.125000e+09
// CHECK-NOT: pipeline.cluster

// PORT: pipeline.fabric inside bandwidth 3.000000e+11 latency 3.400000e-06 between bandwidth 2.500000e+10 latency 1.400000e-05 port 3.000000e+11 nic 2.000000e+11
pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %1 results [0] : tensor<8xf32>
}
