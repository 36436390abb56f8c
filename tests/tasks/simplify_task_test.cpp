// The simplify task through the trainer: the same bits for any thread count, resumed equals unbroken, it learns.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "espalier/core/error.hpp"
#include "espalier/tasks/config.hpp"
#include "espalier/train/checkpoint.hpp"
#include "tasks/simplify_model.hpp"

namespace espalier {
namespace {

Json small_config() {
  Json c = default_config(find_task("simplify"));
  c.update({{"epochs", 6}, {"train-examples", 150}, {"validation-examples", 20}, {"test-examples", 20},
            {"deep-examples", 5}, {"features", 12}, {"layers", 2}, {"batch-size", 64}, {"eval-every", 3}, {"depth", 3}});
  return c;
}

struct TaskRun {
  std::unique_ptr<Objective> objective;
  std::unique_ptr<Trainer> trainer;
  TaskRun(const Json& config, const Pool& pool)
      : objective(find_task("simplify").make(config, config_seed(config))),
        trainer(std::make_unique<Trainer>(*objective, train_options(config), pool)) {}
};

TEST(SimplifyTask, AnyThreadCountGivesTheSameBits) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  std::string expected;
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
    const Pool pool(threads);
    TaskRun run(small_config(), pool);
    run.trainer->run([](const Trainer&, bool) { return true; });
    const std::string hash = run.objective->parameters().hash() + std::to_string(run.trainer->state().best.loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(SimplifyTask, ResumedEqualsUnbroken) {
  const Pool pool(1);
  TaskRun whole(small_config(), pool), first(small_config(), pool), second(small_config(), pool);
  whole.trainer->run([](const Trainer&, bool) { return true; });
  first.trainer->run([](const Trainer& t, bool) { return t.state().epoch < 4; });
  restore_checkpoint(*second.trainer, make_checkpoint(*first.trainer, false));
  second.trainer->run([](const Trainer&, bool) { return true; });
  EXPECT_EQ(second.objective->parameters().hash(), whole.objective->parameters().hash());
}

TEST(SimplifyTask, LearnsAndItsModelFileRewrites) {
  Json config = default_config(find_task("simplify"));
  config.update({{"epochs", 250}, {"train-examples", 1500}, {"validation-examples", 100}, {"test-examples", 100},
                 {"deep-examples", 30}, {"features", 24}, {"batch-size", 64}, {"depth", 3}, {"most-number", 3}});
  const Pool pool(0);
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
  EXPECT_EQ(to_text(net.rewrite(parse_expression("(+ (* x 1) 0)"), 20).back()), "x");
  SafetensorsFile wrong = file;
  wrong.metadata["vocabulary"] = "3";
  EXPECT_THROW(load_simplify_model(wrong), Error);
  wrong = file;
  wrong.tensors.erase("head.bias");
  EXPECT_THROW(load_simplify_model(wrong), Error);
}

}  // namespace
}  // namespace espalier
