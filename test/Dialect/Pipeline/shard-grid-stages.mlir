// RUN: pp-opt %s --pipeline-shard="grid=2,2 hints=a=1;0,b=0;1,c=1;0,d=0;1 cuts" --pipeline-form-graph | FileCheck %s
// DEFINE: %{compile} = pp-compile %s --tensor-parallel=2x2 '--shard=a=1;0,b=0;1,c=1;0,d=0;1' --microbatches=1 --emit=schedule
// RUN: %{compile} --cluster=local:8 --stages=2 --quiet 2>&1 | FileCheck %s --check-prefix=PLAN

// Errors.
// RUN: not %{compile} --cluster=local:16 --stages=4 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: layers that are split over shards cannot be cut into 4 stages, but into 3 at most; give fewer with --stages
// RUN: not %{compile} --cluster=local:8 --stages=2 --data-parallel=2 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: error: 4 shards of 2 stages at a time in 2 copies need 16 devices, and there are 8; name a larger cluster, such as --cluster=local:16

// Two residual connections, each at the end of a segment of the step. Each shard copies its quarter of the sum at the start of the
// next segment, where itself and another shard join it.
// CHECK: "step.t5.s3", "step.t6.s0", "step.t6.s1", "step.t6.s2", "step.t6.s3", "step.t7.s0"
// CHECK: "step.t13.s3", "step.t14.s0"
// CHECK: %[[SUM:.*]] = pipeline.node "step.t6.s2.F" {{.*}} -> tensor<4x8xf32>
// CHECK: %[[COPY:.*]] = pipeline.node "step.t7.s2.F" {{.*}}(%[[SUM]]) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: pipeline.node "step.t9.s0.F" {{.*}}(%[[COPY]],

// So a quarter crosses between the stages from each shard, to the same shard.
// PLAN: pipeline.stage 15 on [@d3] layers [15]
// PLAN: pipeline.stage 16 on [@d4] layers [16]
// PLAN: pipeline.boundary "step.t5.s3.F" result 1 from 11 to 15 : tensor<4x8xf32>
// PLAN-NEXT: pipeline.boundary "step.t6.s0.F" result 0 from 12 to 16 : tensor<4x8xf32>
// PLAN-NEXT: pipeline.boundary "step.t6.s1.F" result 0 from 13 to 17 : tensor<4x8xf32>
// PLAN-NEXT: pipeline.boundary "step.t6.s2.F" result 0 from 14 to 18 : tensor<4x8xf32>
// PLAN-NEXT: pipeline.boundary "step.t6.s3.F" result 0 from 15 to 19 : tensor<4x8xf32>
// PLAN-NEXT: pipeline.boundary "step.t7.s0.F"

func.func @step(%x: tensor<8x16xf32> {pipeline.role = "batch", pipeline.name = "x"},
                %a: tensor<16x32xf32> {pipeline.role = "parameter", pipeline.name = "a"},
                %b: tensor<32x16xf32> {pipeline.role = "parameter", pipeline.name = "b"},
                %c: tensor<16x32xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %d: tensor<32x16xf32> {pipeline.role = "parameter", pipeline.name = "d"}) -> (tensor<8x16xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<8x32xf32>
  %wides = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x32xf32>) -> tensor<8x32xf32>
  %slim = tensor.empty() : tensor<8x16xf32>
  %slims = linalg.fill ins(%zero : f32) outs(%slim : tensor<8x16xf32>) -> tensor<8x16xf32>
  %xa = linalg.matmul ins(%x, %a : tensor<8x16xf32>, tensor<16x32xf32>) outs(%wides : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.tanh ins(%xa : tensor<8x32xf32>) outs(%wide : tensor<8x32xf32>) -> tensor<8x32xf32>
  %hb = linalg.matmul ins(%h, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%slims : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.add ins(%x, %hb : tensor<8x16xf32>, tensor<8x16xf32>) outs(%slim : tensor<8x16xf32>) -> tensor<8x16xf32>
  %yc = linalg.matmul ins(%y, %c : tensor<8x16xf32>, tensor<16x32xf32>) outs(%wides : tensor<8x32xf32>) -> tensor<8x32xf32>
  %g = linalg.tanh ins(%yc : tensor<8x32xf32>) outs(%wide : tensor<8x32xf32>) -> tensor<8x32xf32>
  %gd = linalg.matmul ins(%g, %d : tensor<8x32xf32>, tensor<32x16xf32>) outs(%slims : tensor<8x16xf32>) -> tensor<8x16xf32>
  %z = linalg.add ins(%y, %gd : tensor<8x16xf32>, tensor<8x16xf32>) outs(%slim : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}
