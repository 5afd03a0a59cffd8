// RUN: pp-opt %s --pass-pipeline='builtin.module(func.func(host-relax-floats))' | FileCheck %s

// CHECK-LABEL: @all_but_comparisons
func.func private @all_but_comparisons(%x: f32, %y: f32) -> (f32, i1) {
  // CHECK: arith.addf %{{.*}} fastmath<reassoc,nsz,arcp,contract,afn>
  %0 = arith.addf %x, %y : f32
  // CHECK: math.exp %{{.*}} fastmath<reassoc,nsz,arcp,contract,afn>
  %1 = math.exp %0 : f32
  // CHECK: arith.cmpf ogt, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : f32
  %2 = arith.cmpf ogt, %1, %y : f32
  return %1, %2 : f32, i1
}
