// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-approximate-math))' | FileCheck %s

// CHECK-LABEL: @expanded
// CHECK-NOT: math.{{exp|tanh|log|erf}}
// CHECK-NOT: fastmath
// CHECK: return
func.func private @expanded(%x: f32, %h: bf16) -> (f32, f32, f32, bf16) {
  %0 = math.exp %x fastmath<contract> : f32
  %1 = math.tanh %x fastmath<contract> : f32
  %2 = math.log %x fastmath<contract> : f32
  %3 = math.erf %h : bf16
  return %0, %1, %2, %3 : f32, f32, f32, bf16
}

// CHECK-LABEL: @vectors
// CHECK-NOT: math.exp
// CHECK-NOT: vector.extract
// CHECK: math.fma %{{.*}} : vector<16xf32>
// CHECK: arith.shli %{{.*}} : vector<16xi32>
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
func.func private @vectors(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: @instruction
// CHECK: math.sqrt
func.func private @instruction(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}

// CHECK-LABEL: @left_to_the_library
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.atan %{{.*}} : f32
func.func private @left_to_the_library(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.atan %y : f32
  return %0, %1 : f64, f32
}
