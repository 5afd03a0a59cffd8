//===- PipelineManifest.h - a manifest to change in tests -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_RUNTIME_PIPELINEMANIFEST_H
#define STAGEWRIGHT_TEST_UNIT_RUNTIME_PIPELINEMANIFEST_H

#include "Artifact/Artifact.h"
#include "Files/MappedFile.h"
#include "stagewright/Runtime/Error.h"

#include <nlohmann/json.hpp>

namespace stagewright::runtime {

/// The manifest of the fixture: a pipeline of two ranks.
inline nlohmann::json pipelineManifest() {
  MappedFile file(FIXTURES "/pipeline.swx");
  return nlohmann::json::parse(manifestText(file.bytes()));
}

/// The error of parsing the fixture's manifest with `value` at `pointer`.
inline std::string errorWith(const char *pointer, const nlohmann::json &value) {
  nlohmann::json manifest = pipelineManifest();
  manifest[nlohmann::json::json_pointer(pointer)] = value;
  try {
    parseManifest(manifest.dump());
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TEST_UNIT_RUNTIME_PIPELINEMANIFEST_H
