// One case per constraint of RankOps.td, by its label: what stands inside an entry.
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

// claim_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.claim @c[%M] : memref<4xf32>
  }
}

// -----

// claim_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel stands here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 1 but the channel begins at rank 0}}
    %0 = rank.claim @c[%M] : memref<4xf32>
  }
}

// -----

// claim_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.claim @c[%M] : memref<5xf32>
  }
}

// -----

// send_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    rank.send @c[%M]
  }
}

// -----

// send_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel stands here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 1 but the channel begins at rank 0}}
    rank.send @c[%M]
  }
}

// -----

// recv_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.recv @c[%M] : memref<4xf32>
  }
}

// -----

// recv_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel stands here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    %0 = rank.recv @c[%M] : memref<4xf32>
  }
}

// -----

// recv_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.recv @c[%M] : memref<5xf32>
  }
}

// -----

// received_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.received @c[%M] : memref<4xf32>
  }
}

// -----

// received_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel stands here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    %0 = rank.received @c[%M] : memref<4xf32>
  }
}

// -----

// received_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.received @c[%M] : memref<5xf32>
  }
}

// -----

// release_channel_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    rank.release_channel @c[%M]
  }
}

// -----

// release_channel_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel stands here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    rank.release_channel @c[%M]
  }
}

// -----

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
    // expected-error @below {{argument 0 of @f is no accumulator and the slot is}}
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
