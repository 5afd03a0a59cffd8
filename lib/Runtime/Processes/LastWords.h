//===- LastWords.h - what processes say when a step fails -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a process fails, or hears that another has, it tells all others where
// it is. From what has come in a short time each makes the same text; the first
// of those that could speak says it. Who says nothing has died or hangs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LASTWORDS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LASTWORDS_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// Crosses between processes as it is.
struct Word {
  int64_t when = 0;    ///< by the clock of its host
  int64_t awaited = 0; ///< 1 + the rank that it waits for; 0: none
  int64_t raised = 0;  ///< 1: an error, else where the rank is
  char text[1000] = {};

  void say(const std::string &what) {
    std::strncpy(text, what.c_str(), sizeof(text) - 1);
  }
};

class LastWords {
public:
  /// Of `count` processes.
  void expect(int64_t count) { words.assign(size_t(count), {}); }
  void add(int64_t from, const Word &word) {
    words[size_t(from)].given = true;
    words[size_t(from)].word = word;
  }
  bool has(int64_t from) const { return words[size_t(from)].given; }
  /// Who is to speak for all; -1: nobody has said anything.
  int64_t speaker() const {
    for (size_t p = 0; p < words.size(); ++p)
      if (words[p].given)
        return int64_t(p);
    return -1;
  }
  /// The one text. `names`: by process, how it is called if it has said
  /// nothing; `died`: whether it is known that it has died.
  std::string text(const std::vector<std::string> &names,
                   const std::vector<bool> &died) const {
    std::string result;
    for (size_t p = 0; p < words.size(); ++p)
      if (died[p] && !words[p].given)
        result += (result.empty() ? "" : "; ") + names[p] + " has died";
    const size_t none = words.size();
    size_t chosen = none;
    auto isBetter = [&](size_t p) {
      return chosen == none || rank(p) > rank(chosen) ||
             (rank(p) == rank(chosen) &&
              words[p].word.when < words[chosen].word.when);
    };
    for (size_t p = 0; p < words.size(); ++p)
      if (words[p].given && isBetter(p))
        chosen = p;
    if (chosen != none)
      result +=
          (result.empty() ? "" : "; ") + std::string(words[chosen].word.text);
    for (size_t p = 0; p < words.size(); ++p)
      if (!died[p] && !words[p].given && chosen != none && rank(chosen) < 3)
        result += "; " + names[p] + " did not answer";
    return result;
  }

private:
  struct Heard {
    bool given = false;
    Word word;
  };
  /// How much a word explains: an error; a wait for who says nothing; a wait;
  /// else.
  int rank(size_t p) const {
    const Word &word = words[p].word;
    if (word.raised)
      return 3;
    if (word.awaited == 0)
      return 0;
    return words[size_t(word.awaited) - 1].given ? 1 : 2;
  }

  std::vector<Heard> words;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_LASTWORDS_H
