// Options as data: every options struct lists its fields once, with name, member, help and range. Flags and their
// help, configuration files, range checks and the keywords of other languages are all made from that list.
// Example:
//   struct Brush {
//     int size = 3;
//     bool round = true;
//   };
//   const auto fields_of = [](Brush& b) {
//     Fields f;
//     f.add("size", b.size, "width in pixels", 1, 100);
//     f.add("round", b.round, "round instead of square");
//     return f;
//   };
//   Brush brush;
//   Fields fields = fields_of(brush);
//   fields.at("size").set_text("5");  // brush.size == 5; "200" is an Error that names the range
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace espalier {

// A field's value outside its struct. Numbers that are whole are integers, all others doubles.
using FieldValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

// One member of an options struct; it holds a pointer to the member, so the struct must stay where it is.
class Field {
 public:
  // How a value that is not a plain number, flag or text is read and written, e.g. a list of layer widths.
  struct Access {
    std::function<std::string()> get;
    std::function<void(const std::string&)> set;  // an Error for a text without meaning
  };
  using Member = std::variant<bool*, int*, std::uint64_t*, float*, double*, std::string*, Access>;

  Field(std::string name, Member member, std::string help, double min, double max, std::vector<std::string> choices);

  const std::string& name() const { return name_; }  // with dashes, e.g. "fire-rate"
  const std::string& help() const { return help_; }
  // Older names that still work, and what stands for the value in a help text ("FILE").
  const std::vector<std::string>& aliases() const { return aliases_; }
  Field& alias(std::string name) {
    aliases_.push_back(std::move(name));
    return *this;
  }
  const std::string& metavar() const { return metavar_; }
  Field& metavar(std::string word) {
    metavar_ = std::move(word);
    return *this;
  }
  const std::vector<std::string>& choices() const { return choices_; }  // empty = any
  enum class Kind { kFlag, kInteger, kNumber, kText };
  Kind kind() const;

  FieldValue value() const;
  // Type, range and choice are checked; an Error says what was expected.
  void set(const FieldValue& value);
  // From text, as a command line has it: somebody has named it.
  void set_text(const std::string& text);
  // For options that must know which of them were chosen, and which are as they were: told when the field is named.
  Field& when_named(std::function<void()> told) {
    told_ = std::move(told);
    return *this;
  }
  void named() const {
    if (told_) told_();
  }
  std::string text() const;

 private:
  void set_value_of(const std::string& text);
  void check_range(double value, const std::string& shown) const;
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const;

  std::string name_, help_;
  Member member_;
  double min_, max_;
  std::vector<std::string> choices_, aliases_ = {};
  std::string metavar_ = {};
  std::function<void()> told_ = {};
};

// Every add() returns the new field until the next add().
class Fields {
 public:
  Field& add(std::string name, bool& member, std::string help);
  Field& add(std::string name, int& member, std::string help, double min, double max);
  Field& add(std::string name, std::uint64_t& member, std::string help, double min, double max);
  Field& add(std::string name, float& member, std::string help, double min, double max);
  Field& add(std::string name, double& member, std::string help, double min, double max);
  Field& add(std::string name, std::string& member, std::string help);
  Field& add(std::string name, Field::Access access, std::string help, std::vector<std::string> choices = {});
  // An enumeration whose values are 0, 1, ... in the order of their names.
  template <class Enum>
  requires std::is_enum_v<Enum> Field& add(std::string name, Enum& member, std::string help,
                                           std::vector<std::string> names) {
    Field::Access access{[&member, names] { return name_at(names, static_cast<std::size_t>(member)); },
                         [&member, names](const std::string& text) { member = static_cast<Enum>(place(names, text)); }};
    return add(std::move(name), std::move(access), std::move(help), std::move(names));
  }
  void append(Fields more);

  std::vector<Field>& list() & { return fields_; }
  const std::vector<Field>& list() const& { return fields_; }
  void list() && = delete;  // fields of a temporary would be gone before they are looked at
  Field* find(std::string_view name);
  Field& at(std::string_view name);  // an Error that names the nearest one for an unknown name

 private:
  static std::string name_at(const std::vector<std::string>& names, std::size_t place);  // an Error beyond the last
  static std::size_t place(const std::vector<std::string>& names, const std::string& text);
  std::vector<Field> fields_;
};

// The same options, every value in its range, or an Error: for options that were not set through their fields.
template <class Options>
Options checked(Options options) {
  Fields fields = fields_of(options);
  for (Field& field : fields.list()) field.set(field.value());
  return options;
}

// The word of a list that is meant by another: one that other tools have for it, or the nearest by edits; or none.
std::string nearest_word(std::string_view word, std::span<const std::string> words);

}  // namespace espalier
