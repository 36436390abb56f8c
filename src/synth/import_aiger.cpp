// AIGER, ascii ("aag", ANDs in any order) and binary ("aig", ANDs in order, written as differences).
#include <fmt/format.h>

#include <charconv>

#include "espalier/error.hpp"
#include "synth/formats.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kMaxVariables = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxInputs = std::uint64_t{1} << 20;  // of a binary file, where an input takes no room

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file) : all_(bytes), file_(file) {}

  Netlist run() {
    read_header();
    Netlist n;
    for (std::uint64_t i = 0; i < I_; ++i) n.inputs.push_back(fmt::format("i{}", i));
    net_of_variable_.assign(M_ + 1, kNoNet);
    if (binary_)
      read_binary(n);
    else
      read_ascii(n);
    add_outputs(n);
    read_symbols(n);
    return sort_netlist(n, file_, false, [&](std::size_t gate) {
      return gate < and_lines_.size() ? fmt::format("the AND on line {}", and_lines_[gate])
                                      : fmt::format("AND {}", gate);
    });
  }

 private:
  [[noreturn]] void wrong(const std::string& got, const std::string& expected, const char* hint = "") const {
    const std::string place = in_bytes_ ? fmt::format("{}, byte {}", file_, at_) : fmt::format("{}:{}", file_, line_);
    fail(place, got, expected, hint);
  }

  std::string_view next_line() {
    if (at_ >= all_.size()) wrong("the end of the file", "more lines", "the file is cut short");
    const std::size_t end = std::min(all_.find('\n', at_), all_.size());
    const std::string_view line = all_.substr(at_, end - at_);
    at_ = std::min(end + 1, all_.size());
    ++line_;
    return line;
  }

  // `count` whole numbers separated by one blank.
  std::vector<std::uint64_t> numbers(std::string_view line, std::size_t least, std::size_t most) {
    std::vector<std::uint64_t> values;
    const char *from = line.data(), *to = from + line.size();
    if (to != from && to[-1] == '\r') --to;
    while (from < to) {
      std::uint64_t value = 0;
      const auto [rest, error] = std::from_chars(from, to, value);
      if (error != std::errc{} || (rest < to && *rest != ' ') || values.size() == most || value > 2 * kMaxVariables + 1)
        wrong(fmt::format("\"{}\"", printable(line)), fmt::format("{} numbers up to {}", most, 2 * kMaxVariables + 1));
      values.push_back(value);
      from = rest < to ? rest + 1 : rest;
    }
    if (values.size() < least) wrong(fmt::format("\"{}\"", printable(line)), fmt::format("{} numbers", least));
    return values;
  }
  static std::string printable(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, 40)) result += c >= ' ' && c < 127 ? c : '?';
    return result;
  }

  void read_header() {
    const std::string_view line = next_line();
    binary_ = line.starts_with("aig ");
    if (!binary_ && !line.starts_with("aag "))
      wrong(fmt::format("\"{}\"", printable(line)), "aag or aig and five numbers");
    const std::vector<std::uint64_t> h = numbers(line.substr(4), 5, 9);
    M_ = h[0], I_ = h[1], O_ = h[3], A_ = h[4];
    if (h[2] != 0)
      wrong(fmt::format("{} latches", h[2]), "a combinational circuit", "only the logic of one step can be read");
    for (std::size_t i = 5; i < h.size(); ++i)
      if (h[i]) wrong("properties or constraints", "a plain circuit of inputs, ANDs and outputs");
    if (M_ > kMaxVariables || I_ + A_ > M_ || (binary_ && I_ + A_ != M_))
      wrong(fmt::format("{} variables for {} inputs and {} ANDs", M_, I_, A_),
            "at least as many, in a binary file just as many");
    // Every line or code that the header promises takes two bytes or more.
    const std::uint64_t promised = (binary_ ? 0 : I_) + O_ + A_;
    if (promised * 2 > all_.size() + 2 || (binary_ && I_ > kMaxInputs) || M_ > 64 * all_.size() + kMaxInputs)
      wrong(fmt::format("{} inputs, {} outputs, {} ANDs in {} bytes", I_, O_, A_, all_.size()),
            "a file that holds them", "the file is cut short");
  }

  void define(std::uint64_t literal, Net net, const char* what) {
    if (literal < 2 || literal & 1 || literal / 2 > M_)
      wrong(fmt::format("{} {}", what, literal), fmt::format("an even literal from 2 to {}", 2 * M_));
    if (net_of_variable_[literal / 2] != kNoNet)
      wrong(fmt::format("{} {} defined again", what, literal), "each variable defined once");
    net_of_variable_[literal / 2] = net;
  }

  void read_ascii(Netlist& n) {
    for (std::uint64_t i = 0; i < I_; ++i) define(numbers(next_line(), 1, 1)[0], static_cast<Net>(i), "input");
    read_outputs();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> operands;
    for (std::uint64_t i = 0; i < A_; ++i) {
      const std::vector<std::uint64_t> v = numbers(next_line(), 3, 3);
      define(v[0], static_cast<Net>(I_ + i), "AND");
      operands.emplace_back(v[1], v[2]);
      and_lines_.push_back(line_);
    }
    const std::size_t last = line_;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      line_ = and_lines_[i];
      n.gates.push_back(and_gate(operands[i].first, operands[i].second));
    }
    line_ = last;
  }

  void read_binary(Netlist& n) {
    for (std::uint64_t v = 1; v <= M_; ++v) net_of_variable_[v] = static_cast<Net>(v - 1);
    read_outputs();
    in_bytes_ = true;
    for (std::uint64_t i = 0; i < A_; ++i) {
      const std::uint64_t own = 2 * (I_ + 1 + i), first = delta();
      if (first == 0 || first > own)
        wrong(fmt::format("a difference of {} for AND {}", first, own), "an operand below the AND itself");
      const std::uint64_t high = own - first, second = delta();
      if (second > high)
        wrong(fmt::format("a difference of {} for AND {}", second, own), "an operand that is not negative");
      n.gates.push_back(and_gate(high, high - second));
    }
    in_bytes_ = false;
  }

  std::uint64_t delta() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (at_ >= all_.size()) wrong("the end of the file", "more ANDs", "the file is cut short");
      const auto byte = static_cast<unsigned char>(all_[at_++]);
      value |= std::uint64_t{byte & 127u} << shift;
      if (!(byte & 128)) return value;
    }
    wrong("a difference of more than five bytes", "a 32-bit number");
  }

  void read_outputs() {
    for (std::uint64_t o = 0; o < O_; ++o) {
      outputs_.push_back(numbers(next_line(), 1, 1)[0]);
      output_lines_.push_back(line_);
    }
  }

  Net net(std::uint64_t literal) const {
    if (literal > 2 * M_ + 1) wrong(fmt::format("literal {}", literal), fmt::format("at most {}", 2 * M_ + 1));
    const Net found = net_of_variable_[literal / 2];
    if (found == kNoNet) wrong(fmt::format("literal {}, which nothing defines", literal), "an input or an AND");
    return found;
  }

  NetlistGate and_gate(std::uint64_t x, std::uint64_t y) const {
    if (x < 2 || y < 2) {  // a constant operand
      const std::uint64_t constant = x < 2 ? x : y, other = x < 2 ? y : x;
      if (constant == 0 || other == 0) return {Gate::kFalse, 0, 0};
      if (other == 1) return {Gate::kTrue, 0, 0};
      return {other & 1 ? Gate::kNotA : Gate::kA, net(other), net(other)};
    }
    constexpr Gate kTypes[2][2] = {{Gate::kAnd, Gate::kAAndNotB}, {Gate::kNotAAndB, Gate::kNor}};
    return {kTypes[x & 1][y & 1], net(x), net(y)};
  }

  void add_outputs(Netlist& n) {
    const std::size_t last = line_;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      line_ = output_lines_[o];
      const std::uint64_t literal = outputs_[o];
      const std::string name = fmt::format("o{}", o);
      if (literal < 2)
        n.add_output(name, n.add_constant(literal == 1));
      else if (literal & 1)
        n.add_output(name, n.add_gate(Gate::kNotA, net(literal), net(literal)));
      else
        n.add_output(name, net(literal));
    }
    line_ = last;
  }

  void read_symbols(Netlist& n) {
    while (at_ < all_.size()) {
      const std::string_view line = next_line();
      if (line == "c" || line == "c\r") return;
      if (line.empty()) wrong("an empty line", "a symbol or a comment");
      const std::size_t blank = line.find(' ');
      std::uint64_t index = 0;
      const auto [rest, error] = std::from_chars(line.data() + 1, line.data() + std::min(blank, line.size()), index);
      const std::size_t most = line[0] == 'i' ? n.inputs.size() : line[0] == 'o' ? n.outputs.size() : 0;
      if (blank == std::string_view::npos || error != std::errc{} || rest != line.data() + blank || index >= most)
        wrong(fmt::format("symbol \"{}\"", printable(line)),
              fmt::format("i and a number below {}, or o and one below {}, and a name", I_, O_));
      std::string name(line.substr(blank + 1));
      if (!name.empty() && name.back() == '\r') name.pop_back();
      (line[0] == 'i' ? n.inputs[index] : n.outputs[index].name) = name;
    }
  }

  std::string_view all_;
  const std::string& file_;
  std::size_t at_ = 0, line_ = 0;
  bool binary_ = false, in_bytes_ = false;
  std::uint64_t M_ = 0, I_ = 0, O_ = 0, A_ = 0;
  std::vector<Net> net_of_variable_;
  std::vector<std::uint64_t> outputs_;
  std::vector<std::size_t> output_lines_, and_lines_;
};

}  // namespace

Netlist import_aiger(std::string_view bytes, const std::string& file) { return Reader(bytes, file).run(); }

}  // namespace espalier
