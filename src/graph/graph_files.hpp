// Which files have graphs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier {

// The graphs of a folder in the order of their names; a file stands for itself.
std::vector<std::string> graph_files(const std::string& path);

using FilePairs = std::vector<std::pair<std::string, std::string>>;
// From the columns first and second of a CSV file; the paths begin at its folder.
FilePairs listed_pairs(const std::string& csv);

}  // namespace espalier
