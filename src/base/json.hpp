// JSON text from files: one strict way to read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace espalier {

// Nothing we read is nested deeper; printing or copying a value recurses, so depth must have a limit.
inline constexpr int kMaxJsonDepth = 64;

// An Error names `what` and the byte where the text stops being JSON, or is nested too deeply.
nlohmann::json parse_json(std::string_view text, std::string_view what);
// Where text ends being JSON for sure: at a zero byte, which the library takes for the end of its input, or at its end.
std::size_t find_json_end(std::string_view text);

// A value for an error message: short, one line, and arrays and objects only by their kind.
std::string shown_json(const nlohmann::json& value);
// A name out of a file for an error message: in quotes, shortened, with control characters escaped.
std::string in_quotes(std::string_view text);

}  // namespace espalier
