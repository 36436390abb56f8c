#include "base/json.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {

using Json = nlohmann::json;

static constexpr std::size_t kMaxShown = 60;

Json parse_json(std::string_view text, std::string_view what) {
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxJsonDepth)
      fail("read JSON", fmt::format("{} nested more than {} deep", what, kMaxJsonDepth), "plain settings");
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check_depth);
  } catch (const Json::parse_error& e) {
    fail("read JSON", fmt::format("{}, which is not JSON from byte {} on", what, e.byte), "JSON text",
         "look for a missing quote, comma or brace there");
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
