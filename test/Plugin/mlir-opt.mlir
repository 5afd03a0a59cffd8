// An unmodified mlir-opt reads our dialects and runs our passes when it loads the plugin.
// REQUIRES: no-sanitizer
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(pipeline-infer-roles)' %s | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pipeline-infer-roles=large-constant=64 %s | FileCheck %s
// RUN: not mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pipeline-infer-roles=no-such=1 %s 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(canonicalize)' --pipeline-infer-roles %s 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pipeline-infer-roles --pass-pipeline='builtin.module(canonicalize)' %s 2>&1 | FileCheck %s --check-prefix=BOTH

// ERROR: no-such
// BOTH: error: --pipeline-infer-roles: --pass-pipeline is given as well; name all passes in it, or give only flags
// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
