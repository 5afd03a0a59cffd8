// If a stage does not fit, its stash is offloaded to the host, provided that the devices state their bandwidth to the host.
// RUN: pp-opt %s -pipeline-partition="microbatches=8 stages=2 max-replicas=1 schedule=gpipe memory=26KiB" | FileCheck %s
// RUN: pp-opt %s -pipeline-partition="microbatches=8 stages=2 max-replicas=1 schedule=gpipe" | FileCheck %s --check-prefix=ROOMY
// RUN: pp-opt %s -pipeline-partition="microbatches=8 stages=2 max-replicas=1 schedule=gpipe offload=all" | FileCheck %s --check-prefix=ALL
// RUN: not pp-opt %s -pipeline-partition="microbatches=8 stages=2 max-replicas=1 schedule=gpipe memory=26KiB recompute=false offload=none" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pp-opt %s -pipeline-partition="microbatches=8 stages=2 offload=sometimes" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/host_bandwidth 1.0e+12//' %s | not pp-opt -pipeline-partition="microbatches=8 stages=2 offload=all" 2>&1 | FileCheck %s --check-prefix=WAY
// RUN: not pp-opt %s -pipeline-partition="microbatches=8 schedule=zb-h1 offload=all" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: pp-plan %s --microbatches=8 --stages=2 --max-replicas=1 --orders=gpipe --memory=26KiB | FileCheck %s --check-prefix=TABLE
// RUN: pp-plan %s --microbatches=8 --stages=2 --max-replicas=1 --orders=gpipe --memory=26KiB --json | FileCheck %s --check-prefix=JSON

// CHECK: pipeline.device @d0 class "gpu" memory 26624 node 0 flops 1.000000e+09 bandwidth 1.000000e+09 host_bandwidth 1.000000e+12
// CHECK: pipeline.stage 0 on [@d0] layers [0] {{.*}}offload = array<i64: 0>
// CHECK: pipeline.stage 1
// CHECK-NOT: offload
// ROOMY-NOT: offload
// ALL: pipeline.stage 0 on [@d0] layers [0] {{.*}}offload = array<i64: 0>
// NONE: stage 0 needs 32.0 KiB on device d0, has 26.0 KiB
// NAME: error: offload must be auto, none or all, got 'sometimes'
// WAY: error: offload=all needs devices with a 'host_bandwidth', and device 'd0' of cluster 'lab' has none; add it, or leave out offload=
// OTHER: error: offload=all is planned for one stage on each device in the schedules 1f1b, gpipe, window and early-backward

// Four of the eight slots are on the device, all eight on the host.
// TABLE: {{^}}0 {{.*}} 16.0 KiB {{.*}} offloads 1 of 1 layers, 32.0 KiB on the host, 4.1 ns each way
// JSON: "offload": [
// JSON-NEXT: "a"
// JSON: "memory_bytes": 16416
// JSON-NEXT: "host_bytes": 32768
// JSON-NEXT: "copying_s": 4.096e-09

pipeline.graph @step(%x: tensor<f32> {pipeline.role = "constant"}) -> (tensor<f32> {pipeline.role = "loss"})
    attributes {layers = ["a", "b"]} {
  %h, %k = pipeline.node "a.F" phase F layer 0 () cost <seconds = {"gpu" = 1.0e-03 : f64}> : () -> (tensor<16xi8>, tensor<4096xi8>)
  %l = pipeline.node "b.F" phase F layer 1 (%h) cost <seconds = {"gpu" = 1.0e-03 : f64}> : (tensor<16xi8>) -> tensor<f32>
  %d = pipeline.node "b.B" phase B layer 1 (%h) cost <seconds = {"gpu" = 2.0e-03 : f64}> : (tensor<16xi8>) -> tensor<16xi8>
  %g = pipeline.node "a.B" phase B layer 0 (%d, %k) cost <seconds = {"gpu" = 2.0e-03 : f64}> : (tensor<16xi8>, tensor<4096xi8>) -> tensor<16xi8>
  pipeline.yield %l results [0] : tensor<f32>
}
pipeline.cluster @lab {
  pipeline.device @d0 class "gpu" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09 host_bandwidth 1.0e+12
  pipeline.device @d1 class "gpu" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09 host_bandwidth 1.0e+12
  pipeline.link @d0 to @d1 bandwidth 1.0e+09 latency 1.0e-06
}
