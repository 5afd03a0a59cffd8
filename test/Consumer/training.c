/*===- training.c - a training run that cannot begin ---------------*- C
-*-===*\
|*                                                                            *|
|* Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.   *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "stagewright-rt/training.h"

#include <string.h>

int main(void) {
  sw_training_options options = {0};
  options.size = sizeof(options);
  options.artifact = "/nowhere/step.swx";
  options.steps = 1;
  return !sw_training_create(&options) &&
                 strstr(sw_error(), "'/nowhere/step.swx'")
             ? 0
             : 1;
}
