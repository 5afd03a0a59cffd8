// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(body-approximate-math))' | FileCheck %s

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

// CHECK-LABEL: @everything_in_f32
// CHECK-NOT: math.{{exp|exp2|expm1|log|log1p|tanh|erf|erfc|sin|cos}}
// CHECK: return
func.func private @everything_in_f32(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp2 %x : vector<8xf32>
  %1 = math.expm1 %0 : vector<8xf32>
  %2 = math.log1p %1 : vector<8xf32>
  %3 = math.erfc %2 : vector<8xf32>
  %4 = math.sin %3 : vector<8xf32>
  %5 = math.cos %4 : vector<8xf32>
  return %5 : vector<8xf32>
}

// More digits of 2 / pi are used only if a lane holds a huge argument.
// CHECK-LABEL: @one_branch_for_all_lanes
// CHECK: %[[HUGE:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[HUGE]] : vector<16xi1> into i1
// CHECK: scf.if %[[ANY]] -> (vector<16xf32>, vector<16xi32>)
// CHECK: arith.muli %{{.*}} : vector<16xi64>
// CHECK: arith.select %[[HUGE]]
// CHECK: else
// CHECK-NOT: vector<16xi64>
// CHECK: return
func.func private @one_branch_for_all_lanes(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.cos %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: @scalars_branch_too
// CHECK-NOT: vector
// CHECK: scf.if %{{.*}} -> (f32, i32)
func.func private @scalars_branch_too(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
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
