// What must not be lost when a file is written: the files of runs, and files that nobody named.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// What the first line of a file says that is written beside another, and so may be replaced with it.
inline constexpr std::string_view kWrittenByUs = "Written by espalier";

// Before a file is written that somebody named: an Error where it is one of a run's own.
void check_named_output(std::string_view op, const std::string& path);
// Before one is written that nobody named: an Error also where there is a file already, unless its first line has
// `mark`. An empty mark: whatever is there.
void check_unnamed_output(std::string_view op, const std::string& path, std::string_view mark = kWrittenByUs);

}  // namespace espalier
