//===- training.cpp - a training run that cannot begin --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Training.h"

using namespace stagewright::runtime;

int main() {
  RunOptions options;
  options.artifact = "/nowhere/step.swx";
  Launch launch;
  try {
    Run run(options, launch);
  } catch (const Error &error) {
    bool named =
        std::string(error.what()).find(options.artifact) != std::string::npos;
    return named ? 0 : 1;
  }
  return 1;
}
