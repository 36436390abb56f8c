// Models of format 1, as the first published version wrote them: still read, still giving what they gave then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/model.hpp"
#include "models/dag/table_data.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/message/rewrite.hpp"
#include "places.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

std::string old_file(const std::string& name) { return test::source_dir() + "/tests/data/old/" + name; }

const LatticeModel& lattice(const LoadedModel& loaded) { return dynamic_cast<const LatticeModel&>(*loaded.model); }

// The board after so many steps, as the program hashes it.
std::string board_hash(const LatticeModel& model, int height, int width, std::uint64_t steps, std::uint64_t seed,
                       double fire_rate = 1) {
  SimulatorOptions options;
  options.periodic = model.periodic();
  options.seed = seed;
  options.fire_rate = fire_rate;
  const auto stepper = make_stepper(model, model.start(height, width, seed), options, false);
  stepper->advance(steps, ThreadPool(1));
  const BoardState state = stepper->state();
  return Hasher().add(std::span<const float>(state.values)).hex();
}

std::vector<double> trial_scores(const LatticeModel& model) {
  std::vector<double> scores;
  for (const Trial& trial : run_trials(model, {.seed = 1, .reset_steps = 100}, ThreadPool(2)))
    scores.push_back(trial.score);
  return scores;
}

TEST(OldFiles, ACheckerboardRunsAsItDid) {
  const LoadedModel loaded = load_model(old_file("board"));
  const LatticeModel& model = lattice(loaded);
  EXPECT_EQ(model.goal().kind(), "checkerboard");
  EXPECT_EQ(model.seed(), 4u);
  EXPECT_EQ(model.channels(), 4);
  EXPECT_EQ(loaded.notes.at("epoch"), "390");
  EXPECT_EQ(loaded.notes.at("solved"), "false");
  EXPECT_EQ(board_hash(model, 8, 8, 20, 3), "b5e0fcbb8f4d93f766a950662914e61c");
  EXPECT_EQ(board_hash(model, 40, 33, 50, 1, 0.5), "4af631ea1a7659ebdfb5df587a4232a1");
  std::vector<double> scores = trial_scores(model);
  EXPECT_NEAR(scores.at(0), 0.975, 1e-3);  // boards that nothing has seen
  scores.erase(scores.begin());
  EXPECT_EQ(scores, (std::vector<double>{0.9345703125, 1.0, 0.9814453125, 0.9716796875, 0.6796875}));
}

TEST(OldFiles, ALifeModelIsJudgedByConwaysRule) {
  const LoadedModel loaded = load_model(old_file("life"));
  const LatticeModel& model = lattice(loaded);
  EXPECT_EQ(model.goal().kind(), "rule");
  EXPECT_EQ(model.goal().name(), "B3/S23");
  EXPECT_EQ(board_hash(model, 64, 64, 100, 3), "a21d459c03bf6c99b7ce04b81707a4d0");
  EXPECT_EQ(trial_scores(model), (std::vector<double>{0.7265625, 0.93975830078125}));
}

TEST(OldFiles, APictureKnowsItsTargetAndItsSeed) {
  const LoadedModel loaded = load_model(old_file("pattern"));
  const LatticeModel& model = lattice(loaded);
  EXPECT_EQ(model.goal().name(), "picture of 3 x 3");
  EXPECT_EQ(model.start(3, 3, 1).at(0, 1, 1), 1.0f);
  EXPECT_EQ(model.start(3, 3, 1).at(0, 0, 0), 0.0f);
  EXPECT_EQ(board_hash(model, 3, 3, 4, 3), "1ccf7168ccd4b582bd00040351d71078");
  EXPECT_EQ(trial_scores(model), (std::vector<double>{1.0, 0.5555555555555556, 0.5555555555555556, 0.5,
                                                      0.8888888888888888, 0.6666666666666666, 0.6666666666666666}));
}

TEST(OldFiles, ATableThatGrewPredictsAsItDid) {
  LoadedModel loaded = load_model(old_file("table"));
  auto& model = dynamic_cast<TableModel&>(*loaded.model);
  EXPECT_EQ(model.network().topology().edges().size(), 26u);
  EXPECT_EQ(model.network().topology().nodes().size(), 12u);
  const CsvTable table = parse_csv(read_text(old_file("table/rows.csv")), "rows");
  std::vector<std::size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const std::vector<float> x = model.schema().inputs_of(table, rows);
  const auto y = model.network().forward(x, rows.size(), ThreadPool(1));
  // Probabilities of the first class.
  const double expected[] = {0.8090, 0.7416, 0.7483, 0.7665, 0.1528, 0.1812,
                             0.1743, 0.1118, 0.8032, 0.7216, 0.1610, 0.1268};
  ASSERT_EQ(rows.size(), std::size(expected));
  for (std::size_t r = 0; r < rows.size(); ++r)
    EXPECT_NEAR(1 / (1 + std::exp(static_cast<double>(y[2 * r + 1]) - y[2 * r])), expected[r], 5e-5) << r;
}

TEST(OldFiles, ARewriteNetworkRewritesAsItDid) {
  const LoadedModel loaded = load_model(old_file("simplify"));
  const auto& model = dynamic_cast<const RewriteModel&>(*loaded.model);
  EXPECT_EQ(model.net().options().features, 8u);
  EXPECT_EQ(model.net().options().layers, 2u);
  EXPECT_FALSE(model.share());
  const std::vector<std::vector<std::string>> expected{{"(+ (* x 1) 0)", "x"},
                                                       {"(* (+ 0 y) 1)", "y"},
                                                       {"(- x (* 0 z))", "(- x 0)", "x"},
                                                       {"(+ 1 (* x 0))", "(+ 1 0)", "1"}};
  for (const auto& passes : expected) {
    const auto [got, settled] = rewrite(model.net(), parse_expression(passes[0]), 10, model.share());
    ASSERT_EQ(got.size(), passes.size());
    for (std::size_t i = 0; i < passes.size(); ++i) EXPECT_EQ(to_text(got[i]), passes[i]);
    EXPECT_TRUE(settled);
  }
}

TEST(OldFiles, SavedAgainTheyAreOfThisVersionAndTheSame) {
  const TempFolder folder;
  for (const char* name : {"board", "life", "pattern", "table", "simplify"}) {
    const LoadedModel before = load_model(old_file(name));
    save_model(folder / name, *before.model, before.notes);
    const LoadedModel after = load_model(folder / name);
    EXPECT_EQ(after.model->parameters().hash(), before.model->parameters().hash()) << name;
    EXPECT_EQ(after.model->facts(), before.model->facts()) << name;
    EXPECT_EQ(after.notes, before.notes) << name;
    EXPECT_EQ(read_safetensors(folder / name).meta("format"), "espalier model 2");
    EXPECT_EQ(model_file(*after.model, after.notes).serialize(), read_safetensors(folder / name).serialize()) << name;
  }
}

TEST(OldFiles, UnknownFormatsAndKindsAreRefused) {
  for (const char* name : {"board", "table", "simplify"}) {
    const SafetensorsFile good = read_safetensors(old_file(name) + "/model.safetensors");
    const auto refused = [&](auto&& change) {
      SafetensorsFile file = good;
      file.metadata.erase("tensors_hash");
      change(file);
      return message_of<Error>([&] { load_model(file, "the file"); });
    };
    EXPECT_THAT(refused([](auto& f) { f.metadata["format"] = "espalier model 9"; }), HasSubstr("espalier model 9"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["format"] = ""; }), HasSubstr("the file"));
    EXPECT_THAT(refused([](auto& f) { f.metadata.erase("format"); }), HasSubstr("no format"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["kind"] = "crystal ball"; }), HasSubstr("crystal ball"));
    EXPECT_THAT(refused([](auto& f) { f.metadata.erase("config"); }), HasSubstr("config"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["config"] = "{"; }), HasSubstr("JSON"));
    EXPECT_THAT(refused([](auto& f) { f.tensors.clear(); }), HasSubstr("tensor"));
    const std::string other = refused([](auto& f) {
      f.metadata.erase("kind");
      f.metadata.erase("table");
      f.metadata.erase("vocabulary");
    });
    EXPECT_THAT(other, HasSubstr("kind"));
  }
}

TEST(OldFiles, ACheckpointOfAnotherVersionIsNotAModel) {
  SafetensorsFile file;
  file.metadata["format"] = "espalier checkpoint 1";
  EXPECT_THAT(message_of<Error>([&] { load_model(file, "the file"); }), HasSubstr("espalier checkpoint 1"));
  EXPECT_THROW(load_model(old_file("nowhere")), Error);
  EXPECT_THROW(load_model(old_file("table/rows.csv")), Error);
}

}  // namespace
}  // namespace espalier
