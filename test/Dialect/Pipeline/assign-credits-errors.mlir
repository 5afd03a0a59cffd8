// RUN: not pp-opt %s -pipeline-assign-credits=credits=2,0 2>&1 | FileCheck %s
// RUN: not pp-opt %s -pipeline-assign-credits=credits=2 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not pp-opt %s -pipeline-assign-credits=credits=2,-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not pp-opt %s -pipeline-assign-credits=spare=-1 2>&1 | FileCheck %s --check-prefix=SPARE
// RUN: pp-opt %s -pipeline-assign-credits | sed 's/credits \[[0-9, ]*\]/credits [0, 1]/' | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=EDITED
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -o %t.mlir
// RUN: sed 's/memory [0-9]*/memory 90/' %t.mlir | not pp-opt -pipeline-assign-credits 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: sed 's/memory [0-9]*/memory 100/' %t.mlir | not pp-opt -pipeline-assign-credits 2>&1 | FileCheck %s --check-prefix=RINGS

// CHECK: error: stage 1 has 0 credits, expected 1 or more
// COUNT: error: credits are given for 1 stages, but there are 2
// NEGATIVE: error: stage 1 has -1 credits, expected 1 or more
// SPARE: error: spare must be from 0 to {{[0-9]+}}, got -1
// EDITED: error: stage 0 has 0 credits, expected 1 or more
// Rank 0 holds a parameter and its gradient (16 B each), an input of 16 B for each of 4 microbatches, and two slots for the
// gradient that it receives.
// FIXED: error: rank 0 needs 96 B on device d0 even with no microbatch in flight, has 90 B
// RINGS: error: rank 0 has 4 B left for microbatches in flight, but one on each of its stages takes 32 B: give 28 B more with memory=, or more stages
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %bi = pipeline.node "b.I" phase I layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.W" phase W layer 0 (%bi) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %b, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
}
