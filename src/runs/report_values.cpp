#include "runs/report_values.hpp"

#include <fmt/format.h>

namespace espalier {
namespace {

std::optional<FieldValue> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<FieldValue>(text);
}

}  // namespace

ReportValues values_of(const SeedReport& r) {
  // Of a seed that was beaten before it began only that is known.
  const auto known = [&](FieldValue value) { return r.started ? std::optional(std::move(value)) : std::nullopt; };
  const auto count = [&](std::uint64_t value) { return known(value); };
  return {
      {"seed", r.seed},
      {"steps", count(r.steps)},
      {"best_step", count(r.best_step)},
      {"score", r.verdict.judged() ? std::optional<FieldValue>(r.verdict.score) : std::nullopt},
      {"validation_score", known(r.validation_score)},
      {"validation_loss", known(r.validation_loss)},
      {"solved", r.solved},
      {"verdict", r.verdict.text},
      {"judged_by", r.verdict.data},
      {"made", known(word_for(r.provenance))},
      {"outcome", r.outcome},
      {"seconds", known(r.seconds)},
      {"num_parameters", count(r.num_parameters)},
      {"model_hash", known(r.model_hash)},
      {"weights_hash", text_or_none(r.weights_hash)},
      {"other_bits", text_or_none(r.other_bits)},
  };
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

}  // namespace espalier
