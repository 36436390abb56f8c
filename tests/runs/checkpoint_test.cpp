#include "runs/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "espalier/error.hpp"
#include "temp_folder.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

struct ToyRun {
  ThreadPool pool{1};
  ToyObjective toy;
  Trainer trainer{toy, {}, pool};
};

SafetensorsFile checkpoint_after(ToyRun& run, int steps) {
  run.trainer.evaluate();
  for (int i = 0; i < steps; ++i) run.trainer.step();
  return make_checkpoint(run.trainer, false);
}

TEST(Checkpoint, ALossThatIsNotFiniteSurvives) {
  // A validation loss may be infinite or undefined, and a resumed run must compare with it just the same.
  for (const double loss : std::initializer_list<double>{INFINITY, -INFINITY, NAN, 0.1, 1e-310}) {
    ToyRun run;
    run.toy.loss_override = loss;
    const SafetensorsFile file = checkpoint_after(run, 1);
    ToyRun other;
    restore_checkpoint(other.trainer, SafetensorsFile::parse(file.serialize(), "test"));
    if (std::isnan(loss))
      EXPECT_TRUE(std::isnan(other.trainer.state().best.loss));
    else
      EXPECT_EQ(other.trainer.state().best.loss, loss);
    EXPECT_EQ(other.trainer.state().best.extra, run.trainer.state().best.extra);
  }
}

TEST(Checkpoint, BeforeTheFirstStepItHasNoLossYet) {
  ToyRun run, other;
  restore_checkpoint(other.trainer, make_checkpoint(run.trainer, false));
  EXPECT_TRUE(std::isnan(other.trainer.state().loss));
  EXPECT_FALSE(other.trainer.state().evaluated);
}

TEST(Checkpoint, TellsWhetherTheRunHadFinished) {
  ToyRun run;
  EXPECT_TRUE(restore_checkpoint(run.trainer, make_checkpoint(run.trainer, true)));
  EXPECT_FALSE(restore_checkpoint(run.trainer, make_checkpoint(run.trainer, false)));
}

TEST(Checkpoint, ForeignOrDamagedFilesAreOneLineErrors) {
  ToyRun run;
  const SafetensorsFile good = checkpoint_after(run, 2);
  const auto message = [&](auto&& damage) {
    SafetensorsFile file = good;
    damage(file);
    ToyRun other;
    return message_of<Error>([&] { restore_checkpoint(other.trainer, file); });
  };
  EXPECT_THAT(message([](auto& f) { f.metadata.erase("format"); }), HasSubstr("format"));
  EXPECT_THAT(message([](auto& f) { f.metadata["format"] = "espalier checkpoint 99"; }), HasSubstr("99"));
  EXPECT_THAT(message([](auto& f) { f.metadata.erase("state"); }), HasSubstr("state"));
  EXPECT_THAT(message([](auto& f) { f.metadata["state"] = "{"; }), HasSubstr("not JSON"));
  EXPECT_THAT(message([](auto& f) { f.metadata["state"] = "[1]"; }), HasSubstr("wrong entries"));
  EXPECT_THAT(message([](auto& f) { f.tensors.erase("weights"); }), HasSubstr("weights"));
  EXPECT_THAT(message([](auto& f) { f.tensors["weights"] = f.tensors["wrong"]; }), HasSubstr("0 values"));
  EXPECT_THAT(message([](auto& f) { f.tensors["weights"].bytes[0] ^= std::byte{1}; }), HasSubstr("another hash"));
  EXPECT_THAT(message([](auto& f) { f.tensors["first_moment"].type = DType::kI32; }), HasSubstr("I32"));
}

TEST(Model, HoldsTheBestWeightsAndWhatTheyNeed) {
  ToyRun run;
  run.trainer.evaluate();
  const std::vector<float> best(run.toy.parameters().values().begin(), run.toy.parameters().values().end());
  run.trainer.step();  // a step without evaluation: these weights are not the best ones
  const SafetensorsFile model = make_model(run.trainer, "{}");
  EXPECT_EQ(model.floats("w"), best);
  EXPECT_EQ(model.meta("kind"), "toy");
  EXPECT_EQ(model.meta("config"), "{}");
  ToyObjective other(5);
  load_parameters(other.parameters(), model);
  EXPECT_TRUE(std::equal(best.begin(), best.end(), other.parameters().values().begin()));
}

TEST(Model, OfAnotherShapeIsAnError) {
  ToyRun run;
  run.trainer.evaluate();
  SafetensorsFile model = make_model(run.trainer, "{}");
  model.tensors["w"].shape = {ToyObjective::kInputs / 2, 2};
  EXPECT_THAT(message_of<Error>([&] { load_parameters(run.toy.parameters(), model); }), HasSubstr("[12, 2]"));
}

}  // namespace
}  // namespace espalier
