// Graphs from files of any kind, and which files have them.
#include "graph/graph_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/table.hpp"

namespace espalier {

namespace fs = std::filesystem;

LabelledGraph read_graph(const std::string& path, GxlAttributes* attributes) {
  const std::string text = read_text(path);
  if (path.ends_with(".json")) return graph_from_json(text, path);
  if (path.ends_with(".gxl") || path.ends_with(".xml")) return graph_from_gxl(text, path, attributes);
  fail("read graph", fmt::format("\"{}\"", path), "a file that ends in .json, .gxl or .xml");
}

std::vector<std::string> graph_files(const std::string& path) {
  if (!is_folder(path)) return {path};
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const fs::directory_entry& entry = *it;
    const std::string ending = entry.path().extension().string();
    std::error_code ignored;
    if (entry.is_regular_file(ignored) && (ending == ".json" || ending == ".gxl" || ending == ".xml"))
      files.push_back(entry.path().string());
  }
  if (error) fail_errno("read folder", path, error.value());
  std::sort(files.begin(), files.end());
  if (files.empty()) fail("ged", fmt::format("{} without a graph", path), "a folder of .json, .gxl or .xml files");
  return files;
}

FilePairs listed_pairs(const std::string& csv) {
  const CsvTable table = parse_csv(read_text(csv), csv);
  for (const char* name : {"first", "second"})
    if (std::ranges::find(table.header, name) == table.header.end())
      fail("ged", fmt::format("no column \"{}\" in {}", name, csv), "the columns first and second",
           fmt::format("the file has {}", fmt::join(table.header, ", ")));
  const std::size_t first = table.column("first"), second = table.column("second");
  const fs::path folder = fs::path(csv).parent_path();
  FilePairs pairs;
  for (const auto& row : table.rows)
    pairs.emplace_back((folder / row[first]).string(), (folder / row[second]).string());
  return pairs;
}

}  // namespace espalier
