// Given pairs of boards, split into three parts: one to fit, one to choose by, one that judges. The split follows from
// the boards alone. A start that is there several times lies in one part, so that nothing that judges has been fitted
// under another number.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {
namespace {

constexpr std::size_t kStoredPairs = 1024;  // in a model file, which is no place for a data set
constexpr std::size_t kFewestStarts = 5;    // different ones; with fewer, three parts make no sense

class BoardsGoal : public LatticeGoal {
 public:
  struct Parts {
    std::vector<int> fit, validation, test;
  };

  BoardsGoal(BoardPairs pairs, const BoardFractions& fractions) : pairs_(std::move(pairs)), fractions_(fractions) {
    const auto cells = static_cast<std::size_t>(pairs_.count) * pairs_.height * pairs_.width;
    if (pairs_.count < 1 || pairs_.start.size() != cells * pairs_.start_channels ||
        pairs_.target.size() != cells * pairs_.target_channels)
      fail("boards",
           fmt::format("{} boards with {} and {} values", pairs_.count, pairs_.start.size(), pairs_.target.size()),
           "starts and targets of the same number and size");
    for (const auto* values : {&pairs_.start, &pairs_.target})
      if (std::ranges::any_of(*values, [](std::uint8_t value) { return value > 1; }))
        fail("boards", "a value above 1", "0 and 1");
    if (!(fractions.validation + fractions.test < 1))
      fail("boards",
           fmt::format("fractions of {} and {} to choose and to judge by", fractions.validation, fractions.test),
           "less than 1 together", "the rest of the pairs is what is fitted");
  }
  // As a model file tells them; it may hold only some of the pairs there were.
  BoardsGoal(BoardPairs pairs, const BoardFractions& fractions, Parts parts, std::size_t there_were)
      : BoardsGoal(std::move(pairs), fractions) {
    stored_ = std::move(parts);
    there_were_ = there_were;
  }

  std::string kind() const override { return "boards"; }
  std::string name() const override { return pairs_.name; }
  int loss_channels() const override { return pairs_.target_channels; }
  bool fits_a_part(std::uint64_t) const override {
    const Parts parts = this->parts();
    return parts.fit != parts.validation;
  }

  void fit(RolloutOptions& r, int channels, bool) const override {
    if (r.height == 0) r.height = pairs_.height;
    if (r.width == 0) r.width = pairs_.width;
    check_size("boards", r, pairs_.height, pairs_.width);
    check_channels("boards", channels, pairs_.target_channels);
    check_channels("boards", channels, pairs_.start_channels, "the start");
  }

  LatticeData data(const RolloutOptions& r, int channels, std::uint64_t seed) const override {
    const Parts parts = this->parts();
    LatticeData data{starts(parts.validation, channels), targets(parts.validation)};
    data.draw = [this, r, channels, seed, fit = parts.fit](std::uint64_t batch, std::span<float> initial,
                                                           std::span<float> target) {
      const Random random(seed, Purpose::kBatch, static_cast<std::uint32_t>(batch));
      std::ranges::fill(initial, 0.0f);
      for (int n = 0; n < r.batch; ++n) {
        const int pair = fit[random.choice(n, fit.size())];
        for (int y = 0; y < r.height; ++y)
          for (int x = 0; x < r.width; ++x) {
            const auto place = [&](int c, int of) {
              return ((static_cast<std::size_t>(n) * of + c) * r.height + y) * r.width + x;
            };
            for (int c = 0; c < pairs_.start_channels; ++c) initial[place(c, channels)] = start_bit(pair, y, x, c);
            for (int c = 0; c < pairs_.target_channels; ++c)
              target[place(c, pairs_.target_channels)] = target_bit(pair, y, x, c);
          }
      }
    };
    return data;
  }

  JudgingBoards judging(const RolloutOptions&, int channels, std::uint64_t, std::uint64_t) const override {
    const Parts parts = this->parts();
    const auto given = static_cast<std::size_t>(pairs_.count);
    const std::string cut =
        there_were_ > given
            ? fmt::format("the model's file holds only {} of the {} boards that it was made with", given, there_were_)
            : "";
    const auto boards = [](std::size_t n) { return n == 1 ? std::string("1 board") : fmt::format("{} boards", n); };
    if (!parts.test.empty())
      return {starts(parts.test, channels), targets(parts.test),
              fmt::format("{} that neither fitting nor choosing has seen", boards(parts.test.size())), cut,
              !cut.empty()};
    return {starts(parts.validation, channels), targets(parts.validation),
            fmt::format("{} that {} seen", boards(parts.validation.size()),
                        parts.validation == parts.fit ? "fitting has" : "choosing has"),
            fractions_.test > 0 ? fmt::format("{} different starts are too few to keep some for a test", different())
                                : "no boards were kept for a test"};
  }

  std::optional<BoardPairs> known_pairs(std::uint64_t) const override {
    const Parts parts = this->parts();
    std::vector<int> known = parts.fit;
    if (parts.fit != parts.validation) known.insert(known.end(), parts.validation.begin(), parts.validation.end());
    return chosen(known);
  }

  // One of the given starts, in the middle.
  BoardState start(const RolloutOptions&, int channels, int height, int width, std::uint64_t seed,
                   RowRange rows) const override {
    BoardState state(channels, rows.count, width);
    const auto pair = static_cast<int>(seed % static_cast<std::uint64_t>(pairs_.count));
    const int top = (height - pairs_.height) / 2 - rows.first, left = (width - pairs_.width) / 2;
    for (int y = 0; y < pairs_.height; ++y)
      for (int x = 0; x < pairs_.width; ++x)
        if (top + y >= 0 && top + y < rows.count && left + x >= 0 && left + x < width)
          for (int c = 0; c < pairs_.start_channels; ++c) state.at(c, top + y, left + x) = start_bit(pair, y, x, c);
    return state;
  }
  BoardView view(const RolloutOptions& r) const override {
    return {r.height, r.width, static_cast<std::uint64_t>(r.steps)};
  }
  std::vector<Trial> trials(const LatticeModel&, const TrialOptions&, const ThreadPool&) const override { return {}; }

  // Those that judge, those that choose, and those that are fitted. Of many pairs as large a share of each part as
  // fits, so that no part ever stands in for another.
  void save(SafetensorsFile& file, std::uint64_t) const override {
    Parts parts = this->parts();
    if (parts.fit == parts.validation) parts.fit.clear();
    const std::size_t all = parts.test.size() + parts.validation.size() + parts.fit.size();
    std::vector<int> order;
    for (std::vector<int>* part : {&parts.test, &parts.validation, &parts.fit}) {
      if (all > kStoredPairs && !part->empty())
        part->resize(std::max<std::size_t>(1, part->size() * kStoredPairs / all));
      order.insert(order.end(), part->begin(), part->end());
    }
    const std::size_t stored = order.size();
    const BoardPairs pairs = chosen(order);
    const auto add = [&](const char* name, const std::vector<std::uint8_t>& bits, int channels) {
      const auto extent = [](int n) { return static_cast<std::size_t>(n); };
      file.add(name, {stored, extent(pairs_.height), extent(pairs_.width), extent(channels)},
               std::span<const std::uint8_t>(bits));
    };
    const std::int32_t counts[] = {static_cast<std::int32_t>(parts.test.size()),
                                   static_cast<std::int32_t>(parts.validation.size())};
    file.metadata["goal.name"] = pairs_.name;
    file.metadata["goal.pairs"] = fmt::format("{}", std::max(there_were_, all));
    file.metadata["goal.validation-fraction"] = fmt::format("{}", fractions_.validation);
    file.metadata["goal.test-fraction"] = fmt::format("{}", fractions_.test);
    file.add("goal.parts", {2}, std::span<const std::int32_t>(counts));
    add("goal.start", pairs.start, pairs_.start_channels);
    add("goal.target", pairs.target, pairs_.target_channels);
  }

 private:
  BoardPairs chosen(const std::vector<int>& order) const {
    BoardPairs pairs = pairs_;
    pairs.count = static_cast<int>(order.size());
    const auto take = [&](std::vector<std::uint8_t>& to, const std::vector<std::uint8_t>& bits, int channels) {
      const auto each = static_cast<std::ptrdiff_t>(pairs_.height) * pairs_.width * channels;
      to.clear();
      for (const int pair : order) to.insert(to.end(), bits.begin() + pair * each, bits.begin() + (pair + 1) * each);
    };
    take(pairs.start, pairs_.start, pairs_.start_channels);
    take(pairs.target, pairs_.target, pairs_.target_channels);
    return pairs;
  }
  // Pairs of one start, by the hash of that start. So a seed, or a later training that begins with this model, fits
  // none of the boards that judged before.
  std::map<std::string, std::vector<int>> groups() const {
    const auto each = static_cast<std::size_t>(pairs_.height) * pairs_.width * pairs_.start_channels;
    std::map<std::string, std::vector<int>> groups;
    for (int n = 0; n < pairs_.count; ++n)
      groups[Hasher().add(pairs_.start.data() + static_cast<std::size_t>(n) * each, each).hex()].push_back(n);
    return groups;
  }
  std::size_t different() const { return groups().size(); }

  Parts parts() const {
    if (stored_) return *stored_;
    const std::map<std::string, std::vector<int>> groups = this->groups();
    const auto share = [&](double fraction) {
      if (fraction <= 0) return std::size_t{0};
      return std::max<std::size_t>(1, static_cast<std::size_t>(fraction * static_cast<double>(groups.size())));
    };
    const bool three = groups.size() >= kFewestStarts;
    const std::size_t test = three ? share(fractions_.test) : 0;
    const std::size_t validation = groups.size() > 1 ? std::min(share(fractions_.validation), groups.size() - 1) : 0;
    Parts parts;
    std::size_t g = 0;
    for (const auto& [start, members] : groups) {
      std::vector<int>& part = g < test ? parts.test : g < test + validation ? parts.validation : parts.fit;
      part.insert(part.end(), members.begin(), members.end());
      ++g;
    }
    if (parts.validation.empty()) parts.validation = parts.fit;  // one pair alone, or none kept apart
    return parts;
  }

  BoardBatch starts(const std::vector<int>& pairs, int channels) const {
    BoardBatch boards(pairs.size(), pairs_.height, pairs_.width, channels);
    for (std::size_t n = 0; n < pairs.size(); ++n)
      for (int y = 0; y < pairs_.height; ++y)
        for (int x = 0; x < pairs_.width; ++x)
          for (int c = 0; c < pairs_.start_channels; ++c) boards.set(n, y, x, c, start_bit(pairs[n], y, x, c));
    return boards;
  }
  BoardBatch targets(const std::vector<int>& pairs) const {
    BoardBatch boards(pairs.size(), pairs_.height, pairs_.width, pairs_.target_channels);
    for (std::size_t n = 0; n < pairs.size(); ++n)
      for (int y = 0; y < pairs_.height; ++y)
        for (int x = 0; x < pairs_.width; ++x)
          for (int c = 0; c < pairs_.target_channels; ++c) boards.set(n, y, x, c, target_bit(pairs[n], y, x, c));
    return boards;
  }
  std::uint8_t start_bit(int pair, int y, int x, int c) const {
    return pairs_
        .start[((static_cast<std::size_t>(pair) * pairs_.height + y) * pairs_.width + x) * pairs_.start_channels + c];
  }
  std::uint8_t target_bit(int pair, int y, int x, int c) const {
    return pairs_
        .target[((static_cast<std::size_t>(pair) * pairs_.height + y) * pairs_.width + x) * pairs_.target_channels + c];
  }

  BoardPairs pairs_;
  BoardFractions fractions_;
  std::optional<Parts> stored_;
  std::size_t there_were_ = 0;  // when the model was made
};

}  // namespace

std::shared_ptr<const LatticeGoal> boards_goal(BoardPairs pairs, const BoardFractions& fractions) {
  return std::make_shared<BoardsGoal>(std::move(pairs), fractions);
}

std::shared_ptr<const LatticeGoal> load_boards(const SafetensorsFile& file) {
  BoardPairs pairs;
  const std::vector<std::size_t>& s = file.tensor("goal.start").shape;
  const std::vector<std::size_t>& t = file.tensor("goal.target").shape;
  constexpr std::size_t kMax = 1 << 20;
  const auto fits = [](std::size_t n) { return n > 0 && n < kMax; };
  if (s.size() != 4 || t.size() != 4 || !std::ranges::all_of(s, fits) || !fits(t[3]) ||
      !std::equal(s.begin(), s.begin() + 3, t.begin()))
    fail("load model", "boards of other shapes", "[boards][rows][columns][channels] for starts and targets");
  pairs.name = file.meta("goal.name");
  pairs.count = static_cast<int>(s[0]);
  pairs.height = static_cast<int>(s[1]);
  pairs.width = static_cast<int>(s[2]);
  pairs.start_channels = static_cast<int>(s[3]);
  pairs.target_channels = static_cast<int>(t[3]);
  pairs.start = file.octets("goal.start");
  pairs.target = file.octets("goal.target");
  const auto fraction = [&](const char* key) { return std::strtod(file.meta(key).c_str(), nullptr); };
  const std::vector<std::int32_t> counts = file.ints("goal.parts");
  if (counts.size() != 2 || counts[0] < 0 || counts[1] < 0 || std::int64_t{counts[0]} + counts[1] > pairs.count)
    fail("load model", "parts that are not two counts", "how many boards judge and how many choose");
  BoardsGoal::Parts parts;
  for (int n = 0; n < pairs.count; ++n)
    (n < counts[0] ? parts.test : n < counts[0] + counts[1] ? parts.validation : parts.fit).push_back(n);
  if (parts.validation.empty()) parts.validation = parts.fit;
  if (parts.fit.empty()) parts.fit = parts.validation;
  if (parts.fit.empty()) fail("load model", "boards that all judge", "some that were fitted");
  const std::size_t there_were = std::strtoull(file.meta("goal.pairs").c_str(), nullptr, 10);
  const BoardFractions fractions{fraction("goal.validation-fraction"), fraction("goal.test-fraction")};
  return std::make_shared<BoardsGoal>(std::move(pairs), fractions, std::move(parts), there_were);
}

}  // namespace espalier
