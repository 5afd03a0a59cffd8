//===- RankContractOp.td - products and convolutions as one call ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_CONTRACT_OP_TD
#define STAGEWRIGHT_RANK_CONTRACT_OP_TD

include "Pipeline/DestinationStyle.td"
include "Rank/RankDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Rank_Update : I32EnumAttr<"Update", "what happens to the former contents of a result", [
    I32EnumAttrCase<"Accumulate", 0, "accumulate">, I32EnumAttrCase<"Overwrite", 1, "overwrite">]> {
  let cppNamespace = "::stagewright::rank";
}

/// The numbers are those of sw_epilogue in stagewright-rt/runtime.h.
def Rank_Epilogue : I32EnumAttr<"Epilogue", "what is done to a product before it is stored", [
    I32EnumAttrCase<"Bias", 1, "bias">, I32EnumAttrCase<"Gelu", 2, "gelu">,
    I32EnumAttrCase<"BiasGelu", 3, "bias_gelu">, I32EnumAttrCase<"GeluAux", 4, "gelu_aux">,
    I32EnumAttrCase<"BiasGeluAux", 5, "bias_gelu_aux">, I32EnumAttrCase<"Dgelu", 6, "dgelu">,
    I32EnumAttrCase<"Add", 10, "add">]> {
  let cppNamespace = "::stagewright::rank";
}

def Rank_ContractOp : Rank_Op<"contract", [AttrSizedOperandSegments] # DestinationStyleTraits> {
  let summary = "a sum of products, or a convolution, in one call";
  let description = [{
    The maps say which elements of A, B and C a point of the loops uses, as in linalg; the loops that do not index C are summed
    over. `overwrite` stores the sums in C, whose former contents are not read; `accumulate` adds them to C. A convolution has
    a map in which two loops index one dimension.

    `triangle [u, l]`: points at which the index of loop u is less than that of loop l are left out. Whoever sets it knows that
    their products are zero, or that nobody reads the elements of C that they would change.

    `epilogue` is computed before C is stored, with x the sum: `bias` x + bias, `gelu` gelu(x), `bias_gelu` gelu(x + bias),
    `dgelu` x times the derivative of gelu at aux, `add` x + aux. `gelu_aux` and `bias_gelu_aux` also store the argument of gelu
    in aux. A `rank.otherwise` behind the operation computes the epilogue on a device whose library cannot.

    Example:
    ```mlir
    rank.contract overwrite maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%a, %b : memref<48x32xf32>, memref<32x64xf32>) outs(%c : memref<48x64xf32>)
        epilogue bias_gelu_aux bias(%row : memref<64xf32>) aux(%z : memref<48x64xf32>)
    ```
    Constraints:
    - (contract_c1) there are three maps, of the same loops, with a result for each dimension of their operand; that of C has
      distinct loops as results, and each loop indexes two operands at least;
    - (contract_c2) shapes are static; each loop alone indexes some dimension, whose extent it has; no map leaves its operand;
    - (contract_c3) the loops of a triangle are two of equal extent, and one of them indexes C;
    - (contract_c4) an operation with an epilogue is on buffers and overwrites C; its operands bias, like a row of C, and aux,
      like C, are those that the epilogue uses.
  }];
  let arguments = (ins Rank_Update:$update, AffineMapArrayAttr:$indexing_maps,
                       OptionalAttr<DenseI64ArrayAttr>:$triangle, OptionalAttr<Rank_Epilogue>:$epilogue,
                       AnyShaped:$lhs, AnyShaped:$rhs, Optional<AnyShaped>:$bias, AnyShaped:$written,
                       Optional<AnyShaped>:$aux);
  let results = (outs Optional<AnyRankedTensor>:$output);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $update `maps` $indexing_maps (`triangle` $triangle^)?
    `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` `outs` `(` $written `:` type($written) `)`
    (`epilogue` $epilogue^)? (`bias` `(` $bias^ `:` type($bias) `)`)? (`aux` `(` $aux^ `:` type($aux) `)`)?
    attr-dict (`->` type($output)^)?
  }];
  let builders = [
    OpBuilder<(ins "Update":$update, "::llvm::ArrayRef<::mlir::AffineMap>":$maps, "::mlir::Value":$lhs,
                   "::mlir::Value":$rhs, "::mlir::Value":$written)>];
  let extraClassDeclaration = [{
    /// C, and aux if it is written too.
    ::mlir::MutableOperandRange getDpsInitsMutable();
    bool overwrites() { return getUpdate() == Update::Overwrite; }
    bool writesAux();
    ::llvm::SmallVector<::mlir::AffineMap> getMaps();
    /// The extents of the loops.
    ::llvm::SmallVector<int64_t> getExtents();
    /// Whether two loops together index a dimension of A or B.
    bool isConvolution();
  }];
  let extraClassDefinition = DestinationStyle<"!overwrites()">.definition;
}

def Rank_OtherwiseOp : Rank_Op<"otherwise", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a kernel in place of the library call before it";
  let description = [{
    Whether a device's library has an algorithm for a call is known only when a step is created. Without one, the kernel is
    launched instead of the call, or behind it if the call is a product whose epilogue the library does not have.

    Example:
    ```mlir
    rank.otherwise @kernel.3(%c, %row) : memref<48x64xf32>, memref<64xf32>
    ```
    Constraints:
    - (otherwise_c1) the kernel is a function that takes the operands and returns nothing.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$arguments);
  let assemblyFormat = "$kernel `(` $arguments `)` attr-dict (`:` type($arguments)^)?";
}

#endif // STAGEWRIGHT_RANK_CONTRACT_OP_TD
