#include <algorithm>
#include <map>

#include "espalier/edit_distance.hpp"

namespace espalier {
namespace {

using Colours = std::vector<std::uint32_t>;

// One number per different text, the same for both graphs.
class Palette {
 public:
  std::uint32_t colour(const std::string& text) {
    return numbers_.emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

// A node's new colour: its own, then what it sees along its edges (way, label, colour there), sorted.
Colours refine(const LabelledGraph& g, const Colours& before, Palette& palette) {
  std::vector<std::vector<std::string>> seen(before.size());
  for (const LabelledEdge& e : g.edges) {
    seen[e.from].push_back(">" + e.label + "\x1f" + std::to_string(before[e.to]));
    seen[e.to].push_back((g.directed ? "<" : ">") + e.label + "\x1f" + std::to_string(before[e.from]));
  }
  Colours after;
  for (std::size_t v = 0; v < before.size(); ++v) {
    std::sort(seen[v].begin(), seen[v].end());
    std::string text = std::to_string(before[v]);
    for (const std::string& s : seen[v]) text += "\x1e" + s;
    after.push_back(palette.colour(text));
  }
  return after;
}

double multiset_jaccard(Colours a, Colours b) {
  if (a.empty() && b.empty()) return 1;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Colours common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size() - common.size());
}

}  // namespace

double wl_similarity(const LabelledGraph& a, const LabelledGraph& b, int rounds) {
  a.check();
  b.check();
  Palette labels;
  Colours x, y;
  for (const std::string& l : a.labels) x.push_back(labels.colour(l));
  for (const std::string& l : b.labels) y.push_back(labels.colour(l));
  double sum = 0, weights = 0;
  for (int i = 0; i <= rounds; ++i) {
    const double weight = 1.0 / (1 + i);
    sum += weight * multiset_jaccard(x, y);
    weights += weight;
    Palette palette;
    x = refine(a, x, palette);
    y = refine(b, y, palette);
  }
  return sum / weights;
}

}  // namespace espalier
