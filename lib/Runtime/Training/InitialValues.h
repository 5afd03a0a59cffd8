//===- InitialValues.h - initial values for arguments -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For trying a model without its weights, by a rule that suits most models.
// Parameters with two or more dimensions are normal with the deviation 0.02 (as
// in GPT-2); others are 0 if the last part of their name says bias, else 1 (the
// scale of a norm). State is 0. Floating-point batches are standard normal,
// those of integers or 8-bit floats 0. Random keys are made from the seed. The
// values depend on the seed and on the argument's position, not on the ranks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_INITIALVALUES_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_INITIALVALUES_H

#include "Training/StepTensors.h"

#include <cstddef>

namespace stagewright::runtime {

/// The bytes of `argument`, an entry of the manifest's arguments that `it`
/// describes. Throws if the rule has no value: for constants, and for
/// parameters of integers or 8-bit floats, except those that are 0 by the rule.
std::vector<std::byte> initialValue(const nlohmann::json &argument,
                                    const TensorDescription &it, uint32_t seed);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_INITIALVALUES_H
