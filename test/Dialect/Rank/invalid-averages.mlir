// Constraints of averages over replicas. Every case changes one thing of the first program.
// RUN: sed 's#delay 1 xi#delay 5 xi#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=DELAY
// DELAY: needs 'every' and 'turns' of at least 1 and 'delay' from 0 to 'every', got every 4, delay 5, turns 1
// RUN: sed 's#xi 0.25#xi 1.25#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=XI
// XI: needs xi from 0 to 1 and a weight above 0 and at most 1, got 1.250000e+00 and 5.000000e-01
// RUN: sed 's#corrected##' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=SPARE
// SPARE: has a snapshot, which it needs only if it is corrected and delayed
// RUN: sed 's#snapshot %old##' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: is corrected and delayed and needs a snapshot
// RUN: sed 's#@average (%w)#@other (%w)#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: @other is not a collective
// RUN: sed 's#step %count#step %a#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: needs the count of steps in state of type 'memref<1xi64>', got 'a' of kind 'state' and type 'memref<16xf32>'
// RUN: sed 's#(%w)#(%w, %w)#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: has parameters of 128 bytes, the collective has 64
// RUN: sed 's#(%w)#(%a)#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: averages parameters of 'f32', got a
// RUN: sed 's#parameter 0 own 4 weight 0.5#parameter 0 own 4 weight 1.5#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: of kind 'parameter' cannot have weight 1.5{{.*}}; a parameter, gradient or accumulator with a position may have one above 0 and at most 1
// RUN: sed 's#own 4 weight#own 2 weight#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: is a replica's own at position 2, but @step has no argument of type 'memref<4x4xf32>' there
// RUN: sed 's#gradient :#gradient own 4 :#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: of kind 'gradient' is no replica's own; a parameter or state may be
// RUN: sed 's#mean %0 over %M#mean %1 over %M#; s#: memref<4x4xf32> // of#: memref<1xi64> // of#' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: with a scale needs floats, got 'memref<1xi64>'

rank.step @step(tensor<4x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                tensor<1xi64> {pipeline.position = 1 : i64, pipeline.role = "state", rank.averaging},
                tensor<16xf32> {pipeline.position = 2 : i64, pipeline.role = "state", rank.averaging},
                tensor<16xf32> {pipeline.position = 3 : i64, pipeline.role = "state", rank.averaging},
                tensor<4x4xf32> {pipeline.position = 4 : i64, pipeline.role = "state", rank.averaging}) -> ()
rank.collective @average among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  %w = rank.buffer "w" parameter 0 own 4 weight 0.5 : memref<4x4xf32>
  %count = rank.buffer "t" state 1 : memref<1xi64>
  %a = rank.buffer "a" state 2 : memref<16xf32>
  %old = rank.buffer "s" state 3 : memref<16xf32>
  %g = rank.buffer "g" gradient : memref<4x4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.slot %w : memref<4x4xf32>
    %1 = rank.slot %count : memref<1xi64>
    rank.action U stage 0 microbatch %c0 {
      rank.combine mean %0 over %M scale 2.0 : memref<4x4xf32> // of all
      rank.average @average (%w) step %count sum %a snapshot %old every 4 delay 1 xi 0.25 corrected weight 0.5
    }
  }
}
