//===- PipelineAttentionOps.td - attention without its scores -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention as one operation, so that the scores, an array of queries times
// keys, need not be stored. Indexing maps are those of linalg: they define the
// layout of heads, and for grouped queries the maps of keys and values lack a
// dimension. Row statistics are as in T. Dao, "FlashAttention-2" (2023),
// section 3.1.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_ATTENTION_OPS_TD
#define STAGEWRIGHT_PIPELINE_ATTENTION_OPS_TD

include "Pipeline/DestinationStyle.td"
include "Pipeline/PipelineDialect.td"

class Pipeline_AttentionBase<string mnemonic> : Pipeline_Op<mnemonic, [AttrSizedOperandSegments] # DestinationStyleTraits> {
  let arguments = (ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs,
                       AffineMapArrayAttr:$indexing_maps, F32Attr:$scale, OptionalAttr<F32Attr>:$cap,
                       UnitAttr:$causal, OptionalAttr<F32Attr>:$fill, OptionalAttr<F32Attr>:$kept,
                       UnitAttr:$library);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `scale` $scale (`cap` $cap^)? (`causal` $causal^)? (`fill` $fill^)? (`kept` $kept^)? (`library` $library^)?
    `maps` $indexing_maps
    `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDefinition = DestinationStyle<"false">.definition;
}

class Pipeline_NamedAttention<string mnemonic, string names> : Pipeline_AttentionBase<mnemonic> {
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
    /// What the operands are, in order; "mask" and "keep" may be missing.
    static ::llvm::ArrayRef<::llvm::StringLiteral> getOperandNames() {
      static constexpr ::llvm::StringLiteral names[] = }] # names # [{;
      return names;
    }
  }];
}

def Pipeline_AttentionOp : Pipeline_NamedAttention<"attention", [{
    {"query", "key", "value", "mask", "keep", "output", "statistics"} }]> {
  let summary = "values, weighted by a softmax of queries times keys";
  let description = [{
    The maps share one space of dimensions: any number of batches and heads, then query, key, width and value width. With x the
    score of query i and key j, `scale` times the sum of q * k over the width: `output` is the sum of v over the keys, weighted
    by exp(x) / sum exp(x); `statistics` is the natural logarithm of that sum. With `cap` c, x is c tanh(x / c) instead.
    `causal`: a query sees the keys up to its own number. A mask of i1 puts `fill` in the place of x where it is false; a mask
    of floats is added to x. With dropout, values are weighted by `kept` times the weights where `keep` is true, and by 0
    elsewhere. Sums are computed in float32. `library`: a call of the device's library computes it.

    Example:
    ```mlir
    #q = affine_map<(b, h, i, j, w, v) -> (b, i, h, w)>
    #k = affine_map<(b, h, i, j, w, v) -> (b, j, h, w)>
    #v = affine_map<(b, h, i, j, w, v) -> (b, j, h, v)>
    #o = affine_map<(b, h, i, j, w, v) -> (b, i, h, v)>
    #s = affine_map<(b, h, i, j, w, v) -> (b, h, i)>
    %o:2 = pipeline.attention scale 1.250000e-01 causal maps [#q, #k, #v, #o, #s]
        ins(%q, %k, %v : tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>)
        outs(%o0, %s0 : tensor<2x128x4x64xf32>, tensor<2x4x128xf32>) -> tensor<2x128x4x64xf32>, tensor<2x4x128xf32>
    ```
    Constraints:
    - (attention_c1) the operands are query, key, value, mask (optional), keep (exactly if there is `kept`), output and
      statistics, with one map each: distinct dimensions of the space, of extents that agree;
    - (attention_c2) query has the dimensions query and width, key has key and width, value has key and value width, output has
      query and value width, statistics have query; a mask and `keep` may have query and key;
    - (attention_c3) query, output and statistics have every batch dimension; key and value have the same batch dimensions:
      all, some or none;
    - (attention_c4) elements are f32, f16 or bf16, those of a mask also i1; statistics are f32, `keep` i1;
    - (attention_c5) `causal` needs as many keys as queries;
    - (attention_c6) there is `fill` exactly if there is a mask of i1;
    - (attention_c7) `cap` is above 0;
    - (attention_c8) `causal` excludes a mask of i1.
  }];
}

def Pipeline_AttentionGradientOp : Pipeline_NamedAttention<"attention_gradient", [{
    {"query", "key", "value", "mask", "keep", "output", "statistics", "d_output", "d_query", "d_key", "d_value"} }]> {
  let summary = "gradients of attention, from its output and statistics";
  let description = [{
    Constraints: those of `pipeline.attention`; an operand d_NAME has the dimensions of NAME, whose gradient it is.

    Example:
    ```mlir
    %d:3 = pipeline.attention_gradient scale 1.250000e-01 maps [#q, #k, #v, #o, #s, #o, #q, #k, #v]
        ins(%q, %k, %v, %o, %s, %do : tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>,
            tensor<128xf32>, tensor<128x64xf32>)
        outs(%q0, %k0, %v0 : tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>)
        -> tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>
    ```
  }];
}

def Pipeline_AttentionQueryGradientOp : Pipeline_NamedAttention<"attention_query_gradient", [{
    {"query", "key", "value", "mask", "keep", "statistics", "delta", "d_output", "d_query"} }]> {
  let summary = "the gradient of queries";
  let description = [{
    One half of `pipeline.attention_gradient`, for kernels that process one block of queries each. `delta`, with the
    dimensions of the statistics, is the sum of output times its gradient over the value width. Constraints are those of
    `pipeline.attention_gradient`.
  }];
}

def Pipeline_AttentionKeyGradientOp : Pipeline_NamedAttention<"attention_key_gradient", [{
    {"query", "key", "value", "mask", "keep", "statistics", "delta", "d_output", "d_key", "d_value"} }]> {
  let summary = "the gradients of keys and values";
  let description = [{
    The other half of `pipeline.attention_gradient`, for kernels that process one block of keys each. Constraints are those
    of `pipeline.attention_gradient`.
  }];
}

#endif // STAGEWRIGHT_PIPELINE_ATTENTION_OPS_TD
