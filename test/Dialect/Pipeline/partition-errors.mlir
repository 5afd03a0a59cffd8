// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 stages=3" 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 stages=2" 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 stages=0" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 stages=-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 microbatches=0" 2>&1 | FileCheck %s --check-prefix=MICROBATCHES
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 memory=4KiB" 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 memory=much" 2>&1 | FileCheck %s --check-prefix=AMOUNT
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 memory=0" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pp-opt %s -pipeline-partition="cluster=moon" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not pp-opt %s -pipeline-partition="cluster=%inputs/cluster-missing-field.json" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not pp-opt %s -pipeline-partition="planner=best" 2>&1 | FileCheck %s --check-prefix=PLANNER
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 chunks=-1" 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 chunks=2 max-replicas=1" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 chunks=2 stages=3" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 chunks=2 planner=dapple" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 placement=ring" 2>&1 | FileCheck %s --check-prefix=PLACEMENT
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 placement=twin" 2>&1 | FileCheck %s --check-prefix=TWIN
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 placement=twin chunks=2" 2>&1 | FileCheck %s --check-prefix=TWINS
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 chunks=2 schedule=1f1b" 2>&1 | FileCheck %s --check-prefix=FIT
// RUN: not pp-opt %s -pipeline-partition="cluster=local:1 schedule=zb-v chunks=1" 2>&1 | FileCheck %s --check-prefix=V

// CHUNKS: error: chunks must be at least 1, or 0 for what is best, got -1
// MANY: error: no schedule of those asked for runs 2 layers on 2 devices with 2 chunks each; ask for fewer stages or chunks, or a larger cluster
// MULTIPLE: error: 3 stages cannot be 2 chunks on each device; ask for a multiple of 2
// ONE: error: planner 'dapple' plans one stage per device; leave it out with chunks= and placement=
// PLACEMENT: error: unknown placement 'ring'; there are linear, loop, v, twin
// TWIN: error: placement twin pairs every device with its mirror image, so their number must be even, got 1
// TWINS: error: placement twin puts every stage on two devices and takes no chunks, got 2
// FIT: error: 1f1b wants one stage per device: partition with chunks=1
// V: error: zb-v wants 2 chunks per device placed v: partition with chunks=2 placement=v
// LAYERS: error: 3 stages need at least 3 layers, the graph has 2; ask for fewer stages
// DEVICES: error: 2 stages need 2 devices, cluster 'local' has 1; ask for fewer stages or a larger cluster
// NEGATIVE: error: number of stages must be at least 1, got -2
// STAGES: error: number of stages must be at least 1, got 0
// MICROBATCHES: error: number of microbatches must be from 1 to 65536, got 0
// MEMORY: error: no plan fits in memory; the best one fails: stage 0 needs 12.0 KiB on device d0, has 4.0 KiB; use more devices, fewer or smaller microbatches, or a device with 8.0 KiB more
// AMOUNT: error: 'much' is not an amount of memory; write bytes or a number with B, KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 2.5GiB
// NONE: error: device 'd0' needs positive flops, bandwidth and memory
// CLUSTER: error: unknown cluster 'moon'; there are local:N, dapple-a[:HOSTS], {{.*}} and the path of a .json file
// FIELD: error: {{.*}}cluster-missing-field.json: device 'd1' has no field 'memory'
// PLANNER: error: unknown planner 'best'; there are auto, spp, 
// SCHEDULE: error: unknown schedule 'zigzag'; there are gpipe, 1f1b
module attributes {pipeline.microbatches = 8 : i64} {
  // The first stage holds two parameters and one gradient of 4 KiB each.
  pipeline.graph @step(%v: tensor<1024xf32> {pipeline.role = "parameter"}, %w: tensor<1024xf32> {pipeline.role = "parameter"})
      -> (tensor<f32> {pipeline.role = "loss"}, tensor<1024xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
      attributes {layers = ["a", "b"]} {
    %a = pipeline.node "a.F" phase F layer 0 (%v, %w) cost <flops = 7, read = 0, written = 0> : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<f32>
    %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 7, read = 0, written = 0> : (tensor<f32>) -> tensor<f32>
    %c = pipeline.node "b.I" phase I layer 1 (%b) cost <flops = 7, read = 0, written = 0> : (tensor<f32>) -> tensor<f32>
    %d = pipeline.node "a.W" phase W layer 0 (%c) cost <flops = 7, read = 0, written = 0> : (tensor<f32>) -> tensor<1024xf32>
    pipeline.yield %b, %d results [0, 1] : tensor<f32>, tensor<1024xf32>
  }
}
