#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"

namespace espalier {

using Json = nlohmann::json;

static constexpr std::size_t kMaxShown = 60;

namespace {

// Stops at the first bracket that is too deep. A pass of its own: the library's parser with a callback looks through a
// list again after each of its objects, which is quadratic in the length of the list.
class DepthCheck : public nlohmann::json_sax<Json> {
 public:
  bool too_deep() const { return depth_ > kMaxJsonDepth; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool deeper() {
    ++depth_;
    return !too_deep();
  }

  int depth_ = 0;
};

}  // namespace

std::size_t find_json_end(std::string_view text) { return std::min(text.find('\0'), text.size()); }

Json parse_json(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::size_t byte) {
    fail("read JSON", fmt::format("{}, which is not JSON from byte {} on", what, byte), "JSON text",
         "look for a missing quote, comma or brace there");
  };
  if (const std::size_t end = find_json_end(text); end < text.size()) refuse(end + 1);
  DepthCheck depth;
  if (!Json::sax_parse(text.begin(), text.end(), &depth) && depth.too_deep())
    fail("read JSON", fmt::format("{} nested more than {} deep", what, kMaxJsonDepth), "plain settings");
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& e) {
    refuse(e.byte);
    throw;
  } catch (const Json::exception&) {
    fail("read JSON", fmt::format("{} with a number that is out of range", what), "numbers that a double can hold");
  }
}

std::string shown_json(const Json& value) {
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return fmt::format("an object of {}", value.size());
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > kMaxShown ? text.substr(0, kMaxShown) + "..." : text;
}

std::string in_quotes(std::string_view text) {
  const std::string shown(text.substr(0, kMaxShown));
  return Json(shown).dump(-1, ' ', true, Json::error_handler_t::replace) + (text.size() > kMaxShown ? "..." : "");
}

}  // namespace espalier
