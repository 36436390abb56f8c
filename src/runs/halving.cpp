#include "runs/halving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr const char* kHead = "round,steps,seed,score,validation_loss,goes_on";

}  // namespace

bool wins(const SeedReport& a, const SeedReport& b) {
  if (!a.error != !b.error) return !a.error;
  if (a.started != b.started) return a.started;
  if (a.passed != b.passed) return a.passed;
  if (a.passed) return a.seed < b.seed;
  if (a.validation_score != b.validation_score) return a.validation_score > b.validation_score;
  return a.validation_loss != b.validation_loss ? a.validation_loss < b.validation_loss : a.seed < b.seed;
}

std::string seeds_table(const std::vector<SeedReport>& seeds) {
  std::string text = "seed,steps,validation_score,validation_loss,score,solved,outcome,model_hash\n";
  for (const SeedReport& r : seeds)
    text += r.started ? fmt::format("{},{},{},{},{},{},{},{}\n", r.seed, r.steps, r.validation_score, r.validation_loss,
                                    r.verdict.judged() ? fmt::format("{}", r.verdict.score) : "", r.solved ? 1 : 0,
                                    r.outcome, r.model_hash)
                      : fmt::format("{},,,,,,{},\n", r.seed, r.outcome);
  return text;
}

Halving::Halving(std::uint64_t first, std::uint64_t steps, std::size_t seeds)
    : round_steps_(first), steps_(steps), alive_(seeds), table_(fmt::format("{}\n", kHead)) {
  if (first < 1) fail("halving", "0 steps in the first round", "at least 1");
  std::iota(alive_.begin(), alive_.end(), std::size_t{0});
}

void Halving::decide(const std::vector<SeedReport>& rows) {
  std::vector<std::size_t> order = alive_;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return wins(rows.at(a), rows.at(b)); });
  order.resize((order.size() + 1) / 2);
  std::ranges::sort(order);
  for (const std::size_t i : alive_)
    table_ += fmt::format("{},{},{},{},{},{}\n", round_, round_steps_, rows[i].seed, rows[i].validation_score,
                          rows[i].validation_loss, std::ranges::binary_search(order, i) ? 1 : 0);
  keep(std::move(order));
}

void Halving::keep(std::vector<std::size_t> kept) {
  alive_ = std::move(kept);
  ++round_;
  round_steps_ = round_steps_ > steps_ / 2 ? steps_ : 2 * round_steps_;
}

void Halving::read(std::string_view table, const std::string& name, const std::vector<SeedReport>& rows) {
  const auto refuse = [&](const std::string& line) {
    fail("halving", fmt::format("{} with \"{}\"", name, line), "the rounds of this run", "start the run anew");
  };
  std::istringstream lines{std::string(table)};
  std::string line;
  if (!std::getline(lines, line) || line != kHead) refuse(line);
  std::vector<std::size_t> kept;
  std::size_t at = 0;  // of the seeds of a round
  while (std::getline(lines, line)) {
    // Score and loss are for people; whatever they are, this is how it was decided.
    const std::string begin =
        decided() ? "none" : fmt::format("{},{},{},", round_, round_steps_, rows.at(alive_[at]).seed);
    if (!line.starts_with(begin) || !(line.ends_with(",0") || line.ends_with(",1"))) refuse(line);
    if (line.ends_with(",1")) kept.push_back(alive_[at]);
    if (++at < alive_.size()) continue;
    if (kept.size() != (alive_.size() + 1) / 2) refuse(line);
    keep(std::move(kept));
    kept.clear();
    at = 0;
  }
  if (at > 0) refuse("a round that does not end");
  table_ = table;
}

}  // namespace espalier
