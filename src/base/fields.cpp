#include "espalier/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "espalier/error.hpp"

namespace espalier {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// The shortest decimal that is this float: 0.1f is written as 0.1, not as 0.10000000149011612.
double as_written(float value) {
  double wide = 0;
  const std::string text = fmt::format("{}", value);
  std::from_chars(text.data(), text.data() + text.size(), wide);
  return wide;
}

// Whole text as a number, or false.
template <class Number>
bool parse(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A bound of an integer as people write it; 2^64 stands for the largest number below it.
std::string whole_text(double bound) {
  if (bound >= 0x1p64) return fmt::format("{}", std::numeric_limits<std::uint64_t>::max());
  return bound < 0 ? fmt::format("{}", static_cast<std::int64_t>(bound))
                   : fmt::format("{}", static_cast<std::uint64_t>(bound));
}

// "1e6" is a whole number, too.
std::optional<double> parse_power(const std::string& text) {
  double value = 0;
  if (text.find_first_of("eE") == std::string::npos || !parse(text, value) || value != std::trunc(value))
    return std::nullopt;
  return value;
}

std::size_t edit_distance_of_words(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

namespace {

// Words for the same thing, ours and those of other tools.
constexpr std::string_view kSynonyms[] = {
    " lr learning-rate learningrate eta step-size alpha ",
    " train-steps epochs epoch iterations iters max-iter max-iters max-steps max-epochs num-epochs n-epochs num-steps"
    " training-steps steps ",
    " batch batch-size batchsize bs minibatch minibatch-size ",
    " out output output-dir outdir out-dir output-file save-dir logdir log-dir save o ",
    " threads jobs workers num-workers n-jobs cores cpus nproc num-threads n-threads j ",
    " quiet silent no-progress ",
    " seed random-seed random-state rng-seed ",
    " weight-decay l2 wd ",
    " clip-norm grad-clip gradient-clip clip max-grad-norm clip-grad ",
    " optimizer optim solver ",
    " validation-fraction val-split validation-split val-fraction ",
    " test-fraction test-split test-size ",
    " eval-every eval-interval log-every log-interval ",
    " hidden hidden-size hidden-units hidden-layers hidden-layer-sizes ",
    " layers num-layers n-layers ",
    " resume continue ",
    " force overwrite ",
    " size board-size grid-size ",
    " seconds timeout time-limit max-seconds max-time ",
    " to format ",
};

// Without the dashes of an option, and with those of a name.
std::string bare(std::string_view word) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string synonym(const std::string& word, std::span<const std::string> words) {
  for (const std::string_view group : kSynonyms) {
    if (group.find(fmt::format(" {} ", word)) == std::string_view::npos) continue;
    for (const std::string& candidate : words)
      if (group.find(fmt::format(" {} ", bare(candidate))) != std::string_view::npos) return candidate;
  }
  return "";
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> words) {
  const std::string given = bare(word);
  std::string nearest = synonym(given, words);
  if (!nearest.empty()) return nearest;
  // What has to be changed more than that is another word.
  std::size_t least = (given.size() <= 3 ? 1 : std::max<std::size_t>(2, given.size() / 3)) + 1;
  for (const std::string& candidate : words) {
    const std::string name = bare(candidate);
    // A word that was not typed to its end is as good as one with a slip in it.
    const bool begun = given.size() >= 4 && name.size() > given.size() && name.starts_with(given);
    const std::size_t distance = begun ? 1 : edit_distance_of_words(given, name);
    if (distance < least && distance < std::max(given.size(), name.size())) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

Field::Field(std::string name, Member member, std::string help, double min, double max,
             std::vector<std::string> choices)
    : name_(std::move(name)),
      help_(std::move(help)),
      member_(std::move(member)),
      min_(min),
      max_(max),
      choices_(std::move(choices)) {
  const bool whole = std::visit(Overloaded{[](const Access& access) { return access.get && access.set; },
                                           [](const auto* member) { return member != nullptr; }},
                                member_);
  if (!whole) fail("option " + name_, "nothing that holds its value", "a member, or how to get and to set it");
}

Field::Kind Field::kind() const {
  return std::visit(Overloaded{[](bool*) { return Kind::kFlag; }, [](int*) { return Kind::kInteger; },
                               [](std::uint64_t*) { return Kind::kInteger; }, [](float*) { return Kind::kNumber; },
                               [](double*) { return Kind::kNumber; }, [](std::string*) { return Kind::kText; },
                               [](const Access&) { return Kind::kText; }},
                    member_);
}

FieldValue Field::value() const {
  return std::visit(
      Overloaded{[](bool* m) -> FieldValue { return *m; }, [](int* m) -> FieldValue { return std::int64_t{*m}; },
                 [](std::uint64_t* m) -> FieldValue { return *m; },
                 [](float* m) -> FieldValue { return as_written(*m); }, [](double* m) -> FieldValue { return *m; },
                 [](std::string* m) -> FieldValue { return *m; },
                 [](const Access& a) -> FieldValue { return a.get(); }},
      member_);
}

std::string Field::text() const {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, bool>)
          return std::string(v ? "true" : "false");
        else
          return fmt::format("{}", v);
      },
      value());
}

void Field::refuse(const std::string& got, const std::string& expected) const { fail(name_, got, expected); }

void Field::check_range(double value, const std::string& shown) const {
  if (value >= min_ && value <= max_) return;
  if (kind() == Kind::kInteger) refuse(shown, whole_text(min_) + " to " + whole_text(max_));
  refuse(shown, fmt::format("{:g} to {:g}", min_, max_));
}

void Field::set(const FieldValue& value) {
  const auto shown = std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
  const auto integer = [&](auto* member) {
    std::visit(Overloaded{[&](std::int64_t v) {
                            check_range(static_cast<double>(v), shown);
                            *member = static_cast<std::decay_t<decltype(*member)>>(v);
                          },
                          [&](std::uint64_t v) {
                            check_range(static_cast<double>(v), shown);
                            *member = static_cast<std::decay_t<decltype(*member)>>(v);
                          },
                          [&](const auto&) { refuse(shown, "a whole number"); }},
               value);
  };
  const auto number = [&](auto* member) {
    const double v =
        std::visit(Overloaded{[](double x) { return x; }, [](std::int64_t x) { return static_cast<double>(x); },
                              [](std::uint64_t x) { return static_cast<double>(x); },
                              [&](const auto&) -> double { refuse(shown, "a number"); }},
                   value);
    check_range(v, shown);
    *member = static_cast<std::decay_t<decltype(*member)>>(v);
  };
  const auto text = [&]() -> const std::string& {
    const auto* t = std::get_if<std::string>(&value);
    if (!t) refuse(shown, "text");
    if (!choices_.empty() && std::ranges::find(choices_, *t) == choices_.end())
      refuse(fmt::format("\"{}\"", *t), fmt::format("one of {}", fmt::join(choices_, ", ")));
    return *t;
  };
  std::visit(Overloaded{[&](bool* m) {
                          const auto* b = std::get_if<bool>(&value);
                          if (!b) refuse(shown, "true or false");
                          *m = *b;
                        },
                        [&](int* m) { integer(m); }, [&](std::uint64_t* m) { integer(m); },
                        [&](float* m) { number(m); }, [&](double* m) { number(m); },
                        [&](std::string* m) { *m = text(); }, [&](const Access& a) { a.set(text()); }},
             member_);
}

void Field::set_text(const std::string& text) {
  set_value_of(text);
  named();
}

void Field::set_value_of(const std::string& text) {
  switch (kind()) {
    case Kind::kFlag:
      if (text != "true" && text != "false") refuse(fmt::format("\"{}\"", text), "true or false");
      return set(text == "true");
    case Kind::kInteger: {
      std::int64_t small = 0;
      std::uint64_t large = 0;
      if (parse(text, small)) return set(small);
      if (parse(text, large)) return set(large);
      const auto power = parse_power(text);
      if (power && std::abs(*power) <= 0x1p53) return set(static_cast<std::int64_t>(*power));
      // Digits alone, but more than fit.
      const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
      const bool too_many = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
      if (too_many || (power && (*power < min_ || *power > max_)))
        refuse(text, whole_text(min_) + " to " + whole_text(max_));
      if (power) refuse(text, "a whole number in digits");  // a double does not hold every one as large as that
      refuse(fmt::format("\"{}\"", text), "a whole number");
    }
    case Kind::kNumber: {
      double value = 0;
      if (!parse(text, value) || !std::isfinite(value)) refuse(fmt::format("\"{}\"", text), "a number");
      return set(value);
    }
    case Kind::kText: return set(text);
  }
}

Field& Fields::add(std::string name, bool& member, std::string help) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), 0, 1, std::vector<std::string>{});
}
Field& Fields::add(std::string name, int& member, std::string help, double min, double max) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), min, max, std::vector<std::string>{});
}
Field& Fields::add(std::string name, std::uint64_t& member, std::string help, double min, double max) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), min, max, std::vector<std::string>{});
}
Field& Fields::add(std::string name, float& member, std::string help, double min, double max) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), min, max, std::vector<std::string>{});
}
Field& Fields::add(std::string name, double& member, std::string help, double min, double max) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), min, max, std::vector<std::string>{});
}
Field& Fields::add(std::string name, std::string& member, std::string help) {
  return fields_.emplace_back(std::move(name), &member, std::move(help), 0, 0, std::vector<std::string>{});
}
Field& Fields::add(std::string name, Field::Access access, std::string help, std::vector<std::string> choices) {
  return fields_.emplace_back(std::move(name), std::move(access), std::move(help), 0, 0, std::move(choices));
}

void Fields::append(Fields more) {
  for (Field& field : more.fields_) fields_.push_back(std::move(field));
}

Field* Fields::find(std::string_view name) {
  const auto found = std::ranges::find_if(fields_, [&](const Field& f) {
    return f.name() == name || std::ranges::find(f.aliases(), name) != f.aliases().end();
  });
  return found == fields_.end() ? nullptr : &*found;
}

Field& Fields::at(std::string_view name) {
  if (Field* field = find(name)) return *field;
  std::vector<std::string> names;
  for (const Field& f : fields_) names.push_back(f.name());
  const std::string nearest = nearest_word(name, names);
  fail(
      "options", fmt::format("\"{}\"", name), "the name of an option",
      nearest.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", nearest));
}

std::string Fields::name_at(const std::vector<std::string>& names, std::size_t place) {
  if (place >= names.size())
    fail("options", fmt::format("value {} of an enumeration", place), fmt::format("one of {}", fmt::join(names, ", ")));
  return names[place];
}

std::size_t Fields::place(const std::vector<std::string>& names, const std::string& text) {
  return static_cast<std::size_t>(std::ranges::find(names, text) - names.begin());  // set() has checked the choice
}

}  // namespace espalier
