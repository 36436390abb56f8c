// The search after training: part of a run like any other, with the same bits for any threads and after a stop.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "espalier/lattice_model.hpp"
#include "espalier/model.hpp"
#include "small_runs.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

RunConfig refined_picture(const TempFolder& folder, std::uint64_t mutants) {
  RunConfig config = small_picture(folder);
  config.train.steps = 4;
  config.set("refine", std::to_string(mutants));
  return config;
}

TEST(RefinedRun, WhatTrainingLeavesUnsolvedIsSolvedBySearchForAnyNumberOfThreads) {
  const Oversubscribe many;
  const TempFolder folder;
  ThreadPool alone(1);
  const RunReport unrefined = TrainingRun::create(refined_picture(folder, 0), {}).train(alone);
  ASSERT_FALSE(unrefined.best().solved);
  std::string first;
  for (const int threads : kThreadCounts) {
    ThreadPool pool(threads);
    const std::string out = folder / fmt::format("run-{}", threads);
    const RunReport report = TrainingRun::create(refined_picture(folder, 200'000), {.folder = out}).train(pool);
    EXPECT_TRUE(report.best().solved);
    EXPECT_EQ(report.best().outcome, "solved");
    EXPECT_EQ(report.best().weights_hash, "") << "weights did not make this circuit";
    EXPECT_NE(report.best().provenance.back().by, "gradients");
    EXPECT_EQ(report.best().provenance.back().wrong_after, 0);
    const LoadedModel loaded = load_model(out);
    EXPECT_TRUE(dynamic_cast<const LatticeModel&>(*loaded.model).is_refined());
    EXPECT_EQ(loaded.notes.at("solved"), "true");
    const std::string hash = read_safetensors(out + "/model.safetensors").tensors_hash();
    if (first.empty()) first = hash;
    EXPECT_EQ(hash, first) << threads;
  }
}

// The values of one column of metrics.csv.
std::vector<double> column(const std::string& folder, const std::string& name) {
  std::istringstream lines(read_text(folder + "/metrics.csv"));
  std::string line;
  std::getline(lines, line);
  const std::string header = "," + line + ",";
  const std::size_t at = header.find("," + name + ",");
  if (at == std::string::npos) return {};
  const auto number = std::count(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(at), ',');
  std::vector<double> values;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string field;
    for (std::ptrdiff_t i = 0; i <= number; ++i) std::getline(fields, field, ',');
    values.push_back(std::strtod(field.c_str(), nullptr));
  }
  return values;
}

TEST(RefinedRun, TheMetricsTellWhatASearchDidAlsoAfterAStop) {
  const TempFolder folder;
  ThreadPool pool(1);
  const std::string whole = folder / "whole", pieces = folder / "pieces";
  const RunReport report = TrainingRun::create(refined_picture(folder, 200'000), {.folder = whole}).train(pool);
  const std::vector<double> mutants = column(whole, "mutants"), wrong = column(whole, "validation_loss"),
                            gates = column(whole, "live_gates");
  ASSERT_FALSE(mutants.empty());
  EXPECT_EQ(mutants.front(), 0) << "the first line is an evaluation";
  const auto first = std::ranges::find_if(mutants, [](double m) { return m > 0; });
  ASSERT_NE(first, mutants.end()) << "no line of the search";
  EXPECT_TRUE(std::is_sorted(first, mutants.end()));
  const Making& last = report.best().provenance.back();
  EXPECT_EQ(wrong.back(), last.wrong_after);
  EXPECT_EQ(gates.back(), static_cast<double>(last.gates_after));
  EXPECT_GT(wrong[static_cast<std::size_t>(first - mutants.begin()) - 1], 0) << "what the search began with";
  {
    auto run = TrainingRun::create(refined_picture(folder, 200'000), {.folder = pieces});
    run.listen([&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::kSearch && event.search->done > 5000) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
  }
  TrainingRun::resume(pieces, {}).train(pool);
  for (const char* name : {"step", "loss", "score", "validation_loss", "live_gates", "mutants"})
    EXPECT_EQ(column(pieces, name), column(whole, name)) << name;
}

TEST(RefinedRun, StoppedInTheSearchAndResumedItEndsInTheSameModel) {
  const TempFolder folder;
  ThreadPool pool(1);
  const std::string whole = folder / "whole", pieces = folder / "pieces";
  TrainingRun::create(refined_picture(folder, 200'000), {.folder = whole}).train(pool);
  {
    auto run = TrainingRun::create(refined_picture(folder, 200'000), {.folder = pieces});
    run.listen([&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::kEvaluated && event.trainer->state().step == 4) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
    EXPECT_EQ(load_model(pieces).notes.count("refined.evaluations"), 0u);
  }
  const RunReport report = TrainingRun::resume(pieces, {}).train(pool);
  EXPECT_TRUE(report.best().solved);
  const auto hash = [](const std::string& path) {
    return read_safetensors(path + "/model.safetensors").tensors_hash();
  };
  EXPECT_EQ(hash(pieces), hash(whole));
  // A finished run stays as it is, also when it is given more steps.
  const RunReport again = TrainingRun::resume(pieces, {}, 40).train(pool);
  EXPECT_TRUE(again.best().solved);
  EXPECT_EQ(again.best().steps, 4u);
  EXPECT_EQ(hash(pieces), hash(whole));
}

}  // namespace
}  // namespace espalier
