//===- device.h - attention, convolutions and sums on a device ----*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors for `attend`, `attend_gradient` and `convolve` of sw_api: what
// one call of the device's graph library (cuDNN) computes. Extents and strides
// count elements; types are sw_dtype values. No stride is negative, and no two
// indices of a written tensor address the same element.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RT_DEVICE_H
#define STAGEWRIGHT_RT_DEVICE_H

// NOLINTBEGIN(readability-identifier-naming): C names, with a prefix.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Attention, for every batch b and head h, with g = h / (heads / key_heads):
///   S[i,j] = scale * sum_d q[b,h,i,d] * k[b,g,j,d] + bias[b,h,i,j]
///   o[b,h,i,e] = sum_j softmax_j(S)[i,j] * v[b,g,j,e]
///   stats[b,h,i] = log sum_j exp(S[i,j])
/// Sums are in float32. With `causal`, j runs from 0 to i only, so keys beyond
/// the number of queries are not used. stats are float32, packed [batch, heads,
/// queries]. Without a bias its address is null and its strides are ignored; a
/// stride of 0 broadcasts it. A bias of -1e9 or less masks its key.
///
/// Strides are in the order batch, head, position, width; the last must be 1. A
/// library may require addresses and strides to be multiples of 16 bytes, and
/// widths to be multiples of 8 up to 256 (128 for gradients). If it does not
/// support an attention, the fallback kernels run; without them (`otherwise` is
/// 0) creating a step fails.
typedef struct sw_attention_desc {
  int32_t dtype;       ///< SW_F16 or SW_BF16; of all but stats and bias
  int32_t causal;      ///< 0 or 1
  float scale;         ///< multiplies q k, before bias and softmax
  int32_t otherwise;   ///< 1: a fallback by sw_api.otherwise follows
  int64_t batch;       ///< extents of b,
  int64_t heads;       ///< h,
  int64_t key_heads;   ///< g; divides `heads`
  int64_t queries;     ///< i,
  int64_t keys;        ///< j,
  int64_t width;       ///< d,
  int64_t value_width; ///< and e
  int64_t q[4], k[4], v[4], o[4];
  int64_t d_o[4], d_q[4], d_k[4], d_v[4]; ///< 0 if there is no gradient
  int64_t bias[4];    ///< of batch, head, query and key; the last must be 1
  int32_t has_bias;   ///< 0 or 1
  int32_t bias_dtype; ///< SW_F32 or `dtype`
} sw_attention_desc;

/// Bits of the last argument of a kernel that adds to sums: 64 bits, set by the
/// runtime; with 0 the kernel only adds. Bit SW_SUMS_ZERO + i: sum i begins
/// with zeros, not with its contents. Bit SW_SUMS_DIVIDE + i: the stored sum i
/// is divided by the number in the bits from SW_SUMS_COUNT on; if the kernel
/// adds only to a part of the sum, the added values are divided instead. A
/// kernel has at most SW_SUMS_MOST sums.
enum sw_sums {
  SW_SUMS_ZERO = 0,
  SW_SUMS_DIVIDE = 16,
  SW_SUMS_COUNT = 32,
  SW_SUMS_MOST = 16
};

/// The tensor that `convolve` writes; it reads the other two.
typedef enum sw_convolve {
  SW_CONVOLVE_RESULT = 0, ///< y
  SW_CONVOLVE_IMAGE = 1,  ///< x: the image's gradient; y: the result's
  SW_CONVOLVE_FILTER = 2  ///< w: the filters' gradient; y: the result's
} sw_convolve;

/// A convolution without flipped filters, summed in float32, for every group g:
///   y[n, f, p] = sum over c and t of
///     x[n, c, p * stride + t * dilation - before] * w[f, c, t]
/// where p and t are positions in up to three dimensions, f is one of the
/// filters / groups filters of group g and c one of its channels / groups
/// channels; x outside its extents is 0. Both gradients are those of this y.
///
/// Absent dimensions come first: extent and window 1, stride and dilation 1,
/// before and after 0. The extent of the result is floor((image + before +
/// after - (window - 1) * dilation - 1) / stride) + 1.
typedef struct sw_convolve_desc {
  int32_t writes;                    ///< sw_convolve
  int32_t x_dtype, w_dtype, y_dtype; ///< float32, float16 or bfloat16
  int32_t tf32;     ///< 1: float32 may be rounded to TF32 before products
  int32_t reserved; ///< 0
  int64_t batch, channels, filters, groups;
  int64_t image[3], window[3], result[3];
  int64_t stride[3], dilation[3], before[3], after[3];
  int64_t x[5], w[5], y[5]; ///< strides: batch or filter, channel, positions
} sw_convolve_desc;

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_DEVICE_H
