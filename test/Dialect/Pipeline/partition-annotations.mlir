// RUN: pp-opt --pipeline-partition="cluster=local:4 microbatches=4" %s | FileCheck %s
// RUN: pp-opt --pipeline-partition="cluster=local:4 microbatches=4 schedule=zb-h1" %s | FileCheck %s
// RUN: not pp-opt --pipeline-partition="cluster=local:2 microbatches=4" %s 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not pp-opt --pipeline-partition="cluster=local:4 microbatches=4 stages=1" %s 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not pp-opt --pipeline-partition="cluster=local:4 microbatches=4 plan='[0,1)x1 [1,4)x3'" %s 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not pp-opt --pipeline-partition="cluster=local:4 microbatches=4 planner=balance" %s 2>&1 | FileCheck %s --check-prefix=PLANNER
// RUN: not pp-opt --pipeline-partition="cluster=local:4 microbatches=4 schedule=interleaved chunks=2" %s 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not pp-opt --pipeline-partition="cluster=local:4 microbatches=4 max-replicas=1" %s 2>&1 | FileCheck %s --check-prefix=REPLICAS
// RUN: sed 's/stagewright:replicate:2/stagewright:replicate:8/' %s | not pp-opt --pipeline-partition="cluster=local:9 microbatches=4" 2>&1 | FileCheck %s --check-prefix=SAMPLES

// Layers b and c are one stage on two devices; the planner is left to place a and d.

// CHECK: pipeline.stage 0 on [@d{{[0-3]}}] layers [0]
// CHECK: pipeline.stage 1 on [@d{{[0-3]}}, @d{{[0-3]}}] layers [1, 2]
// CHECK: pipeline.stage 2 on [@d{{[0-3]}}] layers [3]
// DEVICES: error: the stages of annotations, such as replicate(2) at model.py:3, and stages for all other layers need at least 4 devices, cluster 'local' has 2; annotate fewer replicas, or name a larger cluster
// STAGES: error: 1 stage cannot be made: annotations, such as replicate(2) at model.py:3, allow 3; leave out the number of stages
// PLAN: error: replicate(2) at model.py:3 asks for layers 'b' to 'c' as one stage on 2 devices, and the plan has the first of them on stage 1 with layers 'b' to 'd' on 3 devices; change the annotation or the plan
// PLANNER: error: planner 'balance' takes no annotated layers, such as those of replicate(2) at model.py:3; use spp, or remove the annotations
// CHUNKS: error: annotated layers, such as those of replicate(2) at model.py:3, are planned with one stage per device; leave out chunks= and placement=, or the schedule that needs them
// REPLICAS: error: replicate(2) at model.py:3 asks for 2 replicas of a stage, and the options or the schedule allow at most 1; ask for fewer, or allow more
// SAMPLES: error: replicate(8) at model.py:3 asks for 8 replicas of a stage, and a microbatch has 4 samples for them to share; ask for fewer, or give larger microbatches
#a = loc("jit(step)/jvp(a)/dot_general")
#b = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/b/dot_general")
#c = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/c/dot_general")
#d = loc("jit(step)/jvp(d)/dot_general")
func.func @step(%x: tensor<4x64xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64},
                %a: tensor<64x64xf32> {pipeline.role = "parameter", pipeline.name = "a"},
                %b: tensor<64x64xf32> {pipeline.role = "parameter", pipeline.name = "b"},
                %c: tensor<64x64xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %d: tensor<64x64xf32> {pipeline.role = "parameter", pipeline.name = "d"})
    -> (tensor<4x64xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.batch_dim = 0 : i64}) {
  %z = arith.constant dense<0.0> : tensor<4x64xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x64xf32>, tensor<64x64xf32>) outs(%z : tensor<4x64xf32>) -> tensor<4x64xf32> loc(#a)
  %1 = linalg.matmul ins(%0, %b : tensor<4x64xf32>, tensor<64x64xf32>) outs(%z : tensor<4x64xf32>) -> tensor<4x64xf32> loc(#b)
  %2 = linalg.matmul ins(%1, %c : tensor<4x64xf32>, tensor<64x64xf32>) outs(%z : tensor<4x64xf32>) -> tensor<4x64xf32> loc(#c)
  %3 = linalg.matmul ins(%2, %d : tensor<4x64xf32>, tensor<64x64xf32>) outs(%z : tensor<4x64xf32>) -> tensor<4x64xf32> loc(#d)
  return %3 : tensor<4x64xf32>
}
