// The simplify task through the trainer: the same bits for any thread count, resumed equals unbroken, it learns.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "espalier/error.hpp"
#include "models/message/simplify_model.hpp"
#include "runs/checkpoint.hpp"
#include "runs/config.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

Json small_config() {
  Json c = default_config(find_task("simplify"));
  c.update({{"epochs", 6},
            {"train-examples", 150},
            {"validation-examples", 20},
            {"test-examples", 20},
            {"deep-examples", 5},
            {"features", 12},
            {"layers", 2},
            {"batch-size", 64},
            {"eval-every", 3},
            {"depth", 3}});
  return c;
}

struct TaskRun {
  std::unique_ptr<Objective> objective;
  std::unique_ptr<Trainer> trainer;
  TaskRun(const Json& config, const ThreadPool& pool)
      : objective(find_task("simplify").make(config, config_seed(config))),
        trainer(std::make_unique<Trainer>(*objective, train_options(config), pool)) {}
};

TEST(SimplifyTask, AnyThreadCountGivesTheSameBits) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  std::string expected;
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
    const ThreadPool pool(threads);
    TaskRun run(small_config(), pool);
    run.trainer->run([](const Trainer&, bool) { return true; });
    const std::string hash = run.objective->parameters().hash() + std::to_string(run.trainer->state().best.loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(SimplifyTask, ResumedEqualsUnbroken) {
  const ThreadPool pool(1);
  TaskRun whole(small_config(), pool), first(small_config(), pool), second(small_config(), pool);
  whole.trainer->run([](const Trainer&, bool) { return true; });
  first.trainer->run([](const Trainer& t, bool) { return t.state().epoch < 4; });
  restore_checkpoint(*second.trainer, make_checkpoint(*first.trainer, false));
  second.trainer->run([](const Trainer&, bool) { return true; });
  EXPECT_EQ(second.objective->parameters().hash(), whole.objective->parameters().hash());
}

// Losses of a run's epochs.
std::vector<double> loss_curve(const Json& config) {
  const ThreadPool pool(2);
  TaskRun run(config, pool);
  std::vector<double> losses;
  run.trainer->run([&](const Trainer& t, bool) {
    losses.push_back(t.state().loss);
    return true;
  });
  return losses;
}

TEST(SimplifyTask, TheReferenceLearnsTheSameCurve) {
  for (const char* aggregation : {"mean", "max"}) {
    Json config = small_config();
    config.update({{"epochs", 5}, {"aggregation", aggregation}});
    const std::vector<double> fast = loss_curve(config);
    config["reference"] = true;
    const std::vector<double> plain = loss_curve(config);
    ASSERT_EQ(fast.size(), 5u);
    ASSERT_EQ(plain.size(), 5u);
    EXPECT_LT(fast.back(), fast.front());
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(plain[i] / fast[i], 1.0, 1e-5) << aggregation << " epoch " << i;
  }
}

TEST(SimplifyTask, AFileOfExamplesTrainsAndItsSetsAreDisjoint) {
  const TempFolder folder;
  SimplifyDataOptions options;
  options.train = 120;
  options.validation = options.test = options.deep = 0;
  options.depth = 3;
  const SimplifyData made = make_simplify_data(options);
  std::string text;
  for (const Expression& e : made.train) text += simplify_line(e, made.words) + "\n";
  text += simplify_line(made.train[0], made.words) + "\n";  // twice in the file, once in the sets
  std::ofstream(folder / "lines.jsonl") << text;
  options.file = folder / "lines.jsonl";
  options.validation = 20;
  options.test = 10;
  options.deep = 5;
  const SimplifyData data = make_simplify_data(options);
  EXPECT_EQ(data.train.size(), 90u);
  std::set<std::string> all;
  for (const auto* part : {&data.train, &data.validation, &data.test})
    for (const Expression& e : *part) EXPECT_TRUE(all.insert(to_text(e)).second) << to_text(e);
  for (const Expression& e : made.train) EXPECT_TRUE(all.contains(to_text(e))) << to_text(e);
  for (const Expression& e : data.deep) EXPECT_EQ(depth(e), 6u);

  Json config = small_config();
  config["data"] = folder / "lines.jsonl";
  const std::vector<double> losses = loss_curve(config);
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(losses.back(), losses.front());
  config["depth"] = 2;
  EXPECT_THROW(loss_curve(config), Error);  // the deeper set would not be twice as deep
  config.update({{"depth", 3}, {"test-examples", 100}});
  EXPECT_THROW(loss_curve(config), Error);  // nothing left to learn from
}

TEST(SimplifyTask, LearnsAndItsModelFileRewrites) {
  Json config = default_config(find_task("simplify"));
  config.update({{"epochs", 250},
                 {"train-examples", 1500},
                 {"validation-examples", 100},
                 {"test-examples", 100},
                 {"deep-examples", 30},
                 {"features", 24},
                 {"batch-size", 64},
                 {"depth", 3},
                 {"most-number", 3}});
  const ThreadPool pool(0);
  TaskRun run(config, pool);
  run.trainer->run([](const Trainer&, bool) { return true; });
  EXPECT_GE(run.trainer->state().best.score, 0.95);
  Json summary;
  run.objective->report(summary, run.trainer->state().best_values);
  const Json& test = summary["simplify"]["test"];
  EXPECT_GE(test["model"]["fixed_point"].get<double>(), 0.93);
  EXPECT_LE(test["baseline_keep"]["fixed_point"].get<double>(), 0.5);
  EXPECT_LE(test["baseline_label"]["fixed_point"].get<double>(), 0.5);
  EXPECT_LT(test["model"]["mean_edit_distance"].get<double>(), 0.5);
  EXPECT_GT(test["baseline_keep"]["mean_edit_distance"].get<double>(), 1.0);

  const SafetensorsFile file = SafetensorsFile::parse(make_model(*run.trainer, config.dump()).serialize(), "test");
  const GraphTransformNet net = load_simplify_model(file);
  EXPECT_EQ(to_text(rewrite(net, parse_expression("(+ (* x 1) 0)"), 20, false).passes.back()), "x");
  SafetensorsFile wrong = file;
  wrong.metadata["vocabulary"] = "3";
  EXPECT_THROW(load_simplify_model(wrong), Error);
  wrong = file;
  wrong.tensors.erase("head.bias");
  EXPECT_THROW(load_simplify_model(wrong), Error);
}

}  // namespace
}  // namespace espalier
