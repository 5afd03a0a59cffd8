// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-approximate-math))' | FileCheck %s

// CHECK-LABEL: @polynomials
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.log
// CHECK-NOT: math.erf
// CHECK: return
func.func private @polynomials(%x: f32, %h: bf16) -> (f32, f32, f32, bf16) {
  %0 = math.exp %x : f32
  %1 = math.tanh %x : f32
  %2 = math.log %x : f32
  %3 = math.erf %h : bf16
  return %0, %1, %2, %3 : f32, f32, f32, bf16
}

// CHECK-LABEL: @instruction
// CHECK: math.sqrt
func.func private @instruction(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}
