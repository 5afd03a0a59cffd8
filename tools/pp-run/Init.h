//===- Init.h - values for arguments that have none -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tries of a model whose weights are not at hand, by a rule that holds for
// most: parameters with two or more dimensions are normal with the deviation
// 0.02 (GPT-2's); others are 0 where the last part of their name says bias,
// else 1 (the scale of a norm). State is 0, floating batches are standard
// normal, whole ones 0, a seed is the key of the seed. What is drawn depends
// on the seed and on the argument's position, not on the ranks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_INIT_H
#define STAGEWRIGHT_TOOLS_PP_RUN_INIT_H

#include "Tensors.h"

#include <cstddef>

/// The bytes of `argument`, an entry of the manifest's arguments that `it`
/// describes. Throws where the rule has no value: for constants, and for random
/// numbers of 8 bits.
std::vector<std::byte> initialValue(const nlohmann::json &argument,
                                    const Described &it, uint32_t seed);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_INIT_H
