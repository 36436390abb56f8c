// Checkpoints: everything comes back to the bit, and nothing that is foreign or damaged gets in.
#include "runs/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

template <class Toy>
struct ToyRun {
  explicit ToyRun(const TrainOptions& options = {}, std::uint64_t seed = 1) : toy(seed), trainer(toy, options, pool) {}
  ThreadPool pool{1};
  Toy toy;
  Trainer trainer;
};
using Plain = ToyRun<ToyObjective>;
using Growing = ToyRun<GrowingToy>;

bool carry_on(const Trainer&, bool) { return true; }

SafetensorsFile stored(const SafetensorsFile& file) { return SafetensorsFile::parse(file.serialize(), "test"); }

SafetensorsFile checkpoint_after(Plain& run, int steps) {
  run.trainer.evaluate();
  for (int i = 0; i < steps; ++i) run.trainer.step();
  return make_checkpoint(run.trainer, {});
}

TEST(CheckpointDeterminism, ResumingAnywhereGivesTheBitsOfAnUninterruptedRun) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    TrainOptions o{.steps = 30, .eval_every = 7};
    o.optimizer.kind = kind;
    o.optimizer.clip_norm = 5.0f;
    o.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.05, .warmup = 3};
    Growing whole(o);
    whole.trainer.run(carry_on);
    for (const std::uint64_t stop : {1u, 6u, 7u, 20u, 29u, 30u}) {
      Growing first(o);
      first.trainer.run([&](const Trainer& t, bool) { return t.state().step < stop; });
      const SafetensorsFile saved = stored(make_checkpoint(first.trainer, {}));
      Growing second(o);
      second.toy.parameters().values()[0] = 99;  // other weights, which the checkpoint replaces
      EXPECT_FALSE(restore_checkpoint(second.trainer, saved, {}).finished);
      EXPECT_EQ(second.trainer.state().step, stop);
      EXPECT_EQ(second.toy.grown(), first.toy.grown());
      second.trainer.run(carry_on);
      EXPECT_EQ(second.toy.parameters().hash(), whole.toy.parameters().hash()) << stop;
      EXPECT_EQ(second.trainer.state().loss, whole.trainer.state().loss) << stop;
      EXPECT_EQ(second.trainer.state().best_values, whole.trainer.state().best_values);
      EXPECT_EQ(second.trainer.state().best_state.serialize(), whole.trainer.state().best_state.serialize());
      EXPECT_EQ(second.trainer.state().best_step, whole.trainer.state().best_step);
      EXPECT_EQ(second.trainer.state().evaluations_since_best, whole.trainer.state().evaluations_since_best);
      EXPECT_EQ(second.toy.grown(), whole.toy.grown());
      EXPECT_EQ(second.toy.state().serialize(), whole.toy.state().serialize());
    }
  }
}

TEST(Checkpoint, AStepCancelledAfterItsGrowthIsSavedAndGoesOn) {
  const TrainOptions o{.steps = 12, .eval_every = 4};
  Growing whole(o);
  whole.trainer.run(carry_on);
  for (const std::uint64_t at : {3u, 4u, 9u}) {
    Growing first(o), second(o);
    StopFlag stop;
    first.pool.watch(&stop);
    first.toy.on_chunk = [&](std::uint64_t) {
      if (first.trainer.state().step == at) stop.raise();
    };
    ASSERT_EQ(first.trainer.run(carry_on), Outcome::kInterrupted);
    ASSERT_EQ(first.trainer.state().step, at);
    restore_checkpoint(second.trainer, stored(make_checkpoint(first.trainer, {})), {});
    second.trainer.run(carry_on);
    EXPECT_EQ(second.toy.parameters().hash(), whole.toy.parameters().hash()) << at;
    EXPECT_EQ(second.toy.grown(), whole.toy.grown()) << at;
  }
}

TEST(Checkpoint, ALossThatIsNotFiniteSurvives) {
  // A validation loss may be infinite or undefined, and a resumed run must compare with it just the same.
  for (const double loss : std::initializer_list<double>{INFINITY, -INFINITY, NAN, 0.1, 1e-310}) {
    Plain run;
    run.toy.loss_override = loss;
    const SafetensorsFile file = checkpoint_after(run, 1);
    Plain other;
    restore_checkpoint(other.trainer, stored(file), {});
    if (std::isnan(loss))
      EXPECT_TRUE(std::isnan(other.trainer.state().best.loss));
    else
      EXPECT_EQ(other.trainer.state().best.loss, loss);
    EXPECT_EQ(other.trainer.state().best.extra, run.trainer.state().best.extra);
  }
}

TEST(Checkpoint, BeforeTheFirstStepItHasNoLossYet) {
  Plain run, other;
  restore_checkpoint(other.trainer, make_checkpoint(run.trainer, {}), {});
  EXPECT_TRUE(std::isnan(other.trainer.state().loss));
  EXPECT_FALSE(other.trainer.state().evaluated);
}

TEST(Checkpoint, TellsWhetherTheRunHadFinished) {
  Plain run;
  EXPECT_TRUE(restore_checkpoint(run.trainer, make_checkpoint(run.trainer, {true, "", {}}), {}).finished);
  EXPECT_FALSE(restore_checkpoint(run.trainer, make_checkpoint(run.trainer, {}), {}).finished);
}

TEST(Checkpoint, OfOtherSettingsOrOtherDataIsRefused) {
  Plain run;
  const CheckpointNotes made{false, "settings", {{"first.csv", "1111"}, {"folder/second.csv", "2222"}}};
  const SafetensorsFile file = stored(make_checkpoint(run.trainer, made));
  EXPECT_NO_THROW(restore_checkpoint(run.trainer, file, made));
  const auto message = [&](auto&& change) {
    CheckpointNotes now = made;
    change(now);
    return message_of<Error>([&] { restore_checkpoint(run.trainer, file, now); });
  };
  EXPECT_THAT(message([](auto& n) { n.config_hash = "others"; }), HasSubstr("config.json"));
  const std::string changed = message([](auto& n) { n.inputs[1].second = "3333"; });
  EXPECT_THAT(changed, HasSubstr("changed"));
  EXPECT_THAT(changed, HasSubstr("folder/second.csv"));
  EXPECT_THAT(changed, testing::Not(HasSubstr("first.csv")));
  EXPECT_THAT(message([](auto& n) { n.inputs.pop_back(); }), HasSubstr("2 data files"));
}

// The same file with a new seal: what was changed on purpose, not by chance.
SafetensorsFile sealed_again(SafetensorsFile file) {
  file.metadata.erase("seal");
  const auto bytes = file.serialize();
  file.metadata["seal"] = Hasher().add(bytes.data(), bytes.size()).hex();
  return file;
}

TEST(Checkpoint, AnyDamageBreaksTheSeal) {
  Plain run;
  const SafetensorsFile good = checkpoint_after(run, 2);
  const auto message = [&](auto&& damage) {
    SafetensorsFile file = good;
    damage(file);
    Plain other;
    const std::string before = other.toy.parameters().hash();
    const std::string text = message_of<Error>([&] { restore_checkpoint(other.trainer, file, {}); });
    EXPECT_EQ(other.toy.parameters().hash(), before);
    EXPECT_EQ(other.trainer.state().step, 0u);
    return text;
  };
  EXPECT_THAT(message([](auto& f) { f.metadata.erase("format"); }), HasSubstr("format"));
  EXPECT_THAT(message([](auto& f) { f.metadata["format"] = "espalier checkpoint 1"; }), HasSubstr("another version"));
  EXPECT_THAT(message([](auto& f) { f.metadata.erase("seal"); }), HasSubstr("seal"));
  for (const char* name : {"weights", "first_moment", "second_moment", "best_weights"}) {
    EXPECT_THAT(message([&](auto& f) { f.tensors[name].bytes[5] ^= std::byte{1}; }), HasSubstr("damaged")) << name;
    EXPECT_THAT(message([&](auto& f) { f.tensors.erase(name); }), HasSubstr("damaged")) << name;
  }
  EXPECT_THAT(message([](auto& f) { f.metadata["state"] = "{}"; }), HasSubstr("damaged"));
  EXPECT_THAT(message([](auto& f) { f.metadata["more"] = "x"; }), HasSubstr("damaged"));
}

TEST(Checkpoint, ASealDoesNotMakeNonsenseGood) {
  Plain run;
  const SafetensorsFile good = checkpoint_after(run, 2);
  const auto message = [&](auto&& change) {
    SafetensorsFile file = good;
    change(file);
    Plain other;
    const std::string before = other.toy.parameters().hash();
    const std::string text = message_of<Error>([&] { restore_checkpoint(other.trainer, sealed_again(file), {}); });
    EXPECT_EQ(other.toy.parameters().hash(), before);
    EXPECT_EQ(other.trainer.state().step, 0u);
    return text;
  };
  const auto with_state = [&](const char* key, const nlohmann::json& value) {
    return message([&](SafetensorsFile& f) {
      auto state = nlohmann::json::parse(f.metadata.at("state"));
      state[key] = value;
      f.metadata["state"] = state.dump();
    });
  };
  EXPECT_THAT(message([](auto& f) { f.metadata.erase("state"); }), HasSubstr("state"));
  EXPECT_THAT(message([](auto& f) { f.metadata["state"] = "{"; }), HasSubstr("not JSON"));
  EXPECT_THAT(message([](auto& f) { f.metadata["state"] = "[1]"; }), HasSubstr("wrong entries"));
  EXPECT_THAT(message([](auto& f) { f.metadata["inputs"] = "[1]"; }), HasSubstr("1 data files"));
  EXPECT_THAT(message([](auto& f) { f.tensors.erase("weights"); }), HasSubstr("weights"));
  EXPECT_THAT(message([](auto& f) {
                f.tensors.erase("weights");
                f.add("weights", {3}, std::vector<float>{1, 2, 3});
              }),
              HasSubstr("3 values"));
  EXPECT_THAT(message([](auto& f) { f.tensors["first_moment"].type = DType::kI32; }), HasSubstr("I32"));
  for (const char* name : {"weights", "first_moment", "second_moment", "best_weights"})
    for (const float bad : {NAN, INFINITY})
      EXPECT_THAT(message([&](auto& f) { std::memcpy(f.tensors[name].bytes.data() + 8, &bad, sizeof bad); }),
                  HasSubstr(name));
  EXPECT_THAT(with_state("step", 1), HasSubstr("contradict"));
  EXPECT_THAT(with_state("step", -1), HasSubstr("step"));
  EXPECT_THAT(with_state("step", 1.5), HasSubstr("step"));
  EXPECT_THAT(with_state("step", std::uint64_t{1} << 63), HasSubstr("contradict"));
  EXPECT_THAT(with_state("optimizer_steps", 3), HasSubstr("contradict"));
  EXPECT_THAT(with_state("best_step", 3), HasSubstr("contradict"));
  EXPECT_THAT(with_state("evaluated_step", 3), HasSubstr("contradict"));
  EXPECT_THAT(with_state("seconds", -1.0), HasSubstr("contradict"));
  EXPECT_THAT(with_state("seconds", "nan"), HasSubstr("contradict"));
  EXPECT_THAT(with_state("evaluated", 1), HasSubstr("wrong entries"));
  EXPECT_THAT(with_state("evaluated", false), HasSubstr("best_weights"));
  EXPECT_THAT(with_state("last", 5), HasSubstr("wrong entries"));
  EXPECT_THAT(with_state("evaluations_since_best", "many"), HasSubstr("evaluations_since_best"));
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  Plain run;
  const SafetensorsFile file = checkpoint_after(run, 2);
  TrainOptions sgd;
  sgd.optimizer.kind = OptimizerKind::kSgd;
  Plain other(sgd);
  EXPECT_THAT(message_of<Error>([&] { restore_checkpoint(other.trainer, file, {}); }), HasSubstr("another model"));
}

TEST(Model, AFileHasTheWeightsTheKindAndTheNotes) {
  Plain run;
  run.trainer.evaluate();
  const std::vector<float> best(run.toy.parameters().values().begin(), run.toy.parameters().values().end());
  run.trainer.step();  // a step without evaluation: these weights are not the best ones
  const SafetensorsFile file = stored(model_file(*run.trainer.best_model(), {{"config", "{}"}, {"step", "0"}}));
  EXPECT_EQ(file.floats("w"), best);
  EXPECT_EQ(file.meta("kind"), "toy");
  EXPECT_EQ(file.meta("config"), "{}");
  EXPECT_EQ(file.meta("format"), "espalier model 2");
  ToyObjective other(5);
  load_parameters(other.parameters(), file);
  EXPECT_TRUE(std::equal(best.begin(), best.end(), other.parameters().values().begin()));
}

TEST(Model, OfAnotherShapeOrWithoutFiniteWeightsIsAnError) {
  Plain run;
  run.trainer.evaluate();
  SafetensorsFile file = model_file(*run.trainer.best_model());
  file.tensors["w"].shape = {ToyObjective::kInputs / 2, 2};
  EXPECT_THAT(message_of<Error>([&] { load_parameters(run.toy.parameters(), file); }), HasSubstr("[12, 2]"));
  file = model_file(*run.trainer.best_model());
  const float bad = NAN;
  std::memcpy(file.tensors["w"].bytes.data(), &bad, sizeof bad);
  EXPECT_THAT(message_of<Error>([&] { load_parameters(run.toy.parameters(), file); }), HasSubstr("finite"));
}

}  // namespace
}  // namespace espalier
