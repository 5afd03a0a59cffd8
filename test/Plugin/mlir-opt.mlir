// An unmodified mlir-opt reads our dialects and runs our passes when it loads the plugin.
// REQUIRES: no-sanitizer
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(pipeline-infer-roles)' %s | FileCheck %s

// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
