// The table task: CSV, the split, iris against a linear model, growth and pruning, the same bits; its model files.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "data/table_schema.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/dag/table_objective.hpp"
#include "places.hpp"
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

TableOptions iris() {
  TableOptions o;
  o.csv = test::source_dir() + "/data/iris.csv";
  o.target = "species";
  return o;
}

TrainOptions train_options(std::uint64_t steps = 600, float weight_decay = 0.3f, std::uint64_t eval_every = 200) {
  TrainOptions o{.steps = steps, .eval_every = eval_every};
  o.optimizer.weight_decay = weight_decay;
  o.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.01};
  return o;
}

struct TaskRun {
  TableObjective objective;
  Trainer trainer;
  TaskRun(const TableOptions& options, const TrainOptions& train, const ThreadPool& pool = calling_thread())
      : objective(options, 1), trainer(objective, train, pool) {}
  void all() {
    trainer.run([](const Trainer&, bool) { return true; });
  }
  std::size_t edges() const { return objective.state().tensor("dag.edges").shape.at(0); }
};

double number(const Facts& facts, const std::string& name) {
  for (const auto& [key, value] : facts)
    if (key == name) return std::get<double>(value);
  ADD_FAILURE() << name;
  return 0;
}

TEST(Table, IrisIsAtLeastAsGoodAsTheLinearModel) {
  TaskRun run(iris(), train_options());
  run.all();
  const Facts facts = run.objective.report(*run.trainer.best_model(), calling_thread());
  EXPECT_GE(number(facts, "linear_accuracy"), 0.85);
  EXPECT_GE(number(facts, "test_accuracy"), number(facts, "linear_accuracy"));
}

TEST(Table, WithoutTestRowsNothingIsSaidOfThem) {
  TableOptions options = iris();
  options.test_fraction = 0;
  TaskRun run(options, train_options());
  run.all();
  const Facts facts = run.objective.report(*run.trainer.best_model(), calling_thread());
  bool told = false;
  for (const auto& [name, value] : facts) {
    EXPECT_EQ(name.find("accuracy"), std::string::npos) << name;
    if (name == "test_rows") told = value == decltype(value)(std::int64_t{0});
  }
  EXPECT_TRUE(told);
}

// Rows whose classes have nothing to do with their numbers: whoever is right on all of a few was lucky.
TEST(Table, RandomLabelsAreNeverSolved) {
  int lucky = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Random random(seed, Purpose::kData);
    CsvTable t{{"a", "b", "y"}, {}, {}};
    const std::uint64_t rows = seed % 3 == 0 ? 120 : seed % 3 == 1 ? 20 : 8;
    for (std::uint64_t i = 0; i < rows; ++i) {
      t.rows.push_back({std::to_string(random.normal(3 * i)), std::to_string(random.normal(3 * i + 1)),
                        random.choice(3 * i + 2, 2) ? "yes" : "no"});
      t.lines.push_back(i + 2);
    }
    TableOptions options;
    options.target = "y";
    if (TableSchema::fit(t, all_rows(rows), "y", "auto", false).target.words.size() < 2) continue;
    TableObjective objective(options, seed, t);
    Trainer trainer(objective, train_options(60, 0.0f, 10));
    trainer.run([](const Trainer&, bool) { return true; });
    const auto best = trainer.best_model();
    const Verdict verdict = objective.judge(*best, calling_thread());
    EXPECT_FALSE(verdict.solved) << seed;
    if (verdict.score == 1) {
      ++lucky;
      EXPECT_TRUE(has(verdict.text, "luck")) << verdict.text;
    }
    bool told = false;
    for (const auto& [name, value] : objective.report(*best, calling_thread())) told = told || name == "note.test";
    EXPECT_EQ(told, rows < 50) << rows;
  }
  EXPECT_GT(lucky, 0) << "all test rows of some small table are right by chance";
}

TEST(Table, WhatCanBeLearnedIsSolvedOnTestRows) {
  CsvTable t{{"a", "y"}, {}, {}};
  for (int i = 0; i < 120; ++i) {
    t.rows.push_back({std::to_string(i % 2 ? i : -i - 1), std::to_string(i % 2)});
    t.lines.push_back(t.rows.size() + 1);
  }
  TableOptions options;
  options.target = "y";
  TableObjective objective(options, 1, t);
  Trainer trainer(objective, train_options(600, 0.0f));
  trainer.run([](const Trainer&, bool) { return true; });
  const Verdict verdict = objective.judge(*trainer.best_model(), calling_thread());
  EXPECT_TRUE(verdict.solved) << verdict.text;
  EXPECT_EQ(verdict.text, "30 of 30 rows right (100.00 %)");
  EXPECT_EQ(verdict.data, "30 rows that neither fitting nor choosing has seen");
  bool told = false;
  for (const auto& [name, value] : objective.report(*trainer.best_model(), calling_thread())) {
    EXPECT_NE(name, "note.test");
    if (name == "note.kind")
      told = has(std::get<std::string>(value), "0, 1") && has(std::get<std::string>(value), "regress");
  }
  EXPECT_TRUE(told);
}

// Twenty random rows, sixteen times: learned by heart, they are right wherever they lie, and judge nothing.
TEST(Table, CopiesOfTrainingRowsJudgeNothing) {
  const Random random(7, Purpose::kData);
  CsvTable t{{"a", "b", "y"}, {}, {}};
  for (std::uint64_t i = 0; i < 320; ++i) {
    t.rows.push_back({std::to_string(random.normal(3 * (i % 20))), std::to_string(random.normal(3 * (i % 20) + 1)),
                      random.choice(3 * (i % 20) + 2, 2) ? "yes" : "no"});
    t.lines.push_back(i + 2);
  }
  TableOptions options;
  options.target = "y";
  TableObjective objective(options, 1, t);
  Trainer trainer(objective, train_options(20, 0.0f, 10));
  trainer.run([](const Trainer&, bool) { return true; });
  EXPECT_FALSE(objective.judge(*trainer.best_model(), calling_thread()).judged());
  bool told = false;
  for (const auto& [name, value] : objective.report(*trainer.best_model(), calling_thread()))
    if (name == "note.known_rows") told = has(std::get<std::string>(value), "80 of the rows");
  EXPECT_TRUE(told);
}

TEST(Table, RegressionBeatsTheLinearModelOnACurve) {
  const TempFolder folder;
  const std::string path = folder.path() + "/curve.csv";
  std::ofstream out(path);
  out << "x,y\n";
  for (int i = 0; i < 200; ++i) out << i / 100.0 - 1 << "," << std::sin(i / 30.0) << "\n";
  out.close();
  TableOptions options;
  options.csv = path;
  options.target = "y";
  TrainOptions train = train_options(1500, 0.01f);  // no noise, so little decay
  train.schedule.lr = 0.02;
  TaskRun run(options, train);
  run.all();
  const ThreadPool pool(2);
  const Facts facts = run.objective.report(*run.trainer.best_model(), pool);
  EXPECT_GT(number(facts, "test_r2"), 0.98);
  EXPECT_LT(number(facts, "linear_r2"), 0.8);
}

// Smooth and nearly linear, with noise: what is there to learn beyond the linear model is little, and all of it on the
// other side of a table's noise.
TEST(Table, RegressionIsNeverWorseThanItsLinearModelOnSmoothData) {
  const TempFolder folder;
  for (const int rows : {120, 400})
    for (std::uint64_t kind = 0; kind < 3; ++kind) {
      const std::string path = folder.path() + "/smooth.csv";
      std::ofstream out(path);
      out << "a,b,c,y\n";
      const Random random(kind, Purpose::kData);
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows); ++i) {
        const float a = random.normal(4 * i), b = random.normal(4 * i + 1), c = random.normal(4 * i + 2);
        const float bend = kind == 0 ? 0 : kind == 1 ? 0.3f * std::sin(a + b) : 0.2f * a * c;
        out << a << "," << b << "," << c << "," << 2 * a - b + 0.5f * c + bend + 0.5f * random.normal(4 * i + 3)
            << "\n";
      }
      out.close();
      TableOptions options;
      options.csv = path;
      options.target = "y";
      TaskRun run(options, train_options());
      run.all();
      const Facts facts = run.objective.report(*run.trainer.best_model(), calling_thread());
      EXPECT_GE(number(facts, "test_r2"), number(facts, "linear_r2") - 1e-6) << rows << " rows, kind " << kind;
    }
}

TEST(Table, ARegressionBeginsAsTheLinearModel) {
  const TempFolder folder;
  const std::string path = folder.path() + "/line.csv";
  std::ofstream out(path);
  out << "x,y\n";
  for (int i = 0; i < 60; ++i) out << i << "," << 3 * i + 7 << "\n";
  out.close();
  for (const bool scaling : {false, true}) {
    TableOptions options;
    options.csv = path;
    options.target = "y";
    options.network.fan_in_scaling = scaling;
    TaskRun run(options, train_options(20, 0.3f, 20));
    run.trainer.evaluate();
    EXPECT_GT(run.trainer.state().best.score, 0.99999) << scaling;
    EXPECT_EQ(run.objective.score_text({.score = 0.93333}), "R² 0.9333");
    // Offsets are part of the state; a run from before there were any goes on without them.
    SafetensorsFile state = run.objective.state();
    state.tensors.erase("table.start");
    run.objective.restore_state(state);
    EXPECT_LT(run.objective.evaluate(calling_thread()).score, 0.5);
  }
}

TableOptions growing() {
  TableOptions o = iris();
  o.hidden = {6, 5};
  o.network.density = 0.6;
  o.network.fan_in_scaling = true;
  o.grow = 5;
  o.prune = 30;
  return o;
}
TrainOptions growing_train(std::uint64_t eval_every = 200) { return train_options(60, 0.1f, eval_every); }

TEST(Table, TheReferenceLearnsTheSameCurve) {
  const auto losses = [](bool reference, bool scaling) {
    TableOptions options = iris();
    options.hidden = {6, 5};
    options.network.density = 0.7;
    options.network.fan_in_scaling = scaling;
    options.grow = 1;
    options.reference = reference;
    TaskRun run(options, train_options(5));
    std::vector<double> all;
    run.trainer.run([&](const Trainer& t, bool) {
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

TEST(Table, AnyThreadCountGivesTheSameBitsWhileGrowingAndPruning) {
  const Oversubscribe more_threads_than_cores;
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    TaskRun run(growing(), growing_train(), pool);
    run.all();
    const std::string hash = run.objective.parameters().hash() + run.objective.state().tensors_hash();
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

TEST(Table, ResumedEqualsUnbrokenAcrossGrowthAndPruning) {
  TaskRun whole(growing(), growing_train());
  whole.all();
  for (const std::uint64_t at : {3u, 20u, 37u, 50u}) {
    TaskRun first(growing(), growing_train()), second(growing(), growing_train());
    first.trainer.run([&](const Trainer& t, bool) { return t.state().step < at; });
    const SafetensorsFile checkpoint = make_checkpoint(first.trainer, {});
    restore_checkpoint(second.trainer, SafetensorsFile::parse(checkpoint.serialize(), "test"), {});
    second.all();
    EXPECT_EQ(second.objective.parameters().hash(), whole.objective.parameters().hash()) << at;
    EXPECT_EQ(second.objective.state().tensors_hash(), whole.objective.state().tensors_hash()) << at;
  }
}

// A step that is cancelled is begun again: what grew then must not grow once more.
TEST(Table, EveryEventHappensOnceHoweverOftenAStepIsBegun) {
  TaskRun once(growing(), growing_train()), often(growing(), growing_train());
  once.all();
  const double total = 60;
  while (often.trainer.state().step < 60) {
    const std::uint64_t step = often.trainer.state().step;
    for (int again = 0; again < 2; ++again) often.objective.begin_step(step, static_cast<double>(step) / total);
    often.trainer.step();
  }
  EXPECT_EQ(often.objective.parameters().hash(), once.objective.parameters().hash());
  EXPECT_EQ(often.objective.state().tensors_hash(), once.objective.state().tensors_hash());
  EXPECT_EQ(once.objective.state().ints("table.events"), (std::vector<std::int32_t>{5, 5}));
}

// The best weights of a run may belong to an older shape than the last ones.
TEST(Table, TheBestModelHasTheShapeOfItsOwnStep) {
  TaskRun run(growing(), growing_train(60));
  const std::size_t before = run.edges();
  run.trainer.evaluate();
  run.all();
  const SafetensorsFile state = run.objective.state();
  EXPECT_NE(run.edges(), before);
  const auto edges_of = [](const std::unique_ptr<Model>& m) {
    return dynamic_cast<const TableModel&>(*m).network().topology().edges().size();
  };
  EXPECT_EQ(edges_of(run.objective.snapshot(run.objective.parameters().values(), state)), run.edges());
  TaskRun early(growing(), growing_train(60));
  early.trainer.evaluate();
  const AlignedVector<float> first = early.trainer.state().best_values;
  const SafetensorsFile first_state = early.trainer.state().best_state;
  EXPECT_EQ(edges_of(run.objective.snapshot(first, first_state)), before);
  EXPECT_THROW(run.objective.snapshot(std::span(first).first(3), first_state), Error);
  EXPECT_THROW(run.objective.snapshot(first, {}), Error);
}

TEST(Table, AStateThatDoesNotFitIsRefusedAndChangesNothing) {
  TaskRun run(growing(), growing_train());
  run.trainer.step();
  const std::string before = run.objective.state().tensors_hash();
  const auto refused = [&](auto&& damage) {
    SafetensorsFile state = run.objective.state();
    damage(state);
    EXPECT_THROW(run.objective.restore_state(state), Error);
    EXPECT_EQ(run.objective.state().tensors_hash(), before);
  };
  refused([](SafetensorsFile& s) { s.tensors.erase("table.events"); });
  refused([](SafetensorsFile& s) { s.tensors.erase("dag.edges"); });
  refused([](SafetensorsFile& s) { s.metadata["dag.next_edge"] = "9999"; });
  refused([](SafetensorsFile& s) {
    s.tensors.erase("table.events");
    s.add("table.events", {2}, std::span<const std::int32_t>(std::vector<std::int32_t>{-1, 0}));
  });
  TableOptions other = growing();
  other.hidden = {40};
  TaskRun larger(other, growing_train());
  EXPECT_THROW(run.objective.restore_state(larger.objective.state()), Error);
}

TEST(Table, GrowthAndPruningChangeTheShapeAndTheModelFilePredicts) {
  TaskRun run(growing(), growing_train(60));  // the last weights are judged, those of the grown and pruned network
  const std::size_t before = run.edges();
  run.all();
  const std::unique_ptr<Model> best = run.trainer.best_model();
  const SafetensorsFile file = SafetensorsFile::parse(model_file(*best, {{"step", "60"}}).serialize(), "test");
  EXPECT_FALSE(file.tensors.contains("weight"));  // once, by id
  LoadedModel loaded = load_model(file, "test");
  EXPECT_EQ(loaded.notes.at("step"), "60");
  auto& model = dynamic_cast<TableModel&>(*loaded.model);
  EXPECT_NE(model.network().topology().edges().size(), 0u);
  EXPECT_FALSE(model.network().is_training());
  EXPECT_EQ(model.parameters().hash(), best->parameters().hash());
  EXPECT_EQ(model.schema().target.words, (std::vector<std::string>{"setosa", "versicolor", "virginica"}));
  EXPECT_GT(model.network().topology().next_edge(), before);
  const auto broken = [&](auto&& damage) {
    SafetensorsFile wrong = file;
    damage(wrong);
    EXPECT_THROW(load_model(wrong, "test"), Error);
  };
  broken([](SafetensorsFile& f) { f.metadata["table"] = "[]"; });
  broken([](SafetensorsFile& f) { f.tensors.erase("dag.weight"); });
  broken([](SafetensorsFile& f) { f.metadata["format"] = "espalier model 9"; });
}

TEST(Table, MistakesAreNamed) {
  const auto with = [](auto&& change) {
    TableOptions o = iris();
    change(o);
    return error_of([&] { TableObjective(o, 1); });
  };
  EXPECT_TRUE(has(with([](TableOptions& o) { o.csv = ""; }), "CSV"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.target = ""; }), "target"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.target = "flavour"; }), "species"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.csv = "/nowhere.csv"; }), "/nowhere.csv"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.kind = "regress"; }), "regress"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.batch_size = 0; }), "batch-size"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.prune = std::nan(""); }), "prune"));
  EXPECT_TRUE(has(with([](TableOptions& o) { o.kind = "guess"; }), "kind"));
  TableOptions o;
  Fields fields = fields_of(o);
  EXPECT_TRUE(has(error_of([&] { fields.at("hidden").set_text("8,x"); }), "hidden"));
  fields.at("hidden").set_text("8,5");
  EXPECT_EQ(o.hidden, (std::vector<std::size_t>{8, 5}));
  fields.at("hidden").set_text("");
  EXPECT_TRUE(o.hidden.empty());
  EXPECT_THROW(fields.at("kind").set_text("guess"), Error);
  EXPECT_THROW(fields.at("prune").set_text("101"), Error);
}

}  // namespace
}  // namespace espalier
