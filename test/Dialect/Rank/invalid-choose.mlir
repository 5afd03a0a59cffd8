// One case per constraint of rank.choose, by its label.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// choose_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %M step %c1 {
      // expected-error @below {{needs rows in each of its lanes and a turn for each, got lanes [2] and 1 turns}}
      %row = rank.choose lanes [2] turns [0] after []
    }
  }
}

// -----

// choose_c2
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %M step %c1 {
      // expected-error @below {{needs pairs of two different lanes of 1 after 'after'}}
      %row = rank.choose lanes [2] turns [0, 1] after [0, 0]
    }
  }
}

// -----

// choose_c3
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %M step %c1 {
      // expected-error @below {{must lie in a loop of a 'rank.entry' for one number of microbatches}}
      %row = rank.choose lanes [2] turns [0, 1] after []
    }
  }
}

// -----

// choose_c4
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %M step %c1 {
      // expected-error @below {{must be read by a 'rank.table' of its 2 rows}}
      %row = rank.choose lanes [2] turns [0, 1] after []
      %case, %m = rank.table[%row] cases [0] microbatches [0]
    }
  }
}

// -----

// choose_c4
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %M step %c1 {
      // expected-error @below {{must be read by a 'rank.table' of its 2 rows}}
      %row = rank.choose lanes [2] turns [0, 1] after []
    }
  }
}
