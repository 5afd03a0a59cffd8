// RUN: pp-opt %s --lower-rank-to-host -split-input-file -verify-diagnostics

// expected-error @below {{no 'rank.step'; run lower-pipeline-to-rank first}}
module {}

// -----

rank.step @step(tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "batch"}) -> (tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "output", pipeline.combine = "concat"})
func.func private @body(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  %x = rank.buffer "x" batch 0 depth all : memref<8xf32>
  %y = rank.buffer "y" output 0 depth all : memref<8xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action F stage 0 microbatch %c0 {
      %0 = rank.slot %x[%c0] : memref<8xf32>
      %1 = rank.slot %y[%c0] : memref<8xf32>
      // expected-error @below {{calls 'body', which is not a function on buffers; run the host passes over its body first}}
      rank.call @body ins(%0 : memref<8xf32>) outs(%1 : memref<8xf32>) node "body"
    }
  }
}

// -----

// expected-error @below {{'rank.step' op has no 'rank.program'}}
rank.step @step(tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "batch"}) -> ()

// -----

rank.step @step(tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "batch"}) -> ()
// expected-error @below {{'rank.program' op is of rank 1, but rank 0 has no program}}
rank.program @step.1 rank 1 device "d1" of @step microbatches 8 schedule "gpipe" {
  rank.entry (%M) {
  }
}

// -----

// expected-error @below {{"x" has element type 'i4', which no file of tensors can hold}}
rank.step @step(tensor<8xi4> {pipeline.position = 0 : i64, pipeline.role = "batch", pipeline.name = "x"}) -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  rank.entry (%M) {
  }
}

// -----

// expected-error @below {{'rank.step' op takes and returns tensors, got 'f32'}}
rank.step @step(f32 {pipeline.position = 0 : i64, pipeline.role = "batch"}) -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  rank.entry (%M) {
  }
}

// -----

// expected-error @below {{has slice 1 of type 'tensor<3x2xf32>' over a grid, where axes [2, 0, 1, 1, 2, 1, 1, 1] of 'tensor<7x4xf32>' give 'tensor<4x2xf32>'}}
rank.step @step(tensor<4x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>},
                tensor<3x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 1 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>},
                tensor<3x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 2 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>},
                tensor<3x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 3 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>}) -> (tensor<f32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
  }
}

// -----

// expected-error @below {{has 2 slices, 0 for each row of a stack, over a grid of 4, the first of type 'tensor<4x2xf32>'}}
rank.step @step(tensor<4x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>},
                tensor<4x2xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 1 : i64, pipeline.slice_ways = array<i64: 2, 2>, pipeline.slice_dim = array<i64: 0, 1>, pipeline.slice_outer = array<i64: 1, 1>, pipeline.slice_unit = array<i64: 1, 1>}) -> (tensor<f32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
  }
}

// -----

// expected-error @below {{slices dimension 9 of 'tensor<8xf32>'}}
rank.step @step(tensor<8xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64, pipeline.slice_dim = 9 : i64}) -> (tensor<f32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
  }
}
