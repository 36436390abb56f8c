#include "models/message/simplify_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

// One random expression. Every draw is numbered, so expression `index` is the same whatever came before.
class Grower {
 public:
  Grower(const SimplifyDataOptions& options, std::uint64_t seed, std::uint32_t index)
      : options_(options), random_(seed, Purpose::kData, index) {}

  // `spine`: one path goes down to exactly this depth.
  Expression grow(int depth, bool spine) {
    node(depth, spine);
    return std::move(out_);
  }

 private:
  bool chance(float p) { return random_.uniform(draw_++) < p; }
  std::uint64_t pick(std::uint64_t n) { return random_.choice(draw_++, n); }
  std::int32_t add(std::string label, std::int32_t left = -1, std::int32_t right = -1) {
    out_.nodes.push_back({std::move(label), left, right});
    return out_.root();
  }
  std::int32_t number() { return add(std::to_string(pick(static_cast<std::uint64_t>(options_.max_number) + 1))); }
  std::int32_t leaf() {
    // Noughts and ones make the rules; they are half of all leaves.
    if (chance(0.25f)) return add("0");
    if (chance(0.33f)) return add("1");
    return chance(0.4f) ? number() : add(options_.symbols[pick(options_.symbols.size())]);
  }
  std::string operation() {
    const float u = random_.uniform(draw_++);
    return u < 0.32f ? "+" : u < 0.64f ? "*" : u < 0.8f ? "-" : "^";
  }
  std::int32_t node(int depth, bool spine) {
    if (depth == 0 || (!spine && !chance(0.55f))) return leaf();
    if (chance(0.15f)) {
      const std::int32_t operand = node(depth - 1, spine);
      return add(std::string(kNegation), operand);
    }
    const std::string op = operation();
    if (!spine && chance(0.2f)) {  // two numbers, so that every sum and product is met
      const std::int32_t a = number(), b = number();
      return add(op, a, b);
    }
    const bool spine_left = spine && chance(0.5f);
    const std::int32_t left = node(depth - 1, spine_left), right = node(depth - 1, spine && !spine_left);
    return add(op, left, right);
  }

  const SimplifyDataOptions& options_;
  Random random_;
  std::uint64_t draw_ = 0;
  Expression out_;
};

// `count` different expressions of the given depth, or of every depth from 1 to it.
std::vector<Expression> different(const SimplifyDataOptions& options, std::uint64_t seed, std::size_t count, int depth,
                                  bool exactly, std::uint32_t first_index) {
  std::vector<Expression> found;
  std::unordered_set<std::string> seen;
  const std::size_t max_tries = 20 * count + 1000;
  for (std::size_t i = 0; found.size() < count; ++i) {
    if (i == max_tries)
      fail("simplify data", fmt::format("{} different expressions of depth {}", found.size(), depth),
           fmt::format("{}", count), "fewer examples, or a larger depth");
    const int own = exactly ? depth : 1 + static_cast<int>(i) % depth;
    Expression e = Grower(options, seed, first_index + static_cast<std::uint32_t>(i)).grow(own, true);
    if (seen.insert(to_text(e)).second) found.push_back(options.share ? share_subexpressions(e) : std::move(e));
  }
  return found;
}

// The different expressions of a file; too few for the sets that are wanted are an Error.
std::vector<Expression> from_file(const SimplifyDataOptions& o, const Vocabulary& words) {
  std::vector<Expression> found;
  std::unordered_set<std::string> seen;
  for (Expression& e : read_simplify_lines(read_text(o.file), words, fmt::format("\"{}\"", o.file))) {
    if (expression_depth(e) > static_cast<std::size_t>(o.depth))
      fail("simplify data", fmt::format("\"{}\" of depth {} in {}", to_text(e), expression_depth(e), o.file),
           fmt::format("at most {}", o.depth), "raise the depth, so that the deeper test set is twice as deep");
    if (seen.insert(to_text(e)).second) found.push_back(o.share ? share_subexpressions(e) : std::move(e));
  }
  if (found.size() <= o.validation + o.test)
    fail("simplify data", fmt::format("{} different expressions in {}", found.size(), o.file),
         fmt::format("more than the {} for validation and {} for the test", o.validation, o.test),
         "fewer examples for validation and test");
  return found;
}

}  // namespace

SimplifyData make_simplify_data(const SimplifyDataOptions& o, std::uint64_t seed) {
  if (o.depth < 1 || o.depth > 12) fail("simplify data", fmt::format("depth {}", o.depth), "1 to 12");
  if (o.max_number < 1 || o.max_number > 99)
    fail("simplify data", fmt::format("largest number {}", o.max_number), "1 to 99");
  if (o.symbols.empty()) fail("simplify data", "no symbols", "one or more");
  constexpr std::size_t kMaxExamples = 10'000'000;
  for (const std::size_t count : {o.train, o.validation, o.test, o.deep})
    if (count > kMaxExamples)
      fail("simplify data", fmt::format("{} examples", count), fmt::format("at most {}", kMaxExamples));
  SimplifyData data;
  data.words = arithmetic_vocabulary(o.max_number, o.symbols);
  std::vector<Expression> all = o.file.empty() ? different(o, seed, o.train + o.validation + o.test, o.depth, false, 0)
                                               : from_file(o, data.words);
  Random(seed, Purpose::kSplit).shuffle(std::span(all));
  const auto take = [&](std::size_t count) {
    std::vector<Expression> part(std::make_move_iterator(all.end() - static_cast<std::ptrdiff_t>(count)),
                                 std::make_move_iterator(all.end()));
    all.resize(all.size() - count);
    return part;
  };
  data.test = take(o.test);
  data.validation = take(o.validation);
  data.train = std::move(all);
  data.deep = different(o, seed, o.deep, 2 * o.depth, true, 1u << 31);
  return data;
}

}  // namespace espalier
