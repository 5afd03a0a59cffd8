// Constraints of sums over ranks.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// One rank alone.
rank.step @step() -> ()
// expected-error @below {{needs two or more ranks, each 0 or more, in increasing order, got [0]}}
rank.collective @a among [0] : memref<16xf32>

// -----

// A rank twice.
rank.step @step() -> ()
// expected-error @below {{needs two or more ranks, each 0 or more, in increasing order, got [0, 0]}}
rank.collective @a among [0, 0] : memref<16xf32>

// -----

// Ranks count from 0.
rank.step @step() -> ()
// expected-error @below {{needs two or more ranks, each 0 or more, in increasing order, got [-1, 0]}}
rank.collective @a among [-1, 0] : memref<16xf32>

// -----

// Truth values have no sum.
rank.step @step() -> ()
// expected-error @below {{sums a contiguous vector of known length, of floats or integers, got 'memref<16xi1>'}}
rank.collective @a among [0, 1] : memref<16xi1>

// -----

// A bucket is a vector.
rank.step @step() -> ()
// expected-error @below {{sums a contiguous vector of known length, of floats or integers, got 'memref<4x4xf32>'}}
rank.collective @a among [0, 1] : memref<4x4xf32>

// -----

// The artifact states its bytes.
rank.step @step() -> ()
// expected-error @below {{sums a contiguous vector of known length, of floats or integers, got 'memref<?xf32>'}}
rank.collective @a among [0, 1] : memref<?xf32>

// -----

// No collective.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{@a is not a collective}}
    rank.all_reduce @a (%w)
  }
}

// -----

// Another rank's.
rank.step @step() -> ()
// expected-note @below {{the collective is declared here}}
rank.collective @a among [1, 2] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{stands on rank 0, which is not among the collective's ranks}}
    rank.await_reduced @a
  }
}

// -----

// A stash is no summand.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{sums gradients and accumulators, got 's' of kind 'stash'}}
    rank.all_reduce @a (%s)
  }
}

// -----

// Another element type.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<32xf16>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{sums elements of type 'f32', got 'w' of type 'memref<32xf16>'}}
    rank.all_reduce @a (%w)
  }
}

// -----

// A bucket with a gap.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<32xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %g = rank.buffer "g" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs buffers that are declared one after the other, but 'v' does not follow the one before it}}
    rank.all_reduce @a (%w, %v)
  }
}

// -----

// Too short a bucket.
rank.step @step() -> ()
// expected-note @below {{the collective is declared here}}
rank.collective @a among [0, 1] : memref<32xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{has 64 bytes in its buffers, a bucket of the collective has 128}}
    rank.all_reduce @a (%w)
  }
}

// -----

// collective_c2
// expected-error @below {{sums a contiguous vector of known length, of floats or integers, got 'memref<48xf32, strided<[2]>>'}}
rank.collective @s among [0, 1] : memref<48xf32, strided<[2]>>
