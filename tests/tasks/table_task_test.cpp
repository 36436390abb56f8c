// The table task: CSV, the split, iris against a linear model, growth and pruning, the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "models/dag/table_data.hpp"
#include "models/dag/table_model.hpp"
#include "runs/checkpoint.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

std::string error_of(auto&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const std::string kIris = ESPALIER_SOURCE_DIR "/data/iris.csv";

using Settings = std::initializer_list<std::pair<std::string, std::string>>;

RunConfig iris_config(Settings more = {}) {
  RunConfig c = configure("table", {{"csv", kIris}, {"target", "species"}});
  for (const auto& [name, value] : more) c.set(name, value);
  return c;
}

struct TaskRun {
  std::unique_ptr<Objective> objective;
  std::unique_ptr<Trainer> trainer;
  TaskRun(const RunConfig& config, const ThreadPool& pool)
      : objective(config.make_objective()), trainer(std::make_unique<Trainer>(*objective, config.train, pool)) {}
  void all() {
    trainer->run([](const Trainer&, bool) { return true; });
  }
  std::map<std::string, double> report(const ThreadPool& pool) const {
    std::map<std::string, double> numbers;
    for (const auto& [name, value] : objective->report(*trainer->best_model(), pool))
      if (const auto* number = std::get_if<double>(&value)) numbers[name] = *number;
    return numbers;
  }
};

const ThreadPool& one_thread() {
  static const ThreadPool pool(1);
  return pool;
}

TEST(TableCsv, QuotesLinesAndMistakes) {
  const CsvTable t = parse_csv("\xEF\xBB\xBFname,\"a \"\"b\"\"\"\r\n x , 1\r\n\"two\nlines\",2\n\n", "t");
  EXPECT_EQ(t.header, (std::vector<std::string>{"name", "a \"b\""}));
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.rows[0][0], "x");
  EXPECT_EQ(t.rows[1][0], "two\nlines");
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n1,2\n3\n", "t"); }), "line 3"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n\"1,2\n", "t"); }), "line 2"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n\"1\"x,2\n", "t"); }), "closing quote"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,a\n", "t"); }), "\"a\""));
  EXPECT_THROW(parse_csv("", "t"), Error);
  EXPECT_TRUE(has(error_of([&] { t.column("zzz"); }), "name"));
}

TEST(TableData, ColumnsAreStandardisedOneHotAndImputed) {
  const CsvTable t = parse_csv("x,colour,y\n1,red,10\n3,blue,20\n?,red,30\n5,,40\n", "t");
  const std::vector<std::size_t> rows{0, 1, 2, 3};
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(t, rows, "y", "auto", false); }), "impute"));
  const TableSchema s = TableSchema::fit(t, rows, "y", "auto", true);
  EXPECT_FALSE(s.classifies());
  EXPECT_EQ(s.num_inputs(), 3u);
  const std::vector<float> x = s.inputs_of(t, rows);
  EXPECT_NEAR(x[0], (1 - 3) / std::sqrt(8.0 / 3), 1e-6);
  EXPECT_EQ(x[6], 0);                                                         // the mean for a missing number
  EXPECT_EQ((std::vector<float>{x[10], x[11]}), (std::vector<float>{0, 1}));  // "red" for a missing word
  EXPECT_TRUE(TableSchema::fit(t, rows, "y", "classify", true).classifies());
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(t, rows, "colour", "regress", true); }), "missing"));
  const TableSchema back = TableSchema::from_json(s.to_json().dump());
  EXPECT_EQ(back.inputs_of(t, rows), x);
  EXPECT_THROW(TableSchema::from_json("{}"), Error);
  const CsvTable bad = parse_csv("x,colour,y\nseven,red,1\n", "t");
  EXPECT_TRUE(has(error_of([&] { s.inputs_of(bad, {0}); }), "\"seven\""));
  const CsvTable fewer = parse_csv("colour\nred\n", "t");
  EXPECT_TRUE(has(error_of([&] { s.inputs_of(fewer, {0}); }), "\"x\""));
}

TEST(TableData, TheSplitIsDisjointAndWhole) {
  const TableSplit s = split_rows(100, 0.25, 0.2, 3);
  std::set<std::size_t> all;
  for (const auto* part : {&s.train, &s.validation, &s.test}) all.insert(part->begin(), part->end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(s.test.size(), 25u);
  EXPECT_EQ(s.validation.size(), 15u);
  EXPECT_NE(split_rows(100, 0.25, 0.2, 4).test, s.test);
  EXPECT_THROW(split_rows(2, 0.25, 0.2, 3), Error);
}

TEST(TableTask, IrisIsAtLeastAsGoodAsTheLinearModel) {
  TaskRun run(iris_config(), one_thread());
  run.all();
  const auto report = run.report(one_thread());
  const double own = report.at("test_accuracy"), linear = report.at("linear_accuracy");
  EXPECT_GE(linear, 0.85);
  EXPECT_GE(own, linear);
}

TEST(TableTask, RegressionBeatsTheLinearModelOnACurve) {
  const TempFolder folder;
  const std::string path = folder.path() + "/curve.csv";
  std::ofstream out(path);
  out << "x,y\n";
  for (int i = 0; i < 200; ++i) out << i / 100.0 - 1 << "," << std::sin(i / 30.0) << "\n";
  out.close();
  const RunConfig config = configure("table", {{"csv", path},
                                               {"target", "y"},
                                               {"hidden", "16"},
                                               {"train-steps", "1500"},
                                               {"lr", "0.02"},
                                               {"weight-decay", "0.01"}});  // no noise, so little decay
  TaskRun run(config, one_thread());
  run.all();
  const auto report = run.report(one_thread());
  EXPECT_GT(report.at("test_r2"), 0.98);
  EXPECT_LT(report.at("linear_r2"), 0.8);
}

RunConfig growing_config() {
  return iris_config({{"train-steps", "60"},
                      {"hidden", "6,5"},
                      {"density", "0.6"},
                      {"grow", "5"},
                      {"prune", "30"},
                      {"weight-decay", "0.1"},
                      {"fan-in-scaling", "true"}});
}

TEST(TableTask, TheReferenceLearnsTheSameCurve) {
  const auto losses = [](bool reference, bool scaling) {
    const RunConfig config = iris_config({{"train-steps", "5"},
                                          {"hidden", "6,5"},
                                          {"density", "0.7"},
                                          {"fan-in-scaling", scaling ? "true" : "false"},
                                          {"grow", "1"},
                                          {"reference", reference ? "true" : "false"}});
    TaskRun run(config, one_thread());
    std::vector<double> all;
    run.trainer->run([&](const Trainer& t, bool) {
      all.push_back(t.state().loss);
      return true;
    });
    return all;
  };
  for (const bool scaling : {false, true}) {
    const std::vector<double> fast = losses(false, scaling), plain = losses(true, scaling);
    ASSERT_EQ(fast.size(), 5u);
    ASSERT_EQ(plain.size(), 5u);
    EXPECT_NE(fast.front(), fast.back());
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(plain[i] / fast[i], 1.0, 1e-5) << scaling << " step " << i;
  }
}

// The shape lies beside the weights, and a strong decay between two evaluations shrinks both.
TEST(TableTask, StrongWeightDecayDoesNotTouchTheShape) {
  TaskRun run(iris_config({{"train-steps", "200"}, {"hidden", "30"}, {"weight-decay", "5"}, {"eval-every", "100"}}),
              one_thread());
  const double before = run.objective->evaluate(one_thread()).extra[0].second;
  run.all();
  EXPECT_EQ(run.objective->evaluate(one_thread()).extra[0].second, before);
}

TEST(TableTask, AnyThreadCountGivesTheSameBitsWhileGrowingAndPruning) {
  const Oversubscribe many;
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    TaskRun run(growing_config(), pool);
    run.all();
    const std::string hash = run.objective->parameters().hash();
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

TEST(TableTask, ResumedEqualsUnbrokenAcrossGrowthAndPruning) {
  const ThreadPool pool(1);
  TaskRun whole(growing_config(), pool);
  whole.all();
  for (const std::uint64_t at : {3u, 20u, 37u, 50u}) {
    TaskRun first(growing_config(), pool), second(growing_config(), pool);
    first.trainer->run([&](const Trainer& t, bool) { return t.state().step < at; });
    restore_checkpoint(*second.trainer, make_checkpoint(*first.trainer, {}), {});
    second.all();
    EXPECT_EQ(second.objective->parameters().hash(), whole.objective->parameters().hash()) << at;
  }
}

TEST(TableTask, GrowthAndPruningChangeTheShapeAndTheModelFilePredicts) {
  RunConfig config = growing_config();
  config.train.eval_every = 60;  // the last weights are judged, those of the grown and pruned network
  TaskRun run(config, one_thread());
  const double before = run.objective->evaluate(one_thread()).extra[0].second;
  run.all();
  const SafetensorsFile file =
      SafetensorsFile::parse(model_file(*run.trainer->best_model(), {{"config", config.text()}}).serialize(), "test");
  const LoadedModel loaded = load_model(file, "test");
  const auto& model = dynamic_cast<const TableModel&>(*loaded.model);
  EXPECT_NE(model.network().topology().edges().size(), 0u);
  EXPECT_EQ(model.schema().target.words, (std::vector<std::string>{"setosa", "versicolor", "virginica"}));
  EXPECT_GT(static_cast<double>(model.network().topology().next_edge()), before);
  SafetensorsFile wrong = file;
  wrong.metadata["table"] = "[]";
  EXPECT_THROW(load_model(wrong, "test"), Error);
}

TEST(TableTask, MistakesAreNamed) {
  const auto with = [](Settings changes) { return error_of([&] { iris_config(changes).make_objective(); }); };
  EXPECT_TRUE(has(with({{"csv", ""}}), "csv"));
  EXPECT_TRUE(has(with({{"target", ""}}), "target"));
  EXPECT_TRUE(has(with({{"target", "flavour"}}), "species"));
  EXPECT_TRUE(has(with({{"csv", "/nowhere.csv"}}), "/nowhere.csv"));
  EXPECT_TRUE(has(with({{"hidden", "8,x"}}), "hidden"));
  EXPECT_TRUE(has(with({{"kind", "regress"}}), "regress"));
}

}  // namespace
}  // namespace espalier
