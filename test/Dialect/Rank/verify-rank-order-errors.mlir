// Programs in which a rank waits for ever or loses a message, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A ring that is too shallow: rank 0 runs all forwards first, rank 1 holds a message until its backward.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.channel @g from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        // expected-error @below {{schedule deadlocks: rank 0 waits for B0 from rank 1, which waits for B0 from rank 0}}
        // expected-note @below {{rank 0 waits here in F2: its claim of microbatch 2 on channel 'h' needs the release of microbatch 0 by rank 1}}
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %g = rank.claim @g[%m] : memref<4xf32>
        rank.send @g[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
      rank.action B stage 1 microbatch %m {
        // expected-note @below {{rank 1 waits here in B0: its receive of microbatch 0 on channel 'g' needs the send by rank 0}}
        %g = rank.recv @g[%m] : memref<4xf32>
        rank.release_channel @h[%m]
        rank.release_channel @g[%m]
      }
    }
  }
}

// -----

// Swapped order: each rank receives before it sends.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.channel @dh from 1 to 0 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        // expected-error @below {{schedule deadlocks: rank 0 waits for F0 from rank 1, which waits for B0 from rank 0}}
        // expected-note @below {{rank 0 waits here in B0: its receive of microbatch 0 on channel 'dh' needs the send by rank 1}}
        %dh = rank.recv @dh[%m] : memref<4xf32>
        rank.release_channel @dh[%m]
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        // expected-note @below {{rank 1 waits here in F0: its receive of microbatch 0 on channel 'h' needs the send by rank 0}}
        %h = rank.recv @h[%m] : memref<4xf32>
        rank.release_channel @h[%m]
        %dh = rank.claim @dh[%m] : memref<4xf32>
        rank.send @dh[%m]
      }
    }
  }
}

// -----

// A missing release: the sender waits for a slot that never comes back.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        // expected-error @below {{rank 0 waits here in F2: its claim of microbatch 2 on channel 'h' needs the release of microbatch 0 by rank 1, which never comes}}
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
    }
  }
}

// -----

// A missing release that no rank waits for.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is received but never released}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
    }
  }
}

// -----

// A missing send.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        // expected-error @below {{rank 1 waits here in F0: its receive of microbatch 0 on channel 'h' needs the send by rank 0, which never comes}}
        %h = rank.recv @h[%m] : memref<4xf32>
        rank.release_channel @h[%m]
      }
    }
  }
}

// -----

// A missing receive.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is sent but never received}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// Nothing is sent.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is never sent}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}
