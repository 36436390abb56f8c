// The simplify task through the trainer: the same bits for any thread count, resumed equals unbroken, it learns; its
// model files, new and old.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/message_passing.hpp"
#include "models/message/simplify_objective.hpp"
#include "runs/checkpoint.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

SimplifyTaskOptions small_options() {
  SimplifyTaskOptions o;
  o.data.train = 150;
  o.data.validation = o.data.test = 20;
  o.data.deep = 5;
  o.data.depth = 3;
  o.net = {.features = 12, .layers = 2};
  o.batch_size = 64;
  return o;
}

TrainOptions train_options(std::uint64_t steps, std::uint64_t eval_every) {
  TrainOptions o{.steps = steps, .eval_every = eval_every};
  o.optimizer.beta2 = 0.98f;
  o.optimizer.clip_norm = 1;
  o.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.004};
  return o;
}

struct TaskRun {
  SimplifyObjective objective;
  Trainer trainer;
  TaskRun(const SimplifyTaskOptions& options, const ThreadPool& pool, const TrainOptions& train = train_options(6, 3))
      : objective(options, 1), trainer(objective, train, pool) {}
  void all() {
    trainer.run([](const Trainer&, bool) { return true; });
  }
};

TEST(Simplify, TheTestAndTheDeepSetJudge) {
  SimplifyTaskOptions options = small_options();
  TaskRun untrained(options, calling_thread(), train_options(1, 1));
  untrained.all();
  const Verdict wrong = untrained.objective.judge(*untrained.trainer.best_model(), calling_thread());
  EXPECT_FALSE(wrong.solved);
  EXPECT_TRUE(wrong.judged());
  EXPECT_NE(wrong.text.find(" of 20 expressions right, and "), std::string::npos) << wrong.text;
  EXPECT_EQ(wrong.data, "25 expressions that neither fitting nor choosing has seen");

  options.data.train = 4000;
  options.data.validation = options.data.test = 60;
  options.data.deep = 20;
  options.data.max_number = 3;
  options.net = {.features = 24};
  const ThreadPool pool(2);
  TaskRun run(options, pool, train_options(800, 50));
  run.all();
  const auto best = run.trainer.best_model();
  const Verdict right = run.objective.judge(*best, pool);
  EXPECT_EQ(right.text, "60 of 60 expressions right, and 20 of 20 of twice the depth");
  EXPECT_TRUE(right.solved);

  // The same model, judged by few expressions, some of them in normal form already: that shows nothing.
  options.data.test = options.data.deep = 3;
  const Verdict few = SimplifyObjective(options, 1).judge(*best, pool);
  EXPECT_EQ(few.score, 1);
  EXPECT_FALSE(few.solved);
  EXPECT_NE(few.text.find("too few"), std::string::npos) << few.text;
  options.data.test = 0;
  EXPECT_FALSE(SimplifyObjective(options, 1).judge(*best, pool).judged());
}

TEST(Simplify, AnyThreadCountGivesTheSameBits) {
  const Oversubscribe more_threads_than_cores;
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    TaskRun run(small_options(), pool);
    run.all();
    const std::string hash = run.objective.parameters().hash() + std::to_string(run.trainer.state().best.loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

// The column of the metrics, against distances one by one; the same bits for any number of threads.
TEST(Simplify, EveryEvaluationHasTheMeanEditDistanceToWhatWasExpected) {
  const Oversubscribe more_threads_than_cores;
  SimplifyObjective objective(small_options(), 3);
  const auto distance_of = [](const Evaluation& e) {
    for (const auto& [name, value] : e.extra)
      if (name == "edit_distance") return value;
    return -1.0;
  };
  double expected = 0;
  const SimplifyData& data = objective.data();
  const std::vector<Rewritten> outputs = rewrite_all(objective.net(), data.validation, 64, false, calling_thread());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto graph = [](const Expression& e) { return graph_of_expression(as_tree(e)); };
    const EditDistanceReport r =
        edit_distance(graph(outputs[i].last), graph(normal_form(data.validation[i], data.words)));
    ASSERT_TRUE(r.exact);
    expected += r.distance / static_cast<double>(outputs.size());
  }
  EXPECT_GT(expected, 0);
  for (const int threads : kThreadCounts)
    EXPECT_DOUBLE_EQ(distance_of(objective.evaluate(ThreadPool(threads))), expected) << threads;
}

TEST(Simplify, ResumedEqualsUnbroken) {
  const ThreadPool pool(1);
  TaskRun whole(small_options(), pool), first(small_options(), pool), second(small_options(), pool);
  whole.all();
  first.trainer.run([](const Trainer& t, bool) { return t.state().step < 4; });
  restore_checkpoint(second.trainer, make_checkpoint(first.trainer, {}), {});
  second.all();
  EXPECT_EQ(second.objective.parameters().hash(), whole.objective.parameters().hash());
}

std::vector<double> loss_curve(const SimplifyTaskOptions& options, std::uint64_t steps) {
  const ThreadPool pool(2);
  TaskRun run(options, pool, train_options(steps, 3));
  std::vector<double> losses;
  run.trainer.run([&](const Trainer& t, bool) {
    losses.push_back(t.state().loss);
    return true;
  });
  return losses;
}

TEST(Simplify, TheReferenceLearnsTheSameCurve) {
  for (const Aggregation aggregation : {Aggregation::kMean, Aggregation::kMax}) {
    SimplifyTaskOptions options = small_options();
    options.net.aggregation = aggregation;
    const std::vector<double> fast = loss_curve(options, 5);
    options.reference = true;
    const std::vector<double> plain = loss_curve(options, 5);
    ASSERT_EQ(fast.size(), 5u);
    ASSERT_EQ(plain.size(), 5u);
    EXPECT_LT(fast.back(), fast.front());
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(plain[i] / fast[i], 1.0, 1e-5) << static_cast<int>(aggregation);
  }
}

TEST(Simplify, AFileOfExamplesTrainsAndItsSetsAreDisjoint) {
  const TempFolder folder;
  SimplifyDataOptions options;
  options.train = 120;
  options.validation = options.test = options.deep = 0;
  options.depth = 3;
  const SimplifyData made = make_simplify_data(options, 0);
  std::string text;
  for (const Expression& e : made.train) text += simplify_line(e, made.words) + "\n";
  text += simplify_line(made.train[0], made.words) + "\n";  // twice in the file, once in the sets
  std::ofstream(folder / "lines.jsonl") << text;
  options.file = folder / "lines.jsonl";
  options.validation = 20;
  options.test = 10;
  options.deep = 5;
  const SimplifyData data = make_simplify_data(options, 0);
  EXPECT_EQ(data.train.size(), 90u);
  std::set<std::string> all;
  for (const auto* part : {&data.train, &data.validation, &data.test})
    for (const Expression& e : *part) EXPECT_TRUE(all.insert(to_text(e)).second) << to_text(e);
  for (const Expression& e : made.train) EXPECT_TRUE(all.contains(to_text(e))) << to_text(e);
  for (const Expression& e : data.deep) EXPECT_EQ(expression_depth(e), 6u);

  SimplifyTaskOptions task = small_options();
  task.data.file = folder / "lines.jsonl";
  const std::vector<double> losses = loss_curve(task, 6);
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(losses.back(), losses.front());
  task.data.depth = 2;
  EXPECT_THROW(loss_curve(task, 6), Error);  // the deeper set would not be twice as deep
  task.data.depth = 3;
  task.data.test = 100;
  EXPECT_THROW(loss_curve(task, 6), Error);  // nothing left to learn from
}

double number(const Facts& facts, const std::string& name) {
  for (const auto& [key, value] : facts)
    if (key == name) return std::get<double>(value);
  ADD_FAILURE() << name;
  return 0;
}

TEST(Simplify, LearnsAndItsModelFileRewrites) {
  SimplifyTaskOptions options;
  options.data.train = 1500;
  options.data.validation = options.data.test = 100;
  options.data.deep = 30;
  options.data.depth = options.data.max_number = 3;
  options.net.features = 24;
  options.batch_size = 64;
  const ThreadPool pool(2);
  TaskRun run(options, pool, train_options(250, 50));
  run.all();
  EXPECT_GE(run.trainer.state().best.score, 0.95);
  const std::unique_ptr<Model> best = run.trainer.best_model();
  const Facts facts = run.objective.report(*best, pool);
  EXPECT_GE(number(facts, "test.model.fixed_point"), 0.93);
  EXPECT_LE(number(facts, "test.baseline_keep.fixed_point"), 0.5);
  EXPECT_LE(number(facts, "test.baseline_label.fixed_point"), 0.5);
  EXPECT_LT(number(facts, "test.model.mean_edit_distance"), 0.5);
  EXPECT_GT(number(facts, "test.baseline_keep.mean_edit_distance"), 1.0);

  const SafetensorsFile file = SafetensorsFile::parse(model_file(*best).serialize(), "test");
  const LoadedModel loaded = load_model(file, "test");
  const auto* model = dynamic_cast<const RewriteModel*>(loaded.model.get());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->parameters().hash(), best->parameters().hash());
  EXPECT_EQ(to_text(rewrite(model->net(), parse_expression("(+ (* x 1) 0)"), 20, false).passes.back()), "x");
  const auto broken = [&](auto&& damage) {
    SafetensorsFile wrong = file;
    damage(wrong);
    EXPECT_THROW(load_model(wrong, "test"), Error);
  };
  broken([](SafetensorsFile& f) { f.metadata["vocabulary"] = "3"; });
  broken([](SafetensorsFile& f) { f.metadata["vocabulary"] = "["; });
  broken([](SafetensorsFile& f) { f.metadata["vocabulary"] = "[\"x\", 3]"; });
  broken([](SafetensorsFile& f) { f.metadata["option.layers"] = "many"; });
  broken([](SafetensorsFile& f) { f.metadata.erase("option.share"); });
  broken([](SafetensorsFile& f) { f.tensors.erase("head.bias"); });
}

TEST(Simplify, OptionsAreListedOnceWithTheirRanges) {
  SimplifyTaskOptions options;
  Fields fields = fields_of(options);
  std::vector<std::string> names;
  for (const Field& f : fields.list()) names.push_back(f.name());
  EXPECT_EQ(names, (std::vector<std::string>{"batch-size", "train-examples", "validation-examples", "test-examples",
                                             "deep-examples", "depth", "max-number", "share", "data", "features",
                                             "layers", "aggregation", "norm", "activation", "reference"}));
  fields.at("norm").set_text("none");
  EXPECT_FALSE(options.net.layer_norm);
  EXPECT_THROW(fields.at("depth").set_text("13"), Error);
  SimplifyTaskOptions none = small_options();
  none.batch_size = 0;
  EXPECT_THROW(SimplifyObjective(none, 1), Error);
  EXPECT_THROW(fields.at("activation").set_text("sigmoid"), Error);
}

}  // namespace
}  // namespace espalier
