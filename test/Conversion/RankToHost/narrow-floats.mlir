// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-narrow-floats))' | FileCheck %s

// CHECK-LABEL: @rounded_by_integers
// CHECK-NOT: arith.truncf
// CHECK: arith.shrui %{{.*}} : vector<8xi32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi16>
// CHECK: arith.bitcast %{{.*}} : vector<8xi16> to vector<8xbf16>
func.func private @rounded_by_integers(%x: vector<8xf32>) -> vector<8xbf16> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %0 : vector<8xbf16>
}

// CHECK-LABEL: @computed_in_single
// CHECK-NOT: arith.truncf
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: arith.truncf
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK-NOT: arith.truncf
// CHECK: vector.reduction <add>, %{{.*}} : vector<4xf32> into f32
// CHECK-NOT: arith.truncf
// CHECK: return
func.func private @computed_in_single(%x: bf16, %i: i32, %v: vector<4xbf16>) -> (bf16, bf16, bf16) {
  %0 = arith.addf %x, %x : bf16
  %1 = arith.sitofp %i : i32 to bf16
  %2 = vector.reduction <add>, %v : vector<4xbf16> into bf16
  return %0, %1, %2 : bf16, bf16, bf16
}

// Functions that C libraries do not have for 16 bits.
// CHECK-LABEL: @called_in_single
// CHECK: math.floor %{{.*}} : vector<8xf32>
// CHECK: math.roundeven %{{.*}} : f32
// CHECK: math.powf %{{.*}}, %{{.*}} : f32
func.func private @called_in_single(%v: vector<8xbf16>, %x: bf16, %h: f16) -> (vector<8xbf16>, bf16, f16) {
  %0 = math.floor %v : vector<8xbf16>
  %1 = math.roundeven %x : bf16
  %2 = math.powf %h, %h : f16
  return %0, %1, %2 : vector<8xbf16>, bf16, f16
}

// CHECK-LABEL: @rounded_once
// CHECK: %[[SINGLE:.*]] = arith.truncf %[[X:.*]] : f64 to f32
// CHECK: %[[BACK:.*]] = arith.extf %[[SINGLE]] : f32 to f64
// CHECK: arith.cmpf one, %[[BACK]], %[[X]] : f64
// CHECK: arith.ori
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func private @rounded_once(%x: f64) -> f16 {
  %0 = arith.truncf %x : f64 to f16
  return %0 : f16
}

// CHECK-LABEL: @instructions
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: arith.addf %{{.*}} : f16
// CHECK-NEXT: return
func.func private @instructions(%x: f32) -> f16 {
  %0 = arith.truncf %x : f32 to f16
  %1 = arith.addf %0, %0 : f16
  return %1 : f16
}
