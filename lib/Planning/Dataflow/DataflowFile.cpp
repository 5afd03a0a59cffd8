//===- DataflowFile.cpp - the JSON of dataflows and placements ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dataflow.h"
#include "stagewright/Planning/JsonCosts.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <map>

using nlohmann::json;

namespace stagewright {

namespace {
class Parser {
public:
  Parser(const std::string &file) : file(file) {}

  Status parse(const json &root);
  Dataflow dataflow;

private:
  using Names = std::map<std::string, size_t>;

  Status addName(Names &names, const std::string &name, const char *kind);
  Result<size_t> find(const Names &names, const std::string &name,
                      const std::string &where, const char *kind) const;
  Status addMachine(const json &object);
  Status addTask(const json &object);
  Status addEdge(const json &object);
  Status sort();

  const std::string &file;
  Names machines, tasks;
};
} // namespace

Status Parser::addName(Names &names, const std::string &name,
                       const char *kind) {
  if (names.try_emplace(name, names.size()).second)
    return {};
  return Error{file + ": two " + kind + "s are called '" + name +
               "'; give each its own name"};
}

Result<size_t> Parser::find(const Names &names, const std::string &name,
                            const std::string &where, const char *kind) const {
  if (auto found = names.find(name); found != names.end())
    return found->second;
  return Error{where + ": there is no " + kind + " '" + name +
               "'; add it to '" + kind + "s'"};
}

/// Reads the slots that `fields` states; others are 0.
static TaskSlots readSlots(JsonFields &fields) {
  TaskSlots slots;
  for (auto [field, slot] :
       {std::pair("cores", &slots.cores), std::pair("gpus", &slots.gpus),
        std::pair("memory", &slots.memory)})
    if (fields.has(field))
      *slot = fields.number(field);
  return slots;
}

Status Parser::addMachine(const json &object) {
  JsonFields fields(object, file + ": a machine");
  fields.allowOnly({"name", "cores", "gpus", "memory", "out", "in"});
  DataflowMachine machine;
  machine.name = fields.text("name");
  machine.slots = readSlots(fields);
  machine.out = Bandwidth(fields.number("out"));
  machine.in = Bandwidth(fields.number("in"));
  if (fields.error())
    return *fields.error();
  dataflow.machines.push_back(machine);
  return addName(machines, machine.name, "machine");
}

Status Parser::addTask(const json &object) {
  JsonFields fields(object, file + ": a task");
  fields.allowOnly({"name", "seconds", "machine", "cores", "gpus", "memory"});
  DataflowTask task;
  task.name = fields.text("name");
  task.time = Seconds(fields.number("seconds"));
  task.slots = readSlots(fields);
  std::string machine = fields.has("machine") ? fields.text("machine") : "";
  if (fields.error())
    return *fields.error();
  if (fields.has("machine")) {
    Result<size_t> number =
        find(machines, machine, file + ": task '" + task.name + "'", "machine");
    if (!number)
      return number.error();
    task.machine = *number;
  }
  dataflow.tasks.push_back(task);
  return addName(tasks, task.name, "task");
}

Status Parser::addEdge(const json &object) {
  JsonFields fields(object, file + ": an edge");
  fields.allowOnly({"from", "to", "bytes", "distance"});
  std::string from = fields.text("from"), to = fields.text("to");
  double bytes = fields.number("bytes");
  DataflowEdge edge;
  if (fields.has("distance"))
    edge.distance = fields.integer("distance");
  if (fields.error())
    return *fields.error();
  std::string where = file + ": edge '" + from + "' to '" + to + "'";
  if (Status status = checkAmount(bytes, where, "bytes"); !status)
    return status;
  edge.bytes = Bytes(int64_t(bytes));
  for (auto [name, end] :
       {std::pair(&from, &edge.from), std::pair(&to, &edge.to)}) {
    Result<size_t> number = find(tasks, *name, where, "task");
    if (!number)
      return number.error();
    *end = *number;
  }
  dataflow.edges.push_back(edge);
  return {};
}

/// Sorts the tasks topologically by the edges of distance 0.
Status Parser::sort() {
  size_t count = dataflow.tasks.size();
  Successors next(count);
  for (const DataflowEdge &edge : dataflow.edges)
    if (edge.distance == 0)
      next[edge.from].push_back(edge.to);
  std::vector<size_t> order = topologicalOrder(next), numberOf(count, count);
  for (size_t i = 0; i < order.size(); ++i)
    numberOf[order[i]] = i;
  if (order.size() < count) {
    std::string names;
    for (size_t i = 0; i < count; ++i)
      if (numberOf[i] == count)
        names += (names.empty() ? "'" : ", '") + dataflow.tasks[i].name + "'";
    return Error{file + ": tasks wait for each other in one iteration, among " +
                 names +
                 "; give an edge that leads to a later iteration its "
                 "'distance'"};
  }
  std::vector<DataflowTask> sorted;
  for (size_t task : order)
    sorted.push_back(dataflow.tasks[task]);
  dataflow.tasks = std::move(sorted);
  for (DataflowEdge &edge : dataflow.edges) {
    edge.from = numberOf[edge.from];
    edge.to = numberOf[edge.to];
  }
  return {};
}

Status Parser::parse(const json &root) {
  JsonFields fields(root, file);
  fields.allowOnly({"iterations", "machines", "tasks", "edges"});
  dataflow.iterations = fields.integer("iterations");
  auto each = [&](const char *name,
                  Status (Parser::*add)(const json &)) -> Status {
    const json &list = fields.list(name);
    if (fields.error())
      return *fields.error();
    for (const json &object : list) {
      if (!object.is_object())
        return Error{file + ": '" + name + "' must hold objects, got " +
                     object.dump().substr(0, 40)};
      if (Status status = (this->*add)(object); !status)
        return status;
    }
    return {};
  };
  if (Status status = each("machines", &Parser::addMachine); !status)
    return status;
  if (Status status = each("tasks", &Parser::addTask); !status)
    return status;
  if (Status status = each("edges", &Parser::addEdge); !status)
    return status;
  if (Status status = sort(); !status)
    return status;
  if (Status status = dataflow.check(); !status)
    return Error{file + ": " + status.error().message};
  return {};
}

Result<Dataflow> readDataflow(const std::string &text,
                              const std::string &file) {
  Result<json> root = parseProfileJson(text, file);
  if (!root)
    return root.error();
  if (!root->is_object())
    return Error{file + ": expected an object with 'machines', 'tasks' and "
                        "'edges'"};
  Parser parser(file);
  if (Status status = parser.parse(*root); !status)
    return status.error();
  return std::move(parser.dataflow);
}

Result<TaskPlacement> readPlacement(const Dataflow &dataflow,
                                    const std::string &text,
                                    const std::string &file) {
  Result<json> root = parseProfileJson(text, file);
  if (!root)
    return root.error();
  if (!root->is_object())
    return Error{file + ": expected an object with 'placement'"};
  JsonFields fields(*root, file);
  const json &names = fields.object("placement");
  if (fields.error())
    return *fields.error();
  TaskPlacement placement;
  for (const DataflowTask &task : dataflow.tasks) {
    auto found = names.find(task.name);
    if (found == names.end() || !found->is_string())
      return Error{file + ": 'placement' gives task '" + task.name +
                   "' no machine"};
    auto machine =
        std::find_if(dataflow.machines.begin(), dataflow.machines.end(),
                     [&](const DataflowMachine &it) {
                       return it.name == found->get<std::string>();
                     });
    if (machine == dataflow.machines.end())
      return Error{file + ": task '" + task.name + "' is on machine '" +
                   found->get<std::string>() +
                   "', which the dataflow does not have"};
    placement.push_back(size_t(machine - dataflow.machines.begin()));
  }
  return placement;
}

} // namespace stagewright
