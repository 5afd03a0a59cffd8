// One case per constraint of RankOps.td, by its label: what stands outside an entry.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// step_c1
// expected-error @below {{must have no body: its programs are its body}}
rank.step @step(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %m = rank.buffer "m" microbatch : memref<i32>
}

// -----

// channel_c1
// expected-error @below {{must join two ranks, got 1 and 1}}
rank.channel @c from 1 to 1 depth 2 : memref<4xf32>

// -----

// channel_c2
// expected-error @+1 {{depth must be positive or 'all', got 0}}
rank.channel @c from 0 to 1 depth 0 : memref<4xf32>

// -----

// channel_c2
// expected-error @below {{depth must be positive or 'all', got 0}}
"rank.channel"() {sym_name = "c", from = 0, to = 1, depth = 0, type = memref<4xf32>} : () -> ()

// -----

// channel_c3
// expected-error @below {{carries one message per step and needs depth 1, got all}}
rank.channel @c from 0 to 1 depth all once : memref<4xf32>

// -----

// channel_c3
// expected-error @below {{carries one message per step and cannot be sparse}}
rank.channel @c from 0 to 1 depth 1 once sparse : memref<4xf32>

// -----

// channel_c4
// expected-error @below {{slot must be a memref of static shape with identity layout, of integers or floats, got 'memref<?xf32>'}}
rank.channel @c from 0 to 1 depth 2 : memref<?xf32>

// -----

// channel_c4
// expected-error @below {{slot must be a memref of static shape with identity layout, of integers or floats, got 'memref<4xindex>'}}
rank.channel @c from 0 to 1 depth 2 : memref<4xindex>

// -----

// channel_c5
// expected-error @below {{carries 1 to 1073741824 messages, got 0}}
rank.channel @c from 0 to 1 depth 2 messages 0 : memref<4xf32>

// -----

// channel_c5
// expected-error @below {{with a number of messages needs a depth that is a number, and can be neither once nor sparse}}
rank.channel @c from 0 to 1 depth all messages 4 : memref<4xf32>

// -----

// rank_program_c1
// expected-error @below {{@step is not a 'rank.step'}}
rank.program @p rank 0 device "d" of @step microbatches 8 schedule "s" {
  rank.entry (%M) {
  }
}

// -----

// rank_program_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-error @below {{needs a rank of at least 0 and from 1 to 65536 microbatches, got 0 and 0}}
rank.program @p rank 0 device "d" of @step microbatches 0 schedule "s" {
  rank.entry (%M) {
  }
}

// -----

// rank_program_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-error @below {{has host -1, expected at least 0}}
rank.program @p rank 0 device "d" host -1 of @step microbatches 1 schedule "s" {
  rank.entry (%M) {
  }
}

// -----

// rank_program_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-error @below {{needs a 'rank.entry' at its end}}
rank.program @p rank 0 device "d" of @step microbatches 1 schedule "s" {
}

// -----

// rank_program_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @p rank 0 device "d" of @step microbatches 1 schedule "s" {
  // expected-error @below {{cannot stand among the buffers of a program}}
  %c = arith.constant 0 : index
  rank.entry (%M) {
  }
}

// -----

// rank_program_c4
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  %a = rank.buffer "w" parameter 0 : memref<8x4xf32>
  // expected-error @below {{name 'w' is taken by another buffer of the program}}
  %b = rank.buffer "w" parameter 0 : memref<8x4xf32>
  rank.entry (%M) {
  }
}

// -----

// rank_program_c5
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{@step has no argument at position 5}}
  %a = rank.buffer "w" parameter 5 : memref<8x4xf32>
  rank.entry (%M) {
  }
}

// -----

// rank_program_c5
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{@step has no result at position 1 with this slice}}
  %a = rank.buffer "w" gradient 1 slice 0 : memref<8x4xf32>
  rank.entry (%M) {
  }
}

// -----

// rank_program_c5
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{type differs from result 0 of @step, got 'memref<2xf32>' and 'tensor<f32>'}}
  %a = rank.buffer "l" accumulator 0 : memref<2xf32>
  rank.entry (%M) {
  }
}

// -----

// rank_program_c6
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-error @below {{has "arena" = 5 : i32 in its memory, expected an i64}}
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" memory {arena = 5 : i32} {
  rank.entry (%M) {
  }
}

// -----

// buffer_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'stash' has no position, got 3}}
  %a = rank.buffer "k" stash 3 depth 2 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'batch' needs a position}}
  %a = rank.buffer "x" batch depth all : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'batch' cannot be a slice, got 1}}
  %a = rank.buffer "x" batch 0 slice 1 depth all : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'batch' has a fixed number of slots or one for every microbatch, got depth all by 2}}
  %x = rank.buffer "x" batch 1 depth all by 2 : memref<2x8xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'parameter' has one slot, got depth 2}}
  %a = rank.buffer "w" parameter 0 depth 2 : memref<8x4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c3
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @+1 {{depth must be positive or 'all', got -1}}
  %a = rank.buffer "k" stash depth -1 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c4
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'workspace' must be a vector of i8, got 'memref<64xf32>'}}
  %a = rank.buffer "t" workspace : memref<64xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c6
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'stash' and depth all has no place in the workspace, got 64; a stash of a fixed depth may have one}}
  %a = rank.buffer "k" stash depth all at 64 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c6
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{needs a place that is a multiple of 64 and not negative, got 96}}
  %a = rank.buffer "k" stash at 96 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c7
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  // expected-error @below {{has starts, but no place in the workspace; write 'at' before them}}
  %a = rank.buffer "k" stash starts [0, 64] : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c7
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "1f1b" {
  // expected-error @below {{has starts for 2 microbatches in a program for any number; mark the program 'only'}}
  %a = rank.buffer "k" stash at 64 starts [0, 64] : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c7
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  // expected-error @below {{needs starts that are multiples of 64 and not negative, got 32 for microbatch 1}}
  %a = rank.buffer "k" stash at 64 starts [0, 32] : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c10
rank.step @step() -> (tensor<4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'output' and depth 1 cannot have turns; an output of depth all can}}
  %a = rank.buffer "y" output 0 turns [0] of 2 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c10
rank.step @step() -> (tensor<4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{of kind 'stash' and depth all cannot have turns; an output of depth all can}}
  %a = rank.buffer "k" stash depth all turns [0] of 2 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c10
rank.step @step() -> (tensor<4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{needs turns from 0 to below 2 in increasing order, got [1, 0]}}
  %a = rank.buffer "y" output 0 depth all turns [1, 0] of 2 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c10
rank.step @step() -> (tensor<4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{needs turns from 0 to below 2 in increasing order, got [2]}}
  %a = rank.buffer "y" output 0 depth all turns [2] of 2 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// buffer_c10
rank.step @step() -> (tensor<4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{needs both turns and their period}}
  %a = "rank.buffer"() <{buffer_name = "y", kind = 8 : i32, position = 0 : i64, depth = -1 : i64, type = memref<4xf32>, turns = array<i64: 0>}> : () -> !rank.buffer
  rank.entry (%M) {
  }
}

// -----

// buffer_c5
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  // expected-error @below {{slot must be a memref of static shape with identity layout, of integers or floats, got 'memref<4xf32, strided<[2]>>'}}
  %a = rank.buffer "k" stash : memref<4xf32, strided<[2]>>
  rank.entry (%M) {
  }
}

// -----

// entry_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
"rank.program"() ({
  // expected-error @below {{needs one argument of type index, the number of microbatches, got ()}}
  "rank.entry"() ({
  ^bb0:
    %0 = arith.constant 0 : index
  }) : () -> ()
}) {sym_name = "p", rank = 0, device = "d", step = @step, microbatches = 1, schedule = "s"} : () -> ()

// -----

// action_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    rank.action F stage 0 microbatch %M {
    // expected-error @below {{must lie in a 'rank.entry' and in no other action}}
    rank.action F stage 0 microbatch %M {
    }
    }
  }
}

// -----

// channel_c5
// expected-error @below {{carries 1 to 1073741824 messages, got 4611686018427387904}}
rank.channel @c from 0 to 1 depth 1 messages 4611686018427387904 : memref<4xf32>
