// The simplify task through the trainer: the same bits for any thread count, resumed equals unbroken, it learns.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "models/message/rewrite_model.hpp"
#include "models/message/simplify_data.hpp"
#include "runs/checkpoint.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

RunConfig small_config() {
  return configure("simplify", {{"train-steps", "6"},
                                {"train-examples", "150"},
                                {"validation-examples", "20"},
                                {"test-examples", "20"},
                                {"deep-examples", "5"},
                                {"features", "12"},
                                {"layers", "2"},
                                {"batch-size", "64"},
                                {"eval-every", "3"},
                                {"depth", "3"}});
}

struct TaskRun {
  std::unique_ptr<Objective> objective;
  std::unique_ptr<Trainer> trainer;
  TaskRun(const RunConfig& config, const ThreadPool& pool)
      : objective(config.make_objective()), trainer(std::make_unique<Trainer>(*objective, config.train, pool)) {}
};

TEST(SimplifyTask, AnyThreadCountGivesTheSameBits) {
  const Oversubscribe many;
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    TaskRun run(small_config(), pool);
    run.trainer->run([](const Trainer&, bool) { return true; });
    const std::string hash = run.objective->parameters().hash() + std::to_string(run.trainer->state().best.loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

TEST(SimplifyTask, ResumedEqualsUnbroken) {
  const ThreadPool pool(1);
  TaskRun whole(small_config(), pool), first(small_config(), pool), second(small_config(), pool);
  whole.trainer->run([](const Trainer&, bool) { return true; });
  first.trainer->run([](const Trainer& t, bool) { return t.state().step < 4; });
  restore_checkpoint(*second.trainer, make_checkpoint(*first.trainer, {}), {});
  second.trainer->run([](const Trainer&, bool) { return true; });
  EXPECT_EQ(second.objective->parameters().hash(), whole.objective->parameters().hash());
}

// The loss of every step.
std::vector<double> loss_curve(const RunConfig& config) {
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
    RunConfig config = small_config();
    config.set("train-steps", "5");
    config.set("aggregation", aggregation);
    const std::vector<double> fast = loss_curve(config);
    config.set("reference", "true");
    const std::vector<double> plain = loss_curve(config);
    ASSERT_EQ(fast.size(), 5u);
    ASSERT_EQ(plain.size(), 5u);
    EXPECT_LT(fast.back(), fast.front());
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(plain[i] / fast[i], 1.0, 1e-5) << aggregation << " step " << i;
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
  for (const Expression& e : data.deep) EXPECT_EQ(expression_depth(e), 6);

  RunConfig config = small_config();
  config.set("data", folder / "lines.jsonl");
  const std::vector<double> losses = loss_curve(config);
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(losses.back(), losses.front());
  config.set("depth", "2");
  EXPECT_THROW(loss_curve(config), Error);  // the deeper set would not be twice as deep
  config.set("depth", "3");
  config.set("test-examples", "100");
  EXPECT_THROW(loss_curve(config), Error);  // nothing left to learn from
}

TEST(SimplifyTask, LearnsAndItsModelFileRewrites) {
  const RunConfig config = configure("simplify", {{"train-steps", "250"},
                                                  {"train-examples", "1500"},
                                                  {"validation-examples", "100"},
                                                  {"test-examples", "100"},
                                                  {"deep-examples", "30"},
                                                  {"features", "24"},
                                                  {"batch-size", "64"},
                                                  {"depth", "3"},
                                                  {"most-number", "3"}});
  const ThreadPool pool(0);
  TaskRun run(config, pool);
  run.trainer->run([](const Trainer&, bool) { return true; });
  EXPECT_GE(run.trainer->state().best.score, 0.95);
  std::map<std::string, double> facts;
  for (const auto& [name, value] : run.objective->report(*run.trainer->best_model(), pool))
    if (const auto* number = std::get_if<double>(&value)) facts[name] = *number;
  EXPECT_GE(facts.at("test.model.fixed_point"), 0.93);
  EXPECT_LE(facts.at("test.baseline_keep.fixed_point"), 0.5);
  EXPECT_LE(facts.at("test.baseline_label.fixed_point"), 0.5);
  EXPECT_LT(facts.at("test.model.mean_edit_distance"), 0.5);
  EXPECT_GT(facts.at("test.baseline_keep.mean_edit_distance"), 1.0);
  EXPECT_TRUE(facts.contains("deep.model.fixed_point"));

  const SafetensorsFile file = SafetensorsFile::parse(model_file(*run.trainer->best_model()).serialize(), "test");
  const LoadedModel loaded = load_model(file, "test");
  const GraphTransformNet& net = dynamic_cast<const RewriteModel&>(*loaded.model).net();
  EXPECT_EQ(to_text(net.rewrite(parse_expression("(+ (* x 1) 0)"), 20).back()), "x");
  SafetensorsFile wrong = file;
  wrong.metadata["vocabulary"] = "3";
  EXPECT_THROW(load_model(wrong, "test"), Error);
  wrong = file;
  wrong.tensors.erase("head.bias");
  EXPECT_THROW(load_model(wrong, "test"), Error);
}

}  // namespace
}  // namespace espalier
