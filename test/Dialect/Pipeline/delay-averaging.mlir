// Replicas that average their parameters: the program states how, with the delay that hides the sum.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=1 xi=0.5 merge=convex" | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=1 delay=0" | FileCheck %s --check-prefix=EXACT
// A step takes 1 ms (two microbatches in turn, 0.5 ms each). An all-reduce of 4000 bytes over 2 devices sends 4000 bytes each
// way, at 2 MB/s 2 ms, so two steps; at 1.9 MB/s a little more, so three.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -pipeline-delay-averaging=every=4 | FileCheck %s --check-prefix=AUTO
// RUN: sed 's/2.0e+06/1.9e+06/' %s | pp-opt -pipeline-schedule=kind=1f1b -pipeline-delay-averaging=every=4 | FileCheck %s --check-prefix=SLOWER

// CHECK: pipeline.program @plan of @step on @pair microbatches 4 averaging <every = 4, delay = 1, xi = 5.000000e-01 : f64, merge = "convex"
// EXACT: pipeline.program @plan of @step on @pair microbatches 4 {
// AUTO: averaging <every = 4, delay = 2, xi = 2.500000e-01 : f64, merge = "corrected", all_reduce = {{.*}} : f64, step = {{.*}} : f64>
// SLOWER: delay = 3

func.func private @f(%w: tensor<1000xf32>, %x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<f32>) {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %x, %0 : tensor<1000xf32>, tensor<f32>
}
func.func private @b(%k: tensor<1000xf32>) -> tensor<1000xf32> {
  return %k : tensor<1000xf32>
}
pipeline.graph @step(%w: tensor<1000xf32> {pipeline.role = "parameter"}, %x: tensor<1000xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<1000xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a"]} {
  %k, %l = pipeline.node "a.F" @f phase F layer 0 (%w, %x) cost <seconds = {"cpu-core" = 2.0e-04 : f64}>
      : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>, tensor<f32>)
  %g = pipeline.node "a.B" @b phase B layer 0 (%k) cost <seconds = {"cpu-core" = 3.0e-04 : f64}> : (tensor<1000xf32>) -> tensor<1000xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<1000xf32>
}
pipeline.cluster @pair {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 1 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.link @d0 to @d1 bandwidth 2.0e+06 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 4 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
}
func.func @update(%w: tensor<1000xf32> {pipeline.role = "parameter", pipeline.of = 0},
                  %dw: tensor<1000xf32> {pipeline.role = "gradient", pipeline.of = 0})
    -> (tensor<1000xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  %new = arith.subf %w, %dw : tensor<1000xf32>
  return %new : tensor<1000xf32>
}
