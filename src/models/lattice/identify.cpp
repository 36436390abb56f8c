#include "models/lattice/identify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "espalier/error.hpp"
#include "models/lattice/identified_cell.hpp"
#include "models/lattice/misfit_places.hpp"
#include "models/lattice/noise_test.hpp"
#include "models/lattice/rule_notation.hpp"

namespace espalier {
namespace {

constexpr std::size_t kFinalists = 8;       // views that are fitted to all cases after a look at a sample
constexpr std::size_t kGlance = 4;          // one case of the sample in so many, where there are hundreds of views
constexpr std::size_t kReported = 8;        // misfits
constexpr std::size_t kUnseenInWords = 20;  // cases
constexpr double kClearBits = 20;           // that a rule must save to be more than chance
constexpr double kNearGuessing = 0.8;       // of the misfit of always guessing the commonest
constexpr double kMostlyKnown = 0.1;        // of fresh cells may fall under cases that are guesses

// A view in a race, and what all cases will cost with it, as far as some tell.
struct Runner {
  NeighbourView view;
  double estimate = 0;
};

class Race {
 public:
  Race(const BoardCases& cases, const ThreadPool& pool) : cases_(cases), pool_(pool) {
    const NeighbourView nothing = standard_views(cases_).front();
    constant_ = *fit_view(nothing, cases_, cases_.all, kNoLimit);
    if (!cases_.sample.empty()) sample_limit_ = 2 * fit_view(nothing, cases_, cases_.sample, kNoLimit)->bits;
  }

  // The best views, fitted to all cases, best first.
  std::vector<FittedView> run() {
    enter(standard_views(cases_));
    if (cases_.real_states() > 1) enter(promising_cells());
    grow();
    std::ranges::stable_sort(runners_, {}, &Runner::estimate);
    if (runners_.size() > kFinalists) runners_.resize(kFinalists);
    std::vector<std::optional<FittedView>> fitted(runners_.size());
    if (fitted.empty()) return {};
    fitted[0] = fit_view(runners_[0].view, cases_, cases_.all, constant_.bits);
    // Those whose entries alone cost far more than the first view in all need no closer look.
    const double limit = std::min(constant_.bits, fitted[0] ? 2 * fitted[0]->bits + 1000 : kNoLimit);
    pool_.for_chunks(runners_.size() - 1, 1, 1e6, [&](Chunk c) {
      fitted[c.begin + 1] = fit_view(runners_[c.begin + 1].view, cases_, cases_.all, limit);
    });
    std::vector<FittedView> result;
    for (std::optional<FittedView>& fit : fitted)
      if (fit) result.push_back(std::move(*fit));
    std::ranges::stable_sort(result, {}, &FittedView::bits);
    return result;
  }
  const FittedView& constant() const { return constant_; }

 private:
  static constexpr double kNoLimit = 1e300;

  // What all cases would cost, from some of them.
  double estimate(const NeighbourView& view, std::span<const PatchCase> some, double limit) const {
    const auto fit = fit_view(view, cases_, some, limit);
    if (!fit) return kNoLimit;
    if (some.size() == cases_.all.size()) return fit->bits;
    // Entries seen once are a sign of others that these cases have not.
    std::size_t cells = 0;
    for (const std::uint32_t times : fit->times) cells += times;
    const double more = static_cast<double>(cases_.cells) / static_cast<double>(cells);
    const auto entries = static_cast<double>(fit->keys.size());
    const auto once = static_cast<double>(std::ranges::count(fit->times, 1u));
    const double each = (fit->bits - fit->misfit_bits - view.choice_bits) / entries;
    return fit->misfit_bits * more + view.choice_bits + each * (entries + once * (more - 1));
  }

  // Views of chosen cells: all of them, or those that are best at a glance.
  std::vector<NeighbourView> promising_cells() const {
    std::vector<NeighbourView> views;
    for (std::uint16_t places = 1; places < 511; ++places)
      if (places != kOwnCell && places != (kFourNeighbours | kOwnCell))
        if (auto view = cells_view(cases_, places)) views.push_back(std::move(*view));
    if (cases_.sample.empty()) return views;
    std::vector<PatchCase> glance;
    for (std::size_t i = 0; i < cases_.sample.size(); i += kGlance) glance.push_back(cases_.sample[i]);
    std::vector<std::pair<double, std::size_t>> order(views.size());
    pool_.for_chunks(views.size(), 16, 5e4, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) order[i] = {estimate(views[i], glance, kNoLimit), i};
    });
    std::ranges::sort(order);
    std::vector<NeighbourView> best;
    for (std::size_t i = 0; i < std::min(order.size(), 2 * kFinalists); ++i) best.push_back(views[order[i].second]);
    return best;
  }

  // The best estimate among them.
  double enter(std::vector<NeighbourView> views) {
    std::erase_if(views, [&](const NeighbourView& view) { return !view.fits_a_word(cases_.start_channels); });
    std::vector<double> estimates(views.size());
    pool_.for_chunks(views.size(), 8, 1e5, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i)
        estimates[i] = cases_.sample.empty() ? estimate(views[i], cases_.all, constant_.bits)
                                             : estimate(views[i], cases_.sample, sample_limit_);
    });
    double least = kNoLimit;
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (estimates[i] >= kNoLimit) continue;
      runners_.push_back({views[i], estimates[i]});
      least = std::min(least, estimates[i]);
    }
    return least;
  }

  // Where there are too many states to try all sets of them, the best sets grow by one state at a time.
  void grow() {
    for (const bool cyclic : {false, true}) {
      for (;;) {
        const Runner* best = nullptr;
        for (const Runner& runner : runners_)
          if (!runner.view.sets.empty() && runner.view.cyclic() == cyclic &&
              (!best || runner.estimate < best->estimate))
            best = &runner;
        if (!best) break;
        const double before = best->estimate;
        const std::vector<NeighbourView> grown = grown_views(best->view, cases_);
        if (grown.empty() || enter(grown) >= before) break;
      }
    }
  }

  const BoardCases& cases_;
  const ThreadPool& pool_;
  FittedView constant_;
  double sample_limit_ = 0;
  std::vector<Runner> runners_;
};

// The winner of all kinds, in the form that the rest needs.
struct Answer {
  std::string words;
  Misfit misfit;
  double bits = 0, misfit_bits = 0;
  std::size_t seen_entries = 0;
  std::vector<std::uint32_t> entry;  // [case]
  std::vector<bool> wrong;           // [case]
};

Answer answer_of(const FittedView& fit, const BoardCases& cases) {
  Answer a{fit.view.words, fit.misfit, fit.bits, fit.misfit_bits, fit.keys.size(), fit.key_of, {}};
  for (std::size_t i = 0; i < cases.all.size(); ++i) {
    const PatchCase& c = cases.all[i];
    a.wrong.push_back(c.next == BoardCases::kRareNext ||
                      fit.said(fit.key_of[i], c.cells[4], cases) != cases.nexts[c.next]);
  }
  return a;
}

Answer answer_of(const FittedBits& fit, const BoardCases& cases) {
  Answer a{fit.words, fit.misfit, fit.bits, fit.misfit_bits, fit.entries_seen, {}, {}};
  for (const PatchCase& c : cases.all) {
    a.entry.push_back(c.cells[4]);
    a.wrong.push_back(c.next == BoardCases::kRareNext || fit.said(c.cells, cases) != cases.nexts[c.next]);
  }
  return a;
}

std::string once_or_more(std::uint32_t times) {
  return times == 0 ? "" : fmt::format(" (seen {} time{}, too few at this noise)", times, times == 1 ? "" : "s");
}

// Codes of a patch's bits as states; nothing when some cell is in none.
std::optional<std::array<std::uint16_t, kPatch>> states_of(const std::vector<std::uint8_t>& patch,
                                                           const BoardCases& cases) {
  if (patch.size() != static_cast<std::size_t>(kPatch * cases.start_channels))
    fail("identify", fmt::format("a patch of {} bits", patch.size()), fmt::format("{}", kPatch * cases.start_channels));
  std::array<std::uint16_t, kPatch> cells{};
  for (int p = 0; p < kPatch; ++p) {
    std::uint64_t code = 0;
    for (int c = 0; c < cases.start_channels; ++c)
      code |= std::uint64_t{patch[static_cast<std::size_t>(p * cases.start_channels + c)]} << c;
    const auto state = std::ranges::find(cases.states, code);
    if (state == cases.states.end()) return {};
    cells[p] = static_cast<std::uint16_t>(state - cases.states.begin());
  }
  if (cases.outside && cells[4] == *cases.outside) return {};
  return cells;
}

// Fraction of fresh cells that would fall under cases that are guesses: those that did here, and as many again as were
// seen for the first time by their only cell.
double unknown_share(const CompleteTable& table, std::size_t cells) {
  double unknown = 0;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (!table.settled[i]) unknown += table.times[i];
    if (table.times[i] == 1) ++unknown;
  }
  return unknown / static_cast<double>(cells);
}

void count_entries(IdentifiedRule& rule, const CompleteTable& table,
                   const std::function<std::string(std::size_t entry)>& words) {
  rule.entries += table.keys.size();
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (table.settled[i]) {
      ++rule.seen;
    } else if (rule.unseen.size() < kUnseenInWords) {
      rule.unseen.push_back(words(i) + once_or_more(table.times[i]));
    }
  }
}

class Identifier {
 public:
  Identifier(const IdentifyData& data, std::shared_ptr<const BoardCases> cases, int channels, const ThreadPool& pool)
      : data_(data), cases_(std::move(cases)), channels_(channels), pool_(pool) {}

  void run(Identification& found) {
    Race race(*cases_, pool_);
    views_ = race.run();
    bool by_bits = false;
    Answer answer;
    std::string why;
    // The long search for bits only where nothing else will do.
    for (const bool thorough : {false, true}) {
      bits_ = fit_bits(*cases_, thorough, pool_);
      by_bits = views_.empty() || bits_.bits < views_.front().bits;
      answer = by_bits ? answer_of(bits_, *cases_) : answer_of(views_.front(), *cases_);
      why = objection(answer, race.constant());
      if (why.empty()) break;
    }
    report_misfits(found);
    if (!why.empty()) {
      found.why_not = std::move(why);
      return;
    }
    IdentifiedRule rule;
    rule.words = answer.words;
    const auto cells = static_cast<double>(cases_->cells);
    rule.noise = static_cast<double>(answer.misfit.wrong) / cells;
    for (const std::size_t w : answer.misfit.wrong_bits)
      rule.bit_noise += static_cast<double>(w) / (cells * cases_->target_channels);
    rule.bits = answer.bits;
    rule.noise_judged_by = judged_by_;
    if (answer.misfit.wrong > 0) rule.not_noise = misfit_depends_on(data_, *cases_, answer.entry, answer.wrong);
    const std::size_t next = by_bits ? 0 : 1;
    if (next < views_.size() && (by_bits || views_[next].bits <= bits_.bits)) {
      rule.runner_up = views_[next].view.words;
      rule.runner_up_bits = views_[next].bits;
    } else if (!by_bits) {
      rule.runner_up = bits_.words;
      rule.runner_up_bits = bits_.bits;
    }
    found.why_not = by_bits ? finish_bits(rule) : finish_view(rule);
    if (found.why_not.empty()) found.rule = std::move(rule);
  }

 private:
  void report_misfits(Identification& found) const {
    const auto share = [&](const Misfit& m) {
      return static_cast<double>(m.wrong) / static_cast<double>(cases_->cells);
    };
    for (const FittedView& fit : views_)
      found.misfits.push_back({fit.view.words, fit.keys.size(), share(fit.misfit), fit.bits});
    found.misfits.push_back({bits_.words, bits_.entries_seen, share(bits_.misfit), bits_.bits});
    std::ranges::stable_sort(found.misfits, {}, &ViewMisfit::bits);
    if (found.misfits.size() > kReported) found.misfits.resize(kReported);
  }

  // Why this answer is none; empty when it is one.
  std::string objection(const Answer& answer, const FittedView& constant) {
    if (cases_->real_states() < 2) return "all cells of the starts are in the same state";
    if (constant.misfit.wrong == 0) return "all cells of the targets are in the same state, which tells of no rule";
    if (answer.bits + kClearBits > constant.bits)
      return "no view that was tried is better than always guessing the commonest state";
    if (answer.misfit.wrong == 0) return "";
    if (static_cast<double>(answer.misfit.wrong) > kNearGuessing * static_cast<double>(constant.misfit.wrong))
      return fmt::format("the best view ({}) is hardly better than always guessing the commonest state", answer.words);
    const NoiseVerdict verdict = judge_misfit(*cases_, answer.entry, answer.wrong);
    judged_by_ = verdict.judged_by;
    if (verdict.noise) return "";
    return fmt::format("the best view ({}) leaves {:.2f} % of the cells unexplained: {}", answer.words,
                       100.0 * static_cast<double>(answer.misfit.wrong) / static_cast<double>(cases_->cells),
                       verdict.why_not);
  }

  std::string too_little(const std::string& words, double unknown) const {
    if (unknown <= kMostlyKnown) return "";
    return fmt::format("the best view ({}) has so many cases that {:.0f} % of fresh cells would be guesses", words,
                       100 * unknown);
  }

  std::string finish_view(IdentifiedRule& rule) {
    const FittedView& fit = views_.front();
    auto table = complete(fit, *cases_, rule.noise);
    if (!table) return fmt::format("the best view ({}) has too many cases", rule.words);
    if (std::string why = too_little(rule.words, unknown_share(*table, cases_->cells)); !why.empty()) return why;
    count_entries(rule, *table, [&](std::size_t i) { return fit.view.describe(table->keys[i], *cases_); });
    // Digits that are guesses look like any others.
    if (const auto notation = notation_of(fit.view, *table, *cases_))
      rule.words += fmt::format(": {}{}", *notation, rule.seen < rule.entries ? " (guesses included)" : "");
    rule.cell = cell_of(fit.view, *table, *cases_, channels_);
    rule.guessed = [cases = cases_, view = fit.view, table = *table](const std::vector<std::uint8_t>& patch) {
      const auto states = states_of(patch, *cases);
      if (!states) return true;
      const std::size_t entry = table.find(view.key(*states));
      return entry == table.keys.size() || !table.settled[entry];
    };
    return "";
  }

  std::string finish_bits(IdentifiedRule& rule) {
    const std::vector<CompleteTable> tables = complete(bits_, *cases_, rule.noise);
    double unknown = 0;
    for (const CompleteTable& table : tables) unknown += unknown_share(table, cases_->cells);
    if (std::string why = too_little(rule.words, unknown); !why.empty()) return why;
    for (std::size_t t = 0; t < tables.size(); ++t)
      count_entries(rule, tables[t], [&](std::size_t i) {
        std::string values;
        for (std::size_t b = 0; b < bits_.tables[t].reads.size(); ++b) values += tables[t].keys[i] >> b & 1 ? '1' : '0';
        return fmt::format("channel {} when its bits are {}", t, values);
      });
    rule.cell = cell_of(bits_, tables, *cases_, channels_);
    rule.guessed = [cases = cases_, fit = bits_, tables](const std::vector<std::uint8_t>& patch) {
      const auto states = states_of(patch, *cases);
      if (!states) return true;
      for (std::size_t t = 0; t < tables.size(); ++t) {
        const std::size_t entry = tables[t].find(fit.tables[t].value(*states, *cases));
        if (entry == tables[t].keys.size() || !tables[t].settled[entry]) return true;
      }
      return false;
    };
    return "";
  }

  const IdentifyData& data_;
  std::shared_ptr<const BoardCases> cases_;
  int channels_;
  const ThreadPool& pool_;
  std::vector<FittedView> views_;
  FittedBits bits_;
  std::string judged_by_;
};

}  // namespace

Identification identify(const IdentifyData& data, int channels, const ThreadPool& pool) {
  Identification found;
  if (channels < std::max(data.start_channels, data.target_channels))
    fail("identify", fmt::format("{} channels", channels),
         fmt::format("at least {}, which the data have", std::max(data.start_channels, data.target_channels)));
  auto cases = read_cases(data);
  if (!cases) {
    found.why_not = "cells are in too many different states";
    return found;
  }
  found.ceiling = cases->ceiling;
  found.contradiction = cases->contradiction;
  found.neighbourhoods = cases->neighbourhoods;
  found.repeated = cases->repeated;
  for (std::uint16_t s = 0; s < std::min<std::size_t>(cases->real_states(), 64); ++s)
    found.states.push_back(fmt::format("state {}: bits {}", cases->state_name(s),
                                       cases->bits_of(cases->states[s], cases->start_channels)));
  Identifier(data, std::make_shared<const BoardCases>(std::move(*cases)), channels, pool).run(found);
  return found;
}

}  // namespace espalier
