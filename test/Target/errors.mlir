// RUN: not pp-compile %s 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not pp-compile %s --microbatches=0 -o %t.swx 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pp-compile %s --stages=two -o %t.swx 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not pp-compile %s --plan="[0,2)" --planner=spp -o %t.swx 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not pp-compile %s --plan=%t.missing.json -o %t.swx 2>&1 | FileCheck %s --check-prefix=NOPLAN
// RUN: echo '{"stages": [' > %t.json && not pp-compile %s --plan=%t.json -o %t.swx 2>&1 | FileCheck %s --check-prefix=NOJSON
// RUN: echo "hello" > %t.txt && not pp-compile %t.txt -o %t.swx 2>&1 | FileCheck %s --check-prefix=NOTMLIR
// RUN: not pp-compile %t.missing -o %t.swx 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=abacus -o %t.swx 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir -o %t.no/step.swx 2>&1 | FileCheck %s --check-prefix=WHERE
// RUN: not pp-opt %S/Inputs/no-native-form.mlir --pass-pipeline='builtin.module(func.func(body-pass-destinations),body-bufferize)' 2>&1 | FileCheck %s --check-prefix=NATIVE
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPECIAL
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --emit=llvm -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL

// BOTH: error: --plan gives the stages and --planner=spp searches for them; give one of the two
// NOPLAN: error: cannot read '{{.*}}.missing.json': No such file or directory
// NOJSON: error: '{{.*}}.json' is not JSON: {{.*}}; write it with pp-plan --json
// SPECIAL: error: cannot write an artifact to '/dev/null', which is not a regular file
// FULL: error: cannot write '/dev/full': No space left on device
// NATIVE: error: operation 'shape.reduce' has no native form; a step is made of linalg, tensor, arith, math and scf operations
// NOFILE: error: an artifact needs a file; give -o step.swx, or --emit= for text
// ZERO: error: --microbatches must be a positive number, but is '0'
// TWO: error: --stages must be a positive number, but is 'two'
// NOTMLIR: error: '{{.*}}' is not an MLIR module
// MISSING: error: cannot open input file
// CPU: error: processor 'abacus' is unknown; expected 'native' or one of LLVM's names, such as x86-64-v3
// WHERE: error: cannot write '{{.*}}step.swx': No such file or directory
