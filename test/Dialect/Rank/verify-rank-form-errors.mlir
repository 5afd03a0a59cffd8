// Malformed rank programs, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// Ranks with a hole.
rank.step @step() -> ()
// expected-error @below {{ranks must be numbered 0, 1, 2, …, got 1 instead of 0}}
rank.program @p rank 1 device "d" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
  }
}

// -----

// A channel to a rank that does not exist.
rank.step @step() -> ()
// expected-error @below {{joins ranks 0 and 1, but the number of ranks is 1}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @p rank 0 device "d" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
  }
}

// -----

// Arithmetic that the verifier does not know.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{'arith.xori' cannot be unrolled; a rank program computes with constants, sums, differences, products, quotients, minima, maxima, comparisons and tables}}
    %n = arith.xori %M, %M : index
  }
}

// -----

// A product that would overflow in the end.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 1000000 : index
    // expected-error @below {{cannot be unrolled: a product of a rank program has at most 32 bits, got 1000000 times 1000000}}
    %n = arith.muli %c0, %c0 : index
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{cannot be unrolled: a rank program divides a number that is not negative by a positive one, got 4 and 0}}
    %n = arith.divui %M, %c0 : index
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A loop that does not advance.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{cannot be unrolled: a loop of a rank program has a positive step and no results, got step 0 and 0}}
    scf.for %m = %c0 to %M step %c0 {
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}
