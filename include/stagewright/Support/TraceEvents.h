//===- TraceEvents.h - files for trace viewers ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trace event format that Perfetto and chrome://tracing open, for simulated
// and for measured steps: named processes and threads, complete events (bars),
// and arrows from bar to bar. Times are in microseconds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_TRACEEVENTS_H
#define STAGEWRIGHT_SUPPORT_TRACEEVENTS_H

#include <nlohmann/json.hpp>
#include <string>

namespace stagewright {

class TraceEvents {
public:
  using Json = nlohmann::ordered_json;

  /// The row of a bar.
  struct Row {
    int process = 0;
    size_t thread = 0;
  };

  void nameProcess(int process, const std::string &name) {
    describe("process_name", {process, 0}, {{"name", name}});
  }
  /// Names a thread; viewers sort threads by their numbers.
  void nameThread(Row row, const std::string &name) {
    describe("thread_name", row, {{"name", name}});
    describe("thread_sort_index", row, {{"sort_index", row.thread}});
  }
  void bar(const std::string &name, const char *category, Row row, double start,
           double duration, Json args = {}) {
    Json event = {{"ph", "X"},          {"name", name},      {"cat", category},
                  {"pid", row.process}, {"tid", row.thread}, {"ts", start},
                  {"dur", duration}};
    if (!args.empty())
      event["args"] = std::move(args);
    events.push_back(std::move(event));
  }
  /// A point of arrow `id`: 's' starts it, 't' continues, and 'f' ends it.
  /// Viewers attach it to the bar at its time.
  void point(char phase, const char *name, size_t id, Row row, double time) {
    Json event = {{"ph", std::string(1, phase)},
                  {"name", name},
                  {"cat", "flow"},
                  {"id", id},
                  {"pid", row.process},
                  {"tid", row.thread},
                  {"ts", time}};
    if (phase == 'f')
      event["bp"] = "e"; // Binds to the enclosing bar, not the next.
    events.push_back(std::move(event));
  }

  /// The file, with facts `about` the trace. One event per line keeps it
  /// readable and small. Bytes of names that are not UTF-8 are replaced.
  std::string text(const Json &about) const {
    auto dump = [](const Json &json) {
      return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    std::string text =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":" + dump(about) +
        ",\"traceEvents\":[\n";
    for (const Json &event : events)
      text += dump(event) + (&event != &events.back() ? ",\n" : "\n");
    return text + "]}\n";
  }

private:
  void describe(const char *what, Row row, Json args) {
    events.push_back({{"ph", "M"},
                      {"name", what},
                      {"pid", row.process},
                      {"tid", row.thread},
                      {"args", std::move(args)}});
  }

  Json events = Json::array();
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_TRACEEVENTS_H
