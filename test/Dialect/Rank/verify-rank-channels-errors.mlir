// Invalid uses of a channel by a rank, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A claim without a send.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is claimed but never sent}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
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
  }
}

// -----

// A second claim.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is claimed twice}}
      %again = rank.claim @h[%c0] : memref<4xf32>
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A second send.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is sent twice}}
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A send without a claim.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is sent but was not claimed}}
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A second receive.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      // expected-error @below {{microbatch 0 of channel 'h' is received twice}}
      %again = rank.recv @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A read of what was not received.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is read but was not received}}
      %r = rank.received @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A read after the release.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is read after its release}}
      %r = rank.received @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A release of what was not received.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is released but was not received}}
      rank.release_channel @h[%c0]
    }
  }
}

// -----

// A second release.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is released twice}}
      rank.release_channel @h[%c0]
    }
  }
}

// -----

// A microbatch that does not exist.
rank.step @step() -> ()
// expected-note @below {{the channel is declared here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 1 of channel 'h' does not exist; it carries 1}}
      %h = rank.claim @h[%c1] : memref<4xf32>
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}
