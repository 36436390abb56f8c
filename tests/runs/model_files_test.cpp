// Model files as version 0.3 wrote them: still read, still giving what they gave then.
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

std::string stored(const std::string& name) { return test::source_dir() + "/tests/data/models/" + name; }

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

TEST(ModelFiles, ACheckerboardRunsAsItDid) {
  const LoadedModel loaded = load_model(stored("board"));
  const LatticeModel& model = lattice(loaded);
  EXPECT_EQ(model.goal().kind(), "checkerboard");
  EXPECT_EQ(model.seed(), 4u);
  EXPECT_EQ(model.channels(), 4);
  EXPECT_EQ(loaded.notes.at("step"), "390");
  EXPECT_EQ(loaded.notes.at("solved"), "false");
  EXPECT_EQ(board_hash(model, 8, 8, 20, 3), "b5e0fcbb8f4d93f766a950662914e61c");
  EXPECT_EQ(board_hash(model, 40, 33, 50, 1, 0.5), "4af631ea1a7659ebdfb5df587a4232a1");
  std::vector<double> scores = trial_scores(model);
  EXPECT_NEAR(scores.at(0), 0.975, 1e-3);  // boards that nothing has seen
  scores.erase(scores.begin());
  EXPECT_EQ(scores, (std::vector<double>{0.9345703125, 1.0, 0.9814453125, 0.9716796875, 0.6796875}));
}

TEST(ModelFiles, SavedAgainTheyAreTheSame) {
  const TempFolder folder;
  for (const char* name : {"board", "life", "pattern", "table", "simplify"}) {
    const LoadedModel before = load_model(stored(name));
    save_model(folder / name, *before.model, before.notes);
    const LoadedModel after = load_model(folder / name);
    EXPECT_EQ(after.model->parameters().hash(), before.model->parameters().hash()) << name;
    EXPECT_EQ(after.model->facts(), before.model->facts()) << name;
    EXPECT_EQ(after.notes, before.notes) << name;
    EXPECT_EQ(read_safetensors(folder / name).meta("format"), "espalier model 2");
    EXPECT_EQ(model_file(*after.model, after.notes).serialize(), read_safetensors(folder / name).serialize()) << name;
  }
}

TEST(ModelFiles, UnknownFormatsAndKindsAreRefused) {
  for (const char* name : {"board", "table", "simplify"}) {
    const SafetensorsFile good = read_safetensors(stored(name) + "/model.safetensors");
    const auto refused = [&](auto&& change) {
      SafetensorsFile file = good;
      file.metadata.erase("seal");
      change(file);
      return message_of<Error>([&] { load_model(file, "the file"); });
    };
    EXPECT_THAT(refused([](auto& f) { f.metadata["format"] = "espalier model 9"; }), HasSubstr("espalier model 9"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["format"] = ""; }), HasSubstr("the file"));
    EXPECT_THAT(refused([](auto& f) { f.metadata.erase("format"); }), HasSubstr("no format"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["kind"] = "crystal ball"; }), HasSubstr("crystal ball"));
    EXPECT_THAT(refused([](auto& f) { f.metadata["format"] = "espalier model 1"; }), HasSubstr("espalier model 1"));
    EXPECT_THAT(refused([](auto& f) { f.tensors.clear(); }), HasSubstr("tensor"));
    EXPECT_THAT(refused([](auto& f) { f.metadata.erase("kind"); }), HasSubstr("kind"));
  }
}

// Formats 3 to 5 are automata with more in them than weights; no other kind has them.
TEST(ModelFiles, EveryKindHasALastFormatOfItsOwn) {
  for (const auto& [name, last] : {std::pair{"board", 5}, {"table", 2}, {"simplify", 2}}) {
    SafetensorsFile file = read_safetensors(stored(name) + "/model.safetensors");
    file.metadata.erase("seal");
    for (int format = 2; format <= 6; ++format) {
      file.metadata["format"] = "espalier model " + std::to_string(format);
      if (format <= last)
        EXPECT_NO_THROW(load_model(file, "the file")) << name << " " << format;
      else
        EXPECT_THAT(message_of<Error>([&] { load_model(file, "the file"); }), HasSubstr(file.metadata["format"]));
    }
  }
}

TEST(ModelFiles, ACheckpointOfAnotherVersionIsNotAModel) {
  SafetensorsFile file;
  file.metadata["format"] = "espalier checkpoint 1";
  EXPECT_THAT(message_of<Error>([&] { load_model(file, "the file"); }), HasSubstr("espalier checkpoint 1"));
  EXPECT_THROW(load_model(stored("nowhere")), Error);
  EXPECT_THROW(load_model(stored("table/rows.csv")), Error);
}

}  // namespace
}  // namespace espalier
