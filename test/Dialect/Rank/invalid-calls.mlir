// One case per constraint of RankOps.td, by its label: what an entry calls, and its tables.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// call_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{@f is not a function}}
    rank.call @f ins(%0 : memref<8x4xf32>) node "n"
  }
}

// -----

// call_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{needs one slot per argument of @f, got 1 and 2}}
    rank.call @f ins(%0 : memref<8x4xf32>) outs(%1 : memref<4xf32>) node "n"
  }
}

// -----

// call_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{slot and argument 0 of @f differ, got 'memref<4xf32>' and 'tensor<8x4xf32>'}}
    rank.call @f ins(%1 : memref<4xf32>) outs(%1 : memref<4xf32>) accumulate(%0 : memref<8x4xf32>) node "n"
  }
}

// -----

// call_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{slot and result 0 of @f differ, got 'memref<8x4xf32>' and 'tensor<4xf32>'}}
    rank.call @f ins(%0 : memref<8x4xf32>) outs(%0 : memref<8x4xf32>) accumulate(%0 : memref<8x4xf32>) node "n"
  }
}

// -----

// call_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{needs one slot per result of @f, got 1 and 2}}
    rank.call @f ins(%0 : memref<8x4xf32>) accumulate(%0 : memref<8x4xf32>) node "n"
  }
}

// -----

// call_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{argument 1 of @f is an accumulator and the slot is not}}
    rank.call @f ins(%0, %0 : memref<8x4xf32>, memref<8x4xf32>) outs(%1, %0 : memref<4xf32>, memref<8x4xf32>) node "n"
  }
}

// -----

// call_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>) -> tensor<8x4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{argument 0 of @f is not an accumulator and the slot is}}
    rank.call @f accumulate(%0 : memref<8x4xf32>) node "n"
  }
}

// -----

// call_c4
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{workspace is a buffer of kind 'parameter'}}
    rank.call @f ins(%0 : memref<8x4xf32>) outs(%1 : memref<4xf32>) accumulate(%0 : memref<8x4xf32>) workspace %w[0, 0] node "n"
  }
}

// -----

// call_c4
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @f(tensor<8x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> (tensor<4xf32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.acquire %k[%M] : memref<4xf32>
    // expected-error @below {{workspace needs an offset that is a multiple of 64 and bytes of at least 0, got 32 and 0}}
    rank.call @f ins(%0 : memref<8x4xf32>) outs(%1 : memref<4xf32>) accumulate(%0 : memref<8x4xf32>) workspace %t[32, 0] node "n"
  }
}

// -----

// combine_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %n = rank.buffer "n" gradient : memref<4xi32>
  rank.entry (%M) {
    %0 = rank.slot %n : memref<4xi32>
    // expected-error @below {{by mean needs floats, got 'memref<4xi32>'}}
    rank.combine mean %0 over %M : memref<4xi32>
  }
}

// -----

// rank.accumulate
// expected-error @below {{'rank.accumulate' of argument 0 must be a unit attribute, got 1 : i64}}
func.func private @f(tensor<4xf32> {rank.accumulate = 1 : i64}) -> tensor<4xf32>

// -----

// table_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs a case and a microbatch in each of its rows, got 2 and 1}}
    %case, %m = rank.table[%c0] cases [0, 0] microbatches [0]
  }
}

// -----

// table_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{cases and microbatches are not negative, got -1}}
    %case, %m = rank.table[%c0] cases [0] microbatches [-1]
  }
}

// -----

// table_c2
func.func @f(%row: index) {
  // expected-error @below {{must lie in a 'rank.entry'}}
  %case, %m = rank.table[%row] cases [0] microbatches [0]
  return
}
