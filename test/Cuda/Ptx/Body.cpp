//===- Body.cpp - the statements of a kernel ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include "Window.h"

#include <unordered_map>

namespace emulator::ptx {

namespace {

using Act = Instruction::Act;

const std::unordered_map<std::string_view, Act> acts = {
    {"mov", Act::Move},        {"ld", Act::Load},
    {"st", Act::Store},        {"bra", Act::Branch},
    {"ret", Act::Return},      {"exit", Act::Return},
    {"bar", Act::Barrier},     {"barrier", Act::Barrier},
    {"shfl", Act::Shuffle},    {"membar", Act::Nothing},
    {"fence", Act::Nothing},   {"cp", Act::Copy},
    {"ldmatrix", Act::Matrix}, {"mma", Act::Product}};

const std::unordered_map<std::string_view, Special> specials = {
    {"%tid.x", Special::ThreadX},    {"%tid.y", Special::ThreadY},
    {"%tid.z", Special::ThreadZ},    {"%ntid.x", Special::BlockDimX},
    {"%ntid.y", Special::BlockDimY}, {"%ntid.z", Special::BlockDimZ},
    {"%ctaid.x", Special::BlockX},   {"%ctaid.y", Special::BlockY},
    {"%ctaid.z", Special::BlockZ},   {"%nctaid.x", Special::GridX},
    {"%nctaid.y", Special::GridY},   {"%nctaid.z", Special::GridZ},
    {"%laneid", Special::Lane},      {"%warpid", Special::Warp}};

class BodyReader {
public:
  BodyReader(Kernel &kernel, int line, const std::string &dynamic)
      : kernel(kernel), line(line) {
    if (!dynamic.empty())
      symbols[dynamic] = dynamicShared;
  }

  void run(std::string_view body) {
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      line += body[i] == '\n';
      depth += (body[i] == '{') - (body[i] == '}');
      if (body[i] == ':' && depth == 0) {
        labels[std::string(trim(body.substr(begin, i - begin)))] =
            int(kernel.code.size());
        begin = i + 1;
      } else if (body[i] == ';') {
        if (auto text = trim(body.substr(begin, i - begin)); !text.empty())
          statement(text);
        begin = i + 1;
      }
    }
    if (auto rest = trim(body.substr(begin)); !rest.empty())
      fail("a statement without an end", rest);
    for (auto &[number, label] : branches) {
      auto found = labels.find(label);
      if (found == labels.end())
        fail("a label that is nowhere", label);
      kernel.code[size_t(number)].target = found->second;
    }
    // Dynamic shared memory follows the arrays that the kernel declares.
    kernel.shared = (kernel.shared + 15) / 16 * 16;
    for (int constant : dynamicUses)
      kernel.constants[size_t(constant)].fill(uint64_t(kernel.shared));
  }

private:
  static constexpr int64_t dynamicShared = -1;

  void statement(std::string_view text) {
    if (text.starts_with(".reg"))
      return registers(text);
    if (text.starts_with(".shared") || text.starts_with(".local"))
      return array(text);
    if (text.starts_with(".pragma")) // A hint to the assembler.
      return;
    if (text.front() == '.')
      fail("a directive that is not known", text);
    Instruction it;
    it.text = text;
    it.line = line;
    if (text.front() == '@') {
      size_t end = text.find_first_of(" \t");
      it.guardInverted = text[1] == '!';
      it.guard = numberOf(
          text.substr(1 + it.guardInverted, end - 1 - it.guardInverted));
      text = trim(text.substr(end));
    }
    size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    for (std::string_view word : split(text.substr(0, end), '.'))
      it.words.emplace_back(word);
    classify(it);
    std::string_view rest = trim(text.substr(end));
    if (it.act == Act::Branch) {
      branches.emplace_back(kernel.code.size(), rest);
    } else {
      for (std::string_view part : split(rest, ','))
        it.operands.push_back(operand(part));
    }
    kernel.code.push_back(std::move(it));
  }

  void classify(Instruction &it) {
    auto act = acts.find(it.words[0]);
    it.act = act == acts.end() ? Act::Compute : act->second;
    auto has = [&](std::string_view word) { return it.has(word); };
    bool known = true;
    if (it.act == Act::Barrier) // Only aligned barriers are supported.
      known = it.words.back() == "sync" || it.words.back() == "aligned";
    if (it.act == Act::Shuffle)
      known = has("sync") && has("b32");
    if (it.act == Act::Load || it.act == Act::Store) {
      it.space = has("global")   ? Space::Global
                 : has("shared") ? Space::Shared
                 : has("local")  ? Space::Local
                 : has("param")  ? Space::Parameter
                                 : Space::Generic;
      it.vector = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
      it.bytes = int(bytesOf(it.words.back()));
      it.isSigned = it.words.back().front() == 's';
    }
    auto is = [&](const char *opcode) {
      return it.text.find(opcode) != std::string::npos;
    };
    if (it.act == Act::Matrix)
      known =
          is("ldmatrix.sync.aligned.m8n8.x4.") && has("shared") && has("b16");
    if (it.act == Act::Product)
      known = is("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") ||
              is("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    if (it.act == Act::Copy)
      known = is("cp.async.cg.shared.global ") || is("cp.async.commit_group") ||
              is("cp.async.wait_group ") || is("cp.async.wait_all");
    if (it.act == Act::Compute)
      known = (it.handler = handlerOf(it.words)) != nullptr;
    if (!known)
      fail("an instruction that is not known", it.text);
  }

  /// Declares registers: `.reg .b32 %r<22>`
  void registers(std::string_view text) {
    for (std::string_view name : split(text.substr(text.find('%')), ',')) {
      size_t open = name.find('<');
      if (open == std::string_view::npos) {
        numbers[std::string(name)] = kernel.registers++;
        continue;
      }
      int count = std::stoi(std::string(name.substr(open + 1)));
      for (int i = 0; i < count; ++i)
        numbers[std::string(name.substr(0, open)) + std::to_string(i)] =
            kernel.registers++;
    }
  }

  /// Declares an array: `.local .align 8 .b8 depot[16]`
  void array(std::string_view text) {
    size_t open = text.find('['), name = text.rfind(' ', open) + 1;
    std::vector<std::string_view> words = split(text.substr(0, open), ' ');
    int64_t bytes = std::stol(std::string(text.substr(open + 1))) *
                    bytesOf(words[words.size() - 2]);
    bool shared = text.starts_with(".shared");
    int64_t &used = shared ? kernel.shared : kernel.local;
    used = (used + 15) / 16 * 16;
    symbols[std::string(text.substr(name, open - name))] =
        used + (shared ? 0 : localWindow);
    used += bytes;
  }

  Operand operand(std::string_view text) {
    Operand it;
    if (text.front() == '!') {
      it = operand(trim(text.substr(1)));
      it.inverted = true;
    } else if (size_t bar = text.find('|'); bar != std::string_view::npos) {
      it = operand(trim(text.substr(0, bar)));
      it.parts.push_back(operand(trim(text.substr(bar + 1))));
    } else if (text.front() == '{') {
      it.kind = Operand::Vector;
      for (std::string_view part : split(text.substr(1, text.size() - 2), ','))
        it.parts.push_back(operand(part));
    } else if (text.front() == '[') {
      it = address(trim(text.substr(1, text.size() - 2)));
    } else if (text == "_") {
      it.kind = Operand::None;
    } else if (auto found = specials.find(text); found != specials.end()) {
      it.kind = Operand::SpecialRegister;
      it.number = int(found->second);
    } else if (text.front() == '%') {
      it.kind = Operand::Register;
      it.number = numberOf(text);
    } else {
      it.kind = Operand::Constant;
      it.number = constantOf(text);
    }
    return it;
  }

  Operand address(std::string_view text) {
    Operand it;
    size_t sign = text.find_first_of("+-", 1);
    std::string_view base = trim(text.substr(0, sign));
    if (sign != std::string_view::npos)
      it.offset =
          std::stol(std::string(text.substr(sign + (text[sign] == '+'))));
    it.kind = Operand::Address;
    if (base.front() == '%') {
      it.parts.push_back(operand(base));
      return it;
    }
    for (const Parameter &parameter : kernel.parameters)
      if (parameter.name == base) {
        it.offset += parameter.offset;
        return it;
      }
    it.parts.emplace_back();
    it.parts.back().kind = Operand::Constant;
    it.parts.back().number = constantOf(base);
    return it;
  }

  int numberOf(std::string_view name) {
    auto found = numbers.find(std::string(name));
    if (found == numbers.end())
      fail("a register that is not declared", name);
    return found->second;
  }

  /// Adds a constant: a number or the address of an array.
  int constantOf(std::string_view text) {
    int number = int(kernel.constants.size());
    kernel.constants.emplace_back();
    uint64_t value = 0;
    if (auto symbol = symbols.find(std::string(text));
        symbol != symbols.end()) {
      value = uint64_t(symbol->second);
      if (symbol->second == dynamicShared)
        dynamicUses.push_back(number);
    } else if (text.starts_with("0f") || text.starts_with("0d")) {
      value = std::stoull(std::string(text.substr(2)), nullptr, 16);
    } else if (text == "true" || text == "false") {
      value = text == "true";
    } else if (std::isdigit(text.front())) {
      value = std::stoull(std::string(text), nullptr, 0);
    } else if (text.front() == '-') {
      value = uint64_t(std::stoll(std::string(text), nullptr, 0));
    } else {
      fail("a name that is not known", text);
    }
    kernel.constants.back().fill(value);
    return number;
  }

  [[noreturn]] void fail(const char *what, std::string_view where) const {
    throw Unknown("kernel '" + kernel.name + "', line " + std::to_string(line) +
                  ": " + what + ": '" + std::string(where) + "'");
  }

  Kernel &kernel;
  int line;
  std::unordered_map<std::string, int> numbers, labels;
  std::unordered_map<std::string, int64_t> symbols;
  std::vector<std::pair<int64_t, std::string>> branches;
  std::vector<int> dynamicUses; ///< constants that are its address
};

} // namespace

void readBody(Kernel &kernel, std::string_view body, int line,
              const std::string &dynamic) {
  BodyReader(kernel, line, dynamic).run(body);
}

} // namespace emulator::ptx
