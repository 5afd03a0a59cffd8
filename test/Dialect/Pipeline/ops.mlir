// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s --mlir-print-op-generic | pp-opt | FileCheck %s
// RUN: pp-opt %s --emit-bytecode | pp-opt | FileCheck %s
// RUN: pp-opt %s | FileCheck %s --check-prefix=SPACES --strict-whitespace

// Every op of the dialect, printed and read again.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: {pipeline.role = "parameter"}
// CHECK-SAME: attributes {layers = ["a", "b"]}
pipeline.graph @step(%w: tensor<4x4xf32> {pipeline.role = "parameter"}, %x: tensor<2x4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64}) attributes {layers = ["a", "b"]} {
  // SPACES: pipeline.node "a.F" @body phase F layer 0(
  // CHECK: %[[H:.*]]:2 = pipeline.node "a.F" @body phase F layer 0(%{{.*}}, %{{.*}}) : (tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %h:2 = pipeline.node "a.F" @body phase F layer 0 (%w, %x) : (tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: %[[L:.*]] = pipeline.node "b.F" phase F layer 1(%[[H]]#0) cost <flops = 8, read = 32, written = 4, seconds = {"cpu-core" = 5.000000e-01 : f64}> :
  %l = pipeline.node "b.F" phase F layer 1 (%h#0) cost <flops = 8, read = 32, written = 4, seconds = {"cpu-core" = 0.5 : f64}> : (tensor<2x4xf32>) -> tensor<f32>
  // CHECK: phase I layer 1
  %g = pipeline.node "b.I" phase I layer 1 (%h#0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: phase W layer 1
  %d1 = pipeline.node "b.W" phase W layer 1 (%h#0) : (tensor<2x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[D0:.*]] = pipeline.node "a.B" phase B layer 0(
  %d0 = pipeline.node "a.B" phase B layer 0 (%g, %h#1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  // The gradient comes in two parts.
  // CHECK: pipeline.yield %[[L]], %[[D0]], %{{.*}} results [0, 1, 1] : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  pipeline.yield %l, %d0, %d1 results [0, 1, 1] : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
}
func.func private @body(%w: tensor<4x4xf32>, %x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  return %x, %x : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: pipeline.cluster @local
pipeline.cluster @local {
  // CHECK: pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 6.400000e+10 bandwidth 1.000000e+10
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 6.4e10 bandwidth 1.0e10
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 6.4e10 bandwidth 1.0e10
  // CHECK: pipeline.link @d0 to @d1 bandwidth 8.000000e+09 latency 2.000000e-06
  pipeline.link @d0 to @d1 bandwidth 8.0e9 latency 2.0e-6
}

// CHECK-LABEL: pipeline.cluster @two_hosts
pipeline.cluster @two_hosts {
  // CHECK: pipeline.device @g0 class "H100" memory 1024 node 0 flops 6.700000e+13 bandwidth 3.350000e+12 rates {bf16 = 9.895000e+14 : f64, f8 = 1.979000e+15 : f64}
  pipeline.device @g0 class "H100" memory 1024 node 0 flops 6.7e13 bandwidth 3.35e12 rates {bf16 = 9.895e14, f8 = 1.979e15}
  // CHECK: pipeline.device @g1 class "V100" memory 1024 node 1 flops 1.570000e+13 bandwidth 9.000000e+11 speed 3.000000e-01{{$}}
  pipeline.device @g1 class "V100" memory 1024 node 1 flops 1.57e13 bandwidth 9.0e11 speed 0.3
  // CHECK: pipeline.fabric inside bandwidth 4.500000e+11 latency 3.400000e-06 between bandwidth 5.000000e+10 latency 1.400000e-05 nic 4.000000e+11
  pipeline.fabric inside bandwidth 4.5e11 latency 3.4e-6 between bandwidth 5.0e10 latency 1.4e-5 nic 4.0e11
}

// CHECK-LABEL: pipeline.cluster @one_nic
pipeline.cluster @one_nic {
  // CHECK: pipeline.fabric nic 4.000000e+11
  pipeline.fabric nic 4.0e11
}

// CHECK-LABEL: pipeline.program @plan of @step on @local microbatches 8 plan <time = 4.000000e+00 : f64, bound = 3.000000e+00 : f64, planner = "balance">
pipeline.program @plan of @step on @local microbatches 8 plan <time = 4.0 : f64, bound = 3.0 : f64, planner = "balance"> {
  // CHECK: pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  // CHECK: pipeline.boundary "a.F" result 0 from 0 to 1 : tensor<2x4xf32>
  pipeline.boundary "a.F" result 0 from 0 to 1 : tensor<2x4xf32>
}

// CHECK-LABEL: pipeline.schedule @one_f_one_b of @plan kind "1f1b"
pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
  // CHECK: pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
  pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
  // CHECK: pipeline.order 1 <1F0, 1F1, (1F2, 1B0), 1R1, 1I1, 1W1, 1U>
  pipeline.order 1 <1F0, 1F1, (1F2, 1B0), 1R1, 1I1, 1W1, 1U>
  // CHECK: pipeline.order 2 <>
  pipeline.order 2 <>
}
