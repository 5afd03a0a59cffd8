//===- Annotation.cpp - how the user places layers ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {

using llvm::SmallVector, llvm::StringRef, llvm::Twine;

std::string Annotation::text() const {
  return std::string(splits ? "split(" : "replicate(") + std::to_string(count) +
         ") at " + place;
}

/// Replaces `%3A` and the like by the characters that they stand for.
static std::string unquoted(StringRef text) {
  std::string result;
  for (; !text.empty(); text = text.drop_front()) {
    unsigned code = 0;
    if (text.front() == '%' && text.size() > 2 &&
        !text.substr(1, 2).getAsInteger(16, code)) {
      result += char(code);
      text = text.drop_front(2);
    } else {
      result += text.front();
    }
  }
  return result;
}

static std::string quoted(StringRef text) {
  std::string result;
  for (char c : text)
    if (llvm::isAlnum(c) || c == '.' || c == '-' || c == '_')
      result += c;
    else
      result += "%" + llvm::utohexstr(uint8_t(c), /*LowerCase=*/false, 2);
  return result;
}

std::optional<Annotation> parseAnnotation(StringRef form) {
  SmallVector<StringRef, 5> parts;
  form.split(parts, ':');
  Annotation result;
  int64_t number = 0;
  if (parts.size() != 5 || !isAnnotationScope(form) ||
      (parts[1] != "replicate" && parts[1] != "split") ||
      parts[2].getAsInteger(10, result.count) || result.count < 1 ||
      parts[3].getAsInteger(10, number))
    return std::nullopt;
  result.splits = parts[1] == "split";
  result.place = unquoted(parts[4]);
  result.form = form.str();
  return result;
}

std::string formOf(bool splits, int64_t count, int64_t number,
                   StringRef place) {
  return (kAnnotationScope + (splits ? "split:" : "replicate:") + Twine(count) +
          ":" + Twine(number) + ":" + quoted(place))
      .str();
}

} // namespace stagewright::pipeline
