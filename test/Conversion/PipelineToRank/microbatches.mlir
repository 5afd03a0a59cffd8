// The programs are the same text for 64 and for 512 microbatches, except for numbers: with 1 to 4 stages, GPipe and 1F1B, with
// 4 stages early backward and the window order. And they run with every number of microbatches, whatever number they were made
// for.
// RUN: sed -e 's#//1:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//1:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//1:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//1:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//2:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//2:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//2:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//2:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//3:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//3:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//3:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//3:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=1f1b -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs=microbatches=2 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=early-backward -lower-pipeline-to-rank -verify-rank-programs=microbatches=5 -o /dev/null
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 64#' %s | pp-opt -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs -o %t.64
// RUN: sed -e 's#//4:##' -e 's#microbatches 8#microbatches 512#' %s | pp-opt -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs -o %t.512
// RUN: sed -E 's/[0-9]+//g' %t.64 > %t.64.text
// RUN: sed -E 's/[0-9]+//g' %t.512 > %t.512.text
// RUN: diff %t.64.text %t.512.text
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=2 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -pipeline-schedule=kind=window -lower-pipeline-to-rank -verify-rank-programs=microbatches=5 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -lower-pipeline-to-rank -verify-rank-programs=microbatches=2 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -lower-pipeline-to-rank -verify-rank-programs=microbatches=3 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -lower-pipeline-to-rank -verify-rank-programs=microbatches=5 -o /dev/null
// RUN: sed 's#//4:##' %s | pp-opt -lower-pipeline-to-rank -verify-rank-programs=microbatches=64 -o /dev/null

func.func private @layer.F(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %w : tensor<4xf32>, tensor<4xf32>
}
func.func private @loss.F(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = tensor.empty() : tensor<f32>
  return %0, %x : tensor<f32>, tensor<4xf32>
}
func.func private @layer.B(%w: tensor<4xf32>, %k: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %d, %k : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w0: tensor<4xf32> {pipeline.role = "parameter"}, %w1: tensor<4xf32> {pipeline.role = "parameter"}, %w2: tensor<4xf32> {pipeline.role = "parameter"}, %w3: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 2, pipeline.combine = "mean"}, tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 3, pipeline.combine = "mean"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %h0, %k0 = pipeline.node "l0.F" @layer.F phase F layer 0 (%w0, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %h1, %k1 = pipeline.node "l1.F" @layer.F phase F layer 1 (%w1, %h0) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %h2, %k2 = pipeline.node "l2.F" @layer.F phase F layer 2 (%w2, %h1) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %h3, %k3 = pipeline.node "l3.F" @layer.F phase F layer 3 (%w3, %h2) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %l, %d4 = pipeline.node "loss.F" @loss.F phase F layer 3 (%h3) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d3, %g3 = pipeline.node "l3.B" @layer.B phase B layer 3 (%w3, %k3, %d4) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d2, %g2 = pipeline.node "l2.B" @layer.B phase B layer 2 (%w2, %k2, %d3) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d1, %g1 = pipeline.node "l1.B" @layer.B phase B layer 1 (%w1, %k1, %d2) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d0, %g0 = pipeline.node "l0.B" @layer.B phase B layer 0 (%w0, %k0, %d1) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  pipeline.yield %l, %g0, %g1, %g2, %g3 results [0, 1, 2, 3, 4] : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 8 {
  //1:pipeline.stage 0 on [@d0] layers [0, 1, 2, 3]
  //2:pipeline.stage 0 on [@d0] layers [0, 1]
  //2:pipeline.stage 1 on [@d1] layers [2, 3]
  //3:pipeline.stage 0 on [@d0] layers [0]
  //3:pipeline.stage 1 on [@d1] layers [1, 2]
  //3:pipeline.stage 2 on [@d2] layers [3]
  //4:pipeline.stage 0 on [@d0] layers [0]
  //4:pipeline.stage 1 on [@d1] layers [1]
  //4:pipeline.stage 2 on [@d2] layers [2]
  //4:pipeline.stage 3 on [@d3] layers [3]
}
