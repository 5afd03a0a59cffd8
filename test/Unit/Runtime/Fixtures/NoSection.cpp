//===- NoSection.cpp - a shared object that is no artifact ----------------===//
//
// Part of the Stagewright project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" int notAnArtifact() { return 1; }
