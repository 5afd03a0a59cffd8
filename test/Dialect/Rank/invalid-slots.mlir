// One case per constraint of RankOps.td, by its label: what names the memory of an entry.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// slot_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
    // expected-error @below {{buffer has slots of type 'memref<8x4xf32>', got 'memref<8x5xf32>'}}
    %0 = rank.slot %w : memref<8x5xf32>
  }
}

// -----

// slot_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
    // expected-error @below {{of a buffer of kind 'parameter' has no microbatch}}
    %0 = rank.slot %w[%M] : memref<8x4xf32>
  }
}

// -----

// slot_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    // expected-error @below {{of a buffer of kind 'stash' needs a microbatch}}
    %0 = rank.slot %k : memref<4xf32>
  }
}

// -----

// slot_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    // expected-error @below {{cannot take a slot of a workspace, use 'rank.view'}}
    %0 = rank.slot %t : memref<128xi8>
  }
}

// -----

// acquire_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
    // expected-error @below {{works on a stash, got a buffer of kind 'parameter'}}
    %0 = rank.acquire %w[%M] : memref<8x4xf32>
  }
}

// -----

// acquire_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    // expected-error @below {{buffer has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.acquire %k[%M] : memref<5xf32>
  }
}

// -----

// release_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
    // expected-error @below {{works on a stash, got a buffer of kind 'parameter'}}
    rank.release %w[%M]
  }
}

// -----

// view_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
    // expected-error @below {{needs a workspace, got a buffer of kind 'parameter'}}
    %0 = rank.view %w[0] : memref<4xf32>
  }
}

// -----

// view_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    // expected-error @below {{offset must be a multiple of 64, got 32}}
    %0 = rank.view %t[32] : memref<4xf32>
  }
}

// -----

// view_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %t = rank.buffer "t" workspace : memref<128xi8>
  rank.entry (%M) {
    // expected-error @below {{ends at byte 136 of a workspace of 128}}
    %0 = rank.view %t[64] : memref<18xf32>
  }
}

// -----

// rebase_c1
func.func @rebase(%x: memref<4x8xf32, strided<[32, 1], offset: 64>>) {
  // expected-error @below {{result must be 'memref<4x8xf32, strided<[32, 1]>>', got 'memref<4x8xf32>'}}
  %0 = rank.rebase %x : memref<4x8xf32, strided<[32, 1], offset: 64>> to memref<4x8xf32>
  return
}

// -----

// rebase_c2
func.func @rebase(%x: memref<4x8xf32, strided<[32, 1], offset: ?>>) {
  // expected-error @below {{needs a view with a static offset, got 'memref<4x8xf32, strided<[32, 1], offset: ?>>'}}
  %0 = rank.rebase %x : memref<4x8xf32, strided<[32, 1], offset: ?>> to memref<4x8xf32, strided<[32, 1]>>
  return
}

// -----

// Memory is named by a 'rank.buffer', not by a value of its type.
func.func @slots(%b: !rank.buffer) {
  // expected-error @below {{'rank.slot' op needs a buffer that 'rank.buffer' declares}}
  %0 = rank.slot %b : memref<4xf32>
  return
}

// -----

// rebase_c1
func.func @rebase(%x: memref<4xf32>) {
  // expected-error @below {{result must be 'memref<4xf32>', got 'memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>'}}
  %0 = rank.rebase %x : memref<4xf32> to memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>
  return
}

// -----

// rebase_c1
func.func @rebase(%x: memref<4xf32>) {
  // expected-error @below {{result must be 'memref<4xf32>', got 'memref<4xf32, strided<[1]>, 1>'}}
  %0 = rank.rebase %x : memref<4xf32> to memref<4xf32, strided<[1]>, 1>
  return
}
