//===- RankConvolveOp.td - convolutions as a device's library has them ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_CONVOLVE_OP_TD
#define STAGEWRIGHT_RANK_CONVOLVE_OP_TD

include "Pipeline/DestinationStyle.td"
include "Rank/RankDialect.td"

def Rank_Convolution : I32EnumAttr<"Convolution", "what a convolution writes", [
    I32EnumAttrCase<"Result", 0, "result">, I32EnumAttrCase<"Image", 1, "image">,
    I32EnumAttrCase<"Filter", 2, "filter">]> {
  let cppNamespace = "::stagewright::rank";
}

def Rank_ConvolveOp : Rank_Op<"convolve", DestinationStyleTraits> {
  let summary = "a convolution, or one of its gradients, in one call";
  let description = [{
    The first word names which of image, filter and result is written; the operands are the two others, in this order.
    `sw_convolve_desc` of stagewright-rt/device.h defines what is computed, without groups. Each of `image_dims`, `filter_dims`
    and `result_dims` lists the dimensions of its operand: that of the images (for the filter: of the filters), that of the
    channels (for the result: of the filters), then one to three spatial dimensions. `before` and `after` are the zeros with
    which the image is padded in each of these.

    Example:
    ```mlir
    %y = rank.convolve result image_dims [0, 3, 1, 2] filter_dims [0, 3, 1, 2] result_dims [0, 3, 1, 2] stride [1, 1]
        dilation [1, 1] before [1, 1] after [1, 1]
        ins(%x, %w : tensor<4x16x16x8xf32>, tensor<16x3x3x8xf32>) outs(%y0 : tensor<4x16x16x16xf32>)
        -> tensor<4x16x16x16xf32>
    ```
    Constraints:
    - (convolve_c1) the dims of each operand are its dimensions in some order;
    - (convolve_c2) each spatial dimension has a stride and a dilation of at least 1, and padding before and after of at
      least 0;
    - (convolve_c3) images, channels and filters agree, and the result has the spatial extents that image and window
      give.
  }];
  let arguments = (ins Rank_Convolution:$writes, AnyShaped:$first, AnyShaped:$second, AnyShaped:$written,
                       DenseI64ArrayAttr:$image_dims, DenseI64ArrayAttr:$filter_dims, DenseI64ArrayAttr:$result_dims,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$before,
                       DenseI64ArrayAttr:$after);
  let results = (outs Optional<AnyRankedTensor>:$output);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $writes `image_dims` $image_dims `filter_dims` $filter_dims `result_dims` $result_dims `stride` $stride
    `dilation` $dilation `before` $before `after` $after
    `ins` `(` $first `,` $second `:` type($first) `,` type($second) `)` `outs` `(` $written `:` type($written) `)`
    attr-dict (`->` type($output)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getWrittenMutable(); }
    /// Image, filter and result.
    ::std::array<::mlir::Value, 3> getRoles();
    ::llvm::ArrayRef<int64_t> getDims(unsigned role);
    /// Extent of a dimension of a role, in the order of its dims.
    int64_t getExtent(unsigned role, unsigned dim);
    unsigned getNumPlaces() { return unsigned(getStride().size()); }
  }];
  let extraClassDefinition = DestinationStyle<"false">.definition;
}

#endif // STAGEWRIGHT_RANK_CONVOLVE_OP_TD
