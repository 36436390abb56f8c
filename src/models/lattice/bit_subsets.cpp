#include "models/lattice/bit_subsets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace espalier {
namespace {

constexpr int kMaxReads = 12;
constexpr std::size_t kLookAheadCells = 2048;  // for sets of bits that tell nothing one by one
constexpr double kLookAheadWork = 1.5e7;       // cells times sets, at most

// Chooses the bits for one bit of the target, on a sample, by the conditional entropy of the target: unlike the number
// of wrong cells it falls with every bit that tells something.
class Chooser {
 public:
  Chooser(const BoardCases& cases, std::span<const PatchCase> some, int target)
      : inputs_(kPatch * cases.start_channels), columns_(inputs_) {
    for (const PatchCase& c : some) {
      if (c.next == BoardCases::kRareNext) continue;
      times_.push_back(c.times);
      target_.push_back(cases.nexts[c.next] >> target & 1);
      for (int p = 0; p < kPatch; ++p)
        for (int channel = 0; channel < cases.start_channels; ++channel)
          columns_[p * cases.start_channels + channel].push_back(cases.states[c.cells[p]] >> channel & 1);
      cells_ += c.times;
    }
    // Sorted cases are no random order: those looked ahead on are spread evenly.
    const std::size_t stride = std::max<std::size_t>(1, times_.size() / kLookAheadCells);
    for (std::size_t i = 0; i < times_.size(); i += stride) spread_.push_back(static_cast<std::uint32_t>(i));
    every_.resize(times_.size());
    for (std::size_t i = 0; i < every_.size(); ++i) every_[i] = static_cast<std::uint32_t>(i);
  }

  std::vector<int> choose(bool thorough) {
    double best = cost({}, every_);
    while (static_cast<int>(chosen_.size()) < kMaxReads && best > floor()) {
      std::vector<int> added = best_single(best);
      for (int size = 2; thorough && added.empty() && size <= 4; ++size) added = best_set(size, best);
      if (added.empty()) break;
      for (const int bit : added) read(bit);
      best = cost({}, every_);
    }
    drop_needless(best);
    std::ranges::sort(chosen_);
    return chosen_;
  }

 private:
  // What the smallest table costs: nothing below it can be gained.
  double floor() const { return leaf_bits() * 2; }
  double leaf_bits() const { return 0.5 * std::log2(static_cast<double>(cells_) + 1); }

  // Bits to say the target when `more` are read, too.
  double cost(std::span<const int> more, std::span<const std::uint32_t> some) {
    const std::size_t leaves = std::size_t{1} << (chosen_.size() + more.size());
    counts_.assign(2 * leaves, 0);
    for (const std::uint32_t i : some) {
      std::size_t leaf = leaf_.empty() ? 0 : leaf_[i];
      for (const int bit : more) leaf = 2 * leaf + columns_[bit][i];
      counts_[2 * leaf + target_[i]] += times_[i];
    }
    double bits = 0;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      const double zeros = counts_[2 * leaf], ones = counts_[2 * leaf + 1], n = zeros + ones;
      if (n > 0) bits += n * entropy_bits(ones / n) + leaf_bits();
    }
    return bits + std::log2(inputs_) * static_cast<double>(chosen_.size() + more.size());
  }

  std::vector<int> best_single(double& best) {
    std::vector<int> found;
    for (int bit = 0; bit < inputs_; ++bit) {
      if (std::ranges::count(chosen_, bit) > 0) continue;
      const int one[1] = {bit};
      if (const double bits = cost(one, every_); bits < best) {
        best = bits;
        found = {bit};
      }
    }
    return found;
  }

  std::vector<int> best_set(int size, double best) {
    double sets = 1;
    for (int i = 0; i < size; ++i) sets *= static_cast<double>(inputs_ - i) / (i + 1);
    if (sets * static_cast<double>(spread_.size()) > kLookAheadWork || inputs_ < size ||
        static_cast<int>(chosen_.size()) + size > kMaxReads)
      return {};
    std::vector<int> set(size), found;
    double least = cost({}, spread_);
    const auto visit = [&](auto&& self, int depth, int first) -> void {
      if (depth == size) {
        if (const double bits = cost(set, spread_); bits < least) {
          least = bits;
          found = set;
        }
        return;
      }
      for (int bit = first; bit < inputs_; ++bit) {
        if (std::ranges::count(chosen_, bit) > 0) continue;
        set[depth] = bit;
        self(self, depth + 1, bit + 1);
      }
    };
    visit(visit, 0, 0);
    if (!found.empty() && cost(found, every_) >= best) found.clear();
    return found;
  }

  void read(int bit) {
    if (leaf_.empty()) leaf_.assign(times_.size(), 0);
    for (std::size_t i = 0; i < leaf_.size(); ++i) leaf_[i] = 2 * leaf_[i] + columns_[bit][i];
    chosen_.push_back(bit);
  }

  void drop_needless(double best) {
    for (std::size_t i = 0; i < chosen_.size();) {
      std::vector<int> without = chosen_;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      const std::vector<int> old = std::exchange(chosen_, {});
      leaf_.clear();
      if (const double bits = cost(without, every_); bits <= best) {
        best = bits;
        chosen_ = without;
        i = 0;
      } else {
        chosen_ = old;
        ++i;
      }
    }
  }

  int inputs_;
  std::vector<std::vector<std::uint8_t>> columns_;  // [bit of the patch][case]
  std::vector<std::uint8_t> target_;
  std::vector<std::uint32_t> times_, leaf_, spread_, every_, counts_;
  std::vector<int> chosen_;
  std::size_t cells_ = 0;
};

}  // namespace

std::size_t BitTable::value(const std::array<std::uint16_t, kPatch>& cells, const BoardCases& cases) const {
  std::size_t value = 0;
  for (std::size_t i = 0; i < reads.size(); ++i)
    value |= (cases.states[cells[reads[i] / cases.start_channels]] >> (reads[i] % cases.start_channels) & 1) << i;
  return value;
}

std::vector<std::size_t> BitTable::possible(const BoardCases& cases) const {
  std::vector<std::size_t> values;
  for (const std::uint16_t mask : cases.outside_masks) {
    std::vector<std::size_t> some{0};
    for (int p = 0; p < kPatch; ++p) {
      std::vector<std::size_t> here;  // what the bits of this place can be together
      const bool outside = mask >> p & 1;
      for (std::size_t s = outside ? *cases.outside : 0; s < (outside ? cases.states.size() : cases.real_states());
           ++s) {
        std::size_t part = 0;
        for (std::size_t i = 0; i < reads.size(); ++i)
          if (reads[i] / cases.start_channels == p)
            part |= (cases.states[s] >> (reads[i] % cases.start_channels) & 1) << i;
        here.push_back(part);
      }
      std::ranges::sort(here);
      here.erase(std::unique(here.begin(), here.end()), here.end());
      std::vector<std::size_t> next;
      for (const std::size_t a : some)
        for (const std::size_t b : here) next.push_back(a | b);
      some = std::move(next);
    }
    values.insert(values.end(), some.begin(), some.end());
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::uint64_t FittedBits::said(const std::array<std::uint16_t, kPatch>& cells, const BoardCases& cases) const {
  std::uint64_t code = 0;
  for (std::size_t t = 0; t < tables.size(); ++t)
    code |= std::uint64_t{tables[t].outcome(tables[t].value(cells, cases))} << t;
  return code;
}

FittedBits fit_bits(const BoardCases& cases, bool thorough, const ThreadPool& pool) {
  FittedBits fit;
  fit.tables.resize(cases.target_channels);
  const auto inputs = static_cast<double>(kPatch * cases.start_channels);
  pool.for_chunks(fit.tables.size(), 1, 1e7, [&](Chunk chunk) {
    const std::span<const PatchCase> some = cases.sample.empty() ? cases.all : cases.sample;
    BitTable& table = fit.tables[chunk.begin];
    table.reads = Chooser(cases, some, static_cast<int>(chunk.begin)).choose(thorough);
    table.ones.assign(std::size_t{1} << table.reads.size(), 0);
    table.all = table.ones;
    for (const PatchCase& c : cases.all) {
      if (c.next == BoardCases::kRareNext) continue;
      const std::size_t value = table.value(c.cells, cases);
      table.all[value] += c.times;
      if (cases.nexts[c.next] >> chunk.begin & 1) table.ones[value] += c.times;
    }
  });
  for (const PatchCase& c : cases.all) fit.misfit.add(fit.said(c.cells, cases), cases, c);
  fit.misfit_bits = fit.misfit.bits(cases.cells, cases.nexts.size());
  fit.bits = fit.misfit_bits;
  for (std::size_t t = 0; t < fit.tables.size(); ++t) {
    const BitTable& table = fit.tables[t];
    fit.entries_seen += table.all.size() - static_cast<std::size_t>(std::ranges::count(table.all, 0u));
    fit.bits += 4 + std::log2(inputs) * static_cast<double>(table.reads.size());
    std::string names;
    for (const int bit : table.reads) {
      const int place = bit / cases.start_channels, channel = bit % cases.start_channels;
      constexpr std::array<const char*, kPatch> kNames{"NW", "N", "NE", "W", "own", "E", "SW", "S", "SE"};
      names += names.empty() ? "" : ", ";
      names += kNames[place];
      if (cases.start_channels > 1) names += fmt::format(" {}", channel);
    }
    if (!fit.words.empty()) fit.words += "; ";
    if (fit.tables.size() > 1) fit.words += fmt::format("channel {}: ", t);
    fit.words += table.reads.empty() ? "nothing" : names;
  }
  fit.words = fmt::format("single bits ({})", fit.words);
  fit.bits += static_cast<double>(fit.entries_seen);
  return fit;
}

}  // namespace espalier
