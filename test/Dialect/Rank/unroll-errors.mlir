// Loops of a rank program that cannot be unrolled for the proof.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %high = arith.constant 2000000000 : index
    // expected-error @below {{cannot be unrolled: the loops of a rank program take at most 4194304 iterations in all}}
    scf.for %m = %c0 to %high step %c1 {
    }
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    // expected-error @below {{cannot be unrolled: a constant of a rank program is an integer of at most 32 bits, got 9000000000000000000}}
    %c = arith.constant 9000000000000000000 : index
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 only schedule "hand" {
  rank.entry (%M) {
    %c2 = arith.constant 2 : index
    // expected-error @below {{row 2 is read from a table of 2 rows}}
    %case, %m = rank.table[%c2] cases [0, 0] microbatches [0, 1]
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 only schedule "hand" {
  rank.entry (%M) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{cannot be unrolled: a switch of a rank program has no results, got 1}}
    %0 = scf.index_switch %c1 -> index
    default {
      scf.yield %c1 : index
    }
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c = arith.constant 2147483647 : index
    // expected-error @below {{cannot be unrolled: a sum of a rank program has at most 32 bits, got 2147483647 plus 2147483647}}
    %d = arith.addi %c, %c : index
  }
}

// -----

rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c = arith.constant 2147483647 : index
    %d = arith.constant -2147483648 : index
    // expected-error @below {{cannot be unrolled: a difference of a rank program has at most 32 bits, got -2147483648 minus 2147483647}}
    %e = arith.subi %d, %c : index
  }
}
