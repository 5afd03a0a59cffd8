"""Writes an inference step whose weights, 32 x 32 different numbers, are a constant."""
import struct

data = struct.pack("<1024f", *range(1024)).hex()
print(f"""func.func @step(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {{
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<"0x{data}"> : tensor<32x32xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x32xf32>) -> tensor<4x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x32xf32>) outs(%f : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}}""")
