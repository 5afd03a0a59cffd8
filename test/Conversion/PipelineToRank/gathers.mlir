// Two shards that join a value: one gather, or a message each way; in both cases bodies write into the slot that is sent.
// Shards that each read what the other makes for it: one exchange.
// RUN: sed 's#EXTENT#16#g' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s
// RUN: sed 's#EXTENT#16#g' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=MESSAGES
// Parts that are not whole lines of 64 bytes:
// RUN: sed 's#EXTENT#15#g' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=MESSAGES
// Elements that are not whole bytes, and parts without elements:
// RUN: sed 's#EXTENTxf32#128xi4#g' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=MESSAGES
// RUN: sed 's#EXTENT#0#g' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=MESSAGES
// A part that a later node of its action reads:
// RUN: sed 's#EXTENT#16#g; s#//again:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=MESSAGES

// CHECK-NOT: rank.channel
// CHECK: rank.gather @[[JOIN:.*]] among [0, 1] depth [[DEPTH:[0-9]+]] : memref<16xf32>
// CHECK-NOT: rank.channel
// CHECK-LABEL: rank.program @join.1 rank 1
// CHECK: %[[S:.*]] = rank.buffer "x1.F.0.stage3" stash depth [[DEPTH]] : memref<2x16xf32>
// CHECK: rank.action F stage 1 microbatch %[[M:.*]] {
// CHECK: %[[SLOT:.*]] = rank.acquire %[[S]][%[[M]]] : memref<2x16xf32>
// CHECK: %[[OWN:.*]] = rank.part %[[SLOT]][1] : memref<16xf32> of memref<2x16xf32>
// CHECK: rank.call @f{{.*}} outs(%[[OWN]] : memref<16xf32>) {{.*}} node "x1.F"
// CHECK-NEXT: rank.all_gather @[[JOIN]](%[[S]]) [%[[M]]]
// CHECK: rank.action F stage 3 microbatch %[[M:.*]] {
// CHECK-NEXT: rank.await_gathered @[[JOIN]][%[[M]]]
// CHECK-NEXT: %[[SLOT:.*]] = rank.slot %[[S]][%[[M]]] : memref<2x16xf32>
// CHECK-NEXT: %[[A:.*]] = rank.part %[[SLOT]][0]
// CHECK-NEXT: %[[B:.*]] = rank.part %[[SLOT]][1]
// CHECK: rank.call @g{{.*}} ins(%[[A]], %[[B]] : memref<16xf32>, memref<16xf32>)
// CHECK-NEXT: rank.release %[[S]][%[[M]]]

// RUN: sed 's#EXTENT#16#g; s#layer 2 (%a, %b)#layer 2 (%b, %b)#; s#layer 3 (%a, %b)#layer 3 (%a, %a)#' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=EXCHANGE
// EXCHANGE-NOT: rank.channel
// EXCHANGE: rank.gather @[[X:.*]] exchange among [0, 1] depth {{[0-9]+}} : memref<16xf32>
// EXCHANGE-LABEL: rank.program @join.1
// EXCHANGE: rank.action F stage 1
// EXCHANGE: rank.part %{{.*}}[0] : memref<16xf32> of memref<4x16xf32>
// EXCHANGE: rank.all_gather @[[X]]
// EXCHANGE: rank.action F stage 3
// EXCHANGE-NEXT: rank.await_gathered @[[X]]
// EXCHANGE: rank.part %{{.*}}[2] : memref<16xf32> of memref<4x16xf32>

// MESSAGES-NOT: rank.gather
// MESSAGES-DAG: rank.channel @x0.F.0.to1
// MESSAGES-DAG: rank.channel @x1.F.0.to0
// MESSAGES-LABEL: rank.program @join.1
// MESSAGES-NOT: rank.gather

func.func private @f(%x: tensor<EXTENTxf32>) -> tensor<EXTENTxf32> {
  return %x : tensor<EXTENTxf32>
}
func.func private @g(%a: tensor<EXTENTxf32>, %b: tensor<EXTENTxf32>) -> tensor<EXTENTxf32> {
  return %a : tensor<EXTENTxf32>
}
pipeline.graph @join(%x: tensor<EXTENTxf32> {pipeline.role = "batch"})
    -> (tensor<EXTENTxf32> {pipeline.role = "output", pipeline.combine = "concat"}, tensor<EXTENTxf32> {pipeline.role = "output", pipeline.combine = "concat"})
    attributes {layers = ["x0", "x1", "y0", "y1"]} {
  %a = pipeline.node "x0.F" @f phase F layer 0 (%x) : (tensor<EXTENTxf32>) -> tensor<EXTENTxf32>
  %b = pipeline.node "x1.F" @f phase F layer 1 (%x) : (tensor<EXTENTxf32>) -> tensor<EXTENTxf32>
//again:  %c = pipeline.node "w1.F" @f phase F layer 1 (%b) : (tensor<EXTENTxf32>) -> tensor<EXTENTxf32>
  %y = pipeline.node "y0.F" @g phase F layer 2 (%a, %b) : (tensor<EXTENTxf32>, tensor<EXTENTxf32>) -> tensor<EXTENTxf32>
  %z = pipeline.node "y1.F" @g phase F layer 3 (%a, %b) : (tensor<EXTENTxf32>, tensor<EXTENTxf32>) -> tensor<EXTENTxf32>
  pipeline.yield %y, %z results [0, 1] : tensor<EXTENTxf32>, tensor<EXTENTxf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @join on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d0] layers [2]
  pipeline.stage 3 on [@d1] layers [3]
}
