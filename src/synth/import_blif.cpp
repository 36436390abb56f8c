// BLIF in two steps: the lines into covers by name, then covers into gates in an order that names allow.
#include <fmt/format.h>

#include <unordered_map>

#include "espalier/error.hpp"
#include "synth/formats.hpp"
#include "synth/literal_builder.hpp"
#include "synth/names.hpp"

namespace espalier {
namespace {

struct Line {
  std::size_t number = 0;  // of its first piece
  std::vector<std::string> words;
};

// Comments cut, backslashes joined, blank lines dropped.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  bool joined = false;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (const std::size_t comment = line.find('#'); comment != std::string_view::npos) line = line.substr(0, comment);
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
    const bool goes_on = !line.empty() && line.back() == '\\';
    if (goes_on) line.remove_suffix(1);
    if (!joined) lines.push_back({number, {}});
    for (std::size_t i = 0; i < line.size();) {
      while (i < line.size() && static_cast<unsigned char>(line[i]) <= ' ') ++i;
      const std::size_t start = i;
      while (i < line.size() && static_cast<unsigned char>(line[i]) > ' ') ++i;
      if (i > start) lines.back().words.emplace_back(line.substr(start, i - start));
    }
    joined = goes_on;
  }
  std::erase_if(lines, [](const Line& line) { return line.words.empty(); });
  return lines;
}

struct Cover {
  std::size_t line = 0;
  std::string output;
  std::vector<std::string> inputs;
  std::vector<std::string> rows;  // of 0, 1 and -
  bool on = true;                 // rows are where the output is 1, or 0
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : file_(file), lines_(lines_of(text)) {}

  Netlist run() {
    for (const Line& line : lines_) {
      if (ended_) break;
      read(line);
    }
    if (!model_) fail(file_, "no .model", "a BLIF file");
    return build();
  }

 private:
  [[noreturn]] void wrong(std::size_t line, const std::string& got, const std::string& expected,
                          const char* hint = "") const {
    fail(fmt::format("{}:{}", file_, line), got, expected, hint);
  }

  void read(const Line& line) {
    const std::string& first = line.words[0];
    if (first[0] != '.') return read_row(line);
    open_ = false;
    if (first == ".model") {
      if (model_) wrong(line.number, "a second .model", "one model", "flatten the design first");
      model_ = true;
      if (line.words.size() > 1) netlist_.name = line.words[1];
    } else if (first == ".inputs") {
      for (std::size_t i = 1; i < line.words.size(); ++i) {
        if (!sources_.try_emplace(line.words[i], Source{true, netlist_.inputs.size()}).second)
          wrong(line.number, fmt::format("\"{}\" twice", shown_name(line.words[i])), "each net defined once");
        netlist_.inputs.push_back(line.words[i]);
      }
    } else if (first == ".outputs") {
      for (std::size_t i = 1; i < line.words.size(); ++i) outputs_.push_back({line.number, line.words[i]});
    } else if (first == ".names") {
      if (line.words.size() < 2) wrong(line.number, ".names without a net", ".names inputs... output");
      Cover cover{line.number, line.words.back(), {line.words.begin() + 1, line.words.end() - 1}, {}, true};
      if (!sources_.try_emplace(cover.output, Source{false, covers_.size()}).second)
        wrong(line.number, fmt::format("\"{}\" defined again", shown_name(cover.output)), "each net defined once");
      covers_.push_back(std::move(cover));
      open_ = true;
    } else if (first == ".end") {
      ended_ = true;
    } else if (first == ".latch" || first == ".mlatch") {
      wrong(line.number, first, "a combinational circuit", "only the logic of one step can be read");
    } else {
      wrong(line.number, shown_name(first), ".model, .inputs, .outputs, .names or .end",
            "flatten and map the design first");
    }
  }

  void read_row(const Line& line) {
    if (!open_) wrong(line.number, fmt::format("\"{}\" outside .names", shown_name(line.words[0])), "a keyword");
    Cover& cover = covers_.back();
    const std::size_t wanted = cover.inputs.empty() ? 1 : 2;
    if (line.words.size() != wanted)
      wrong(line.number, fmt::format("{} fields", line.words.size()), fmt::format("{}", wanted));
    const std::string pattern = wanted == 2 ? line.words[0] : "", value = line.words.back();
    if (pattern.size() != cover.inputs.size())
      wrong(line.number, fmt::format("a row of {} columns", pattern.size()),
            fmt::format("{}, one for each input", cover.inputs.size()));
    if (pattern.find_first_not_of("01-") != std::string::npos)
      wrong(line.number, fmt::format("\"{}\"", shown_name(pattern)), "columns of 0, 1 or -");
    if (value != "0" && value != "1") wrong(line.number, fmt::format("output \"{}\"", shown_name(value)), "0 or 1");
    if (!cover.rows.empty() && cover.on != (value == "1"))
      wrong(line.number, "rows for 0 and for 1", "one kind in a cover");
    cover.on = value == "1";
    cover.rows.push_back(pattern);
  }

  // Covers in an order where each comes after what it reads.
  Netlist build() {
    LiteralBuilder builder(netlist_);
    std::vector<Literal> done(covers_.size());
    std::vector<char> state(covers_.size(), 0);  // 0 new, 1 open, 2 done
    for (std::size_t root = 0; root < covers_.size(); ++root) {
      std::vector<std::size_t> stack{root};
      while (!stack.empty()) {
        const std::size_t at = stack.back();
        if (state[at] == 2) {
          stack.pop_back();
        } else if (state[at] == 1) {
          done[at] = literal_of(covers_[at], done, builder);
          state[at] = 2;
        } else {
          state[at] = 1;
          for (const std::string& name : covers_[at].inputs) {
            const Source& source = find(name, covers_[at].line);
            if (source.input || state[source.index] == 2) continue;
            if (state[source.index] == 1)
              wrong(covers_[at].line,
                    fmt::format("a cycle through \"{}\" and \"{}\"", shown_name(covers_[at].output), shown_name(name)),
                    "a combinational circuit");
            stack.push_back(source.index);
          }
        }
      }
    }
    for (const auto& [line, name] : outputs_) {
      const Source& source = find(name, line);
      const Literal literal = source.input ? Literal{static_cast<Net>(source.index), false} : done[source.index];
      netlist_.add_output(name, builder.net(literal));
    }
    return std::move(netlist_);
  }

  struct Source {
    bool input;
    std::size_t index;
  };
  const Source& find(const std::string& name, std::size_t line) const {
    const auto it = sources_.find(name);
    if (it == sources_.end())
      wrong(line, fmt::format("\"{}\", which nothing defines", shown_name(name)), "an input or the output of a .names");
    return it->second;
  }

  // Neighbours are joined first, so that a wide cover is a shallow tree.
  static Literal balanced(Gate gate, std::vector<Literal> operands, Literal none, LiteralBuilder& builder) {
    if (operands.empty()) return none;
    while (operands.size() > 1) {
      std::size_t half = 0;
      for (std::size_t i = 0; i < operands.size(); i += 2)
        operands[half++] = i + 1 < operands.size() ? builder.gate(gate, operands[i], operands[i + 1]) : operands[i];
      operands.resize(half);
    }
    return operands[0];
  }

  // The cover as a sum of products.
  Literal literal_of(const Cover& cover, const std::vector<Literal>& done, LiteralBuilder& builder) {
    std::vector<Literal> inputs;
    for (const std::string& name : cover.inputs) {
      const Source& source = find(name, cover.line);
      inputs.push_back(source.input ? Literal{static_cast<Net>(source.index), false} : done[source.index]);
    }
    if (inputs.size() == 2) {  // any gate: no need to take it apart
      bool value[2][2];
      for (const int u : {0, 1})
        for (const int v : {0, 1}) {
          const auto fits = [&](const std::string& row) {
            return (row[0] == '-' || row[0] - '0' == u) && (row[1] == '-' || row[1] - '0' == v);
          };
          bool hit = false;
          for (const std::string& row : cover.rows) hit = hit || fits(row);
          value[u][v] = hit == cover.on;
        }
      if (cover.rows.empty()) return {kNoNet, false};
      return builder.gate(gate_of_values(value[0][0], value[0][1], value[1][0], value[1][1]), inputs[0], inputs[1]);
    }
    if (cover.rows.empty()) return {kNoNet, false};
    std::vector<Literal> products;
    for (const std::string& row : cover.rows) {
      std::vector<Literal> factors;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] != '-') factors.push_back(inputs[i] ^ (row[i] == '0'));
      products.push_back(balanced(Gate::kAnd, std::move(factors), {kNoNet, true}, builder));
    }
    const Literal sum = balanced(Gate::kOr, std::move(products), {kNoNet, false}, builder);
    return sum ^ !cover.on;
  }

  const std::string& file_;
  std::vector<Line> lines_;
  Netlist netlist_;
  std::unordered_map<std::string, Source> sources_;  // looked up, never iterated over
  std::vector<Cover> covers_;
  std::vector<std::pair<std::size_t, std::string>> outputs_;
  bool model_ = false, open_ = false, ended_ = false;
};

}  // namespace

Netlist import_blif(std::string_view text, const std::string& file) { return Reader(text, file).run(); }

}  // namespace espalier
