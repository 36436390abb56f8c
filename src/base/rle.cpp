#include "base/rle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/pattern.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxRun = 1'000'000'000;  // far beyond any side, far below an overflow of sums

class RleReader {
 public:
  RleReader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  RlePattern read() {
    read_header();
    while (!over_) {
      if (text_.empty()) refuse("no closing !", "a ! after the last cell", "the file is cut short");
      next_line();
      if (!line_.starts_with('#')) read_runs();
    }
    return std::move(pattern_);
  }

 private:
  [[noreturn]] void refuse(std::string_view got, std::string_view expected, std::string_view hint = {}) const {
    fail("read RLE", fmt::format("{} in {}, line {}", got, what_, number_), expected, hint);
  }

  void next_line() {
    line_ = trimmed(take_line(text_));
    ++number_;
  }

  void read_header() {
    std::string_view rule;
    do {
      if (text_.empty())
        refuse("no header", "a line like: x = 3, y = 3, rule = B3/S23", "is it a pattern in run-length encoding?");
      next_line();
      if (line_.starts_with("#r")) rule = trimmed(line_.substr(2));
    } while (line_.empty() || line_.starts_with('#'));
    pattern_.width = side('x');
    if (!line_.starts_with(',')) refuse("no height", "x = WIDTH, y = HEIGHT");
    line_ = trimmed(line_.substr(1));
    pattern_.height = side('y');
    if (line_.starts_with(',')) {
      line_ = trimmed(line_.substr(1));
      if (!line_.starts_with("rule")) refuse("a header that goes on without a rule", "rule = ...");
      line_ = trimmed(line_.substr(4));
      if (!line_.starts_with('=')) refuse("a rule without =", "rule = ...");
      rule = trimmed(line_.substr(1));
    } else if (!line_.empty()) {
      refuse("more in the header than a size", "x = WIDTH, y = HEIGHT, rule = RULE");
    }
    constexpr std::size_t kMaxRuleBytes = 1000;
    if (rule.size() > kMaxRuleBytes ||
        std::any_of(rule.begin(), rule.end(), [](char c) { return c < ' ' || c == 127; }))
      refuse("a rule that is too long or cannot be printed", "a name of at most 1000 plain characters");
    pattern_.rule = rule;
    pattern_.cells.resize(static_cast<std::size_t>(pattern_.height) * static_cast<std::size_t>(pattern_.width));
  }

  // "x = 3" off the line.
  int side(char name) {
    std::string_view rest = line_;
    int value = 0;
    if (rest.starts_with(name)) {
      rest = trimmed(rest.substr(1));
      if (rest.starts_with('=')) {
        rest = trimmed(rest.substr(1));
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (error == std::errc() && value >= 1 && value <= kMaxPatternSide) {
          line_ = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
          return value;
        }
      }
    }
    refuse(fmt::format("no size {} that can be read", name), fmt::format("{} = 1 to {}", name, kMaxPatternSide),
           "is it a pattern in run-length encoding?");
  }

  void read_runs() {
    for (std::size_t i = 0; i < line_.size() && !over_; ++i) {
      const char c = line_[i];
      if (c == ' ' || c == '\t') continue;
      if (c >= '0' && c <= '9') {
        count_ = count_ * 10 + static_cast<std::size_t>(c - '0');
        if (count_ > kMaxRun) refuse("a count of more than 1000000000", "a shorter run");
        continue;
      }
      const std::size_t run = std::max<std::size_t>(1, count_);
      if (c == '!') {
        over_ = true;
      } else if (c == '$') {
        row_ += run;
        column_ = 0;
      } else if (c == 'b' || c == '.') {
        column_ += run;
      } else if (c == 'o' || c == 'A') {
        put(run);
      } else if ((c >= 'B' && c <= 'X') || (c >= 'p' && c <= 'y')) {  // p to y begin the states beyond X
        refuse(fmt::format("{}, a state beyond 1", shown(c)), "cells that are off (b or .) or on (o or A)",
               "the pattern belongs to a rule with more than two states, which cannot be run here");
      } else {
        refuse(shown(c), "cells as b o . A, ends of rows as $, and ! at the end");
      }
      count_ = 0;
    }
  }

  void put(std::size_t run) {
    const auto width = static_cast<std::size_t>(pattern_.width);
    if (row_ >= static_cast<std::size_t>(pattern_.height) || column_ + run > width)
      refuse(fmt::format("a living cell at row {}, column {}", row_ + 1, column_ + run),
             fmt::format("{} rows of {} cells, as the header says", pattern_.height, pattern_.width));
    std::fill_n(pattern_.cells.begin() + static_cast<std::ptrdiff_t>(row_ * width + column_), run, std::uint8_t{1});
    column_ += run;
  }

  std::string_view text_, what_, line_;
  std::size_t number_ = 0, count_ = 0, row_ = 0, column_ = 0;
  bool over_ = false;
  RlePattern pattern_;
};

}  // namespace

RlePattern parse_rle(std::string_view text, std::string_view what) { return RleReader(text, what).read(); }

bool is_rle(std::string_view text) {
  std::string_view line;
  do {
    if (text.empty()) return false;
    line = trimmed(take_line(text));
  } while (line.empty() || line.starts_with('#'));
  return line.starts_with('x') && trimmed(line.substr(1)).starts_with('=');
}

}  // namespace espalier
