// What pipeline-delay-averaging refuses.
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=5" 2>&1 | FileCheck %s --check-prefix=DELAY
// DELAY: error: delay must be at most every, so that one average ends before the next begins, but it is 5 and every is 4; give every=5 (pp-compile: --average-every=5) or more
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=soon" 2>&1 | FileCheck %s --check-prefix=SOON
// SOON: error: delay must be auto or a number of steps from 0, got 'soon'
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=0" 2>&1 | FileCheck %s --check-prefix=EVERY
// EVERY: error: every must be at least 1 step, got 0
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=xi=1.5" 2>&1 | FileCheck %s --check-prefix=XI
// XI: error: xi must be from 0 to 1, got 1.5
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=merge=late" 2>&1 | FileCheck %s --check-prefix=MERGE
// MERGE: error: merge must be convex or corrected, got 'late'
// RUN: not pp-opt %s -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=1" 2>&1 | FileCheck %s --check-prefix=UPDATE
// UPDATE: [[@LINE+27]]:1: error: 'pipeline.program' op cannot average parameters that do not change: there is no @update; import the model with the option 'update'
// RUN: sed 's#//update:##' %s | not pp-opt -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4" 2>&1 | FileCheck %s --check-prefix=AUTO
// AUTO: error: 'pipeline.program' op needs 4.0 ms to sum an average, which is 8 steps of 500.0 us, but the next average begins after 4; give every=8 (pp-compile: --average-every=8) or more, or a delay of at most 4, with which steps wait until the sum is complete
// RUN: sed -e 's#//update:##' -e 's/@d0, @d1/@d0/' %s | not pp-opt -pipeline-schedule=kind=1f1b "-pipeline-delay-averaging=every=4 delay=1" 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: 'pipeline.program' op has no stage with replicas, so there is nothing to average; plan some, for example with --plan="[0,3)x2"

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
  pipeline.link @d0 to @d1 bandwidth 1.0e+06 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 2 {
  pipeline.stage 0 on [@d0, @d1] layers [0]
}
//update:func.func @update(%w: tensor<1000xf32> {pipeline.role = "parameter", pipeline.of = 0},
//update:                  %dw: tensor<1000xf32> {pipeline.role = "gradient", pipeline.of = 0})
//update:    -> (tensor<1000xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
//update:  %new = arith.subf %w, %dw : tensor<1000xf32>
//update:  return %new : tensor<1000xf32>
//update:}
