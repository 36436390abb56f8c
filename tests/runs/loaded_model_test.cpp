// What a loaded model can do for those who have the public headers alone, and no task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/run.hpp"
#include "netlist/cell.hpp"
#include "places.hpp"
#include "runs/small_runs.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ModelRun = Run;  // every googletest has a member Run

std::string stored(const std::string& name) { return test::source_dir() + "/tests/data/models/" + name; }

template <class Wanted>
std::unique_ptr<Wanted> loaded(const std::string& name) {
  return load_model_as<Wanted>(stored(name));
}

TEST(LoadedModel, AnAutomatonRunsAsItsCircuitDoes) {
  const auto model = loaded<LatticeModel>("board");
  const auto [height, width, steps] = model->view();
  const auto stepper = make_stepper(*model, model->start(height, width, 3), run_options(*model));
  stepper->advance(steps, ThreadPool(2));
  Board board = board_of(model->start(height, width, 3));
  Simulator(model->raw_cell(), height, width, run_options(*model)).run(board, steps);
  EXPECT_EQ(board_of(stepper->state()).hash(), board.hash());
  EXPECT_EQ(stepper->state().channels, model->channels());
}

TEST(LoadedModel, ARefinedOneHasNoSoftGates) {
  const auto model = loaded<LatticeModel>("board");
  const auto refined = model->refined(prove_cell(*model).netlist());
  EXPECT_EQ(model_file(*model).meta("format"), "espalier model 2");
  EXPECT_EQ(model_file(*refined).meta("format"), "espalier model 3");
  EXPECT_THROW(make_stepper(*refined, refined->start(8, 8, 1), run_options(*refined), true), Error);
  const TempFolder folder;
  save_model(folder / "refined.safetensors", *refined, {{"config", R"({"task": "checkerboard-small"})"}});
  EXPECT_EQ(load_model_as<LatticeModel>(folder / "refined.safetensors")->raw_cell(), refined->raw_cell());
  save_model(folder / "alone.safetensors", *refined);
  EXPECT_EQ(load_circuit(folder / "alone.safetensors").netlist().name, "checkerboard-small");  // it keeps its task
}

// Older versions would take four logits for something else, so their files have a format of their own.
TEST(LoadedModel, OneWithFourLogitsPerGateIsTheSameAfterItsFile) {
  for (const char* form : {"entries", "walsh"}) {
    ModelRun run =
        ModelRun::create(configure("checkerboard-small",
                                   {{"train-steps", "3"}, {"lr", "1"}, {"parametrisation", form}, {"refine", "0"}}),
                         {});
    ThreadPool pool(1);
    run.train(pool);
    const std::unique_ptr<Model> any = run.best_model();
    const auto& model = dynamic_cast<const LatticeModel&>(*any);
    EXPECT_EQ(model.parameters().num_parameters(), 4u * static_cast<std::size_t>(model.automaton().gates()));
    EXPECT_EQ(model_file(model).meta("format"), "espalier model 4");
    const TempFolder folder;
    save_model(folder / "four.safetensors", model);
    const auto again = load_model_as<LatticeModel>(folder / "four.safetensors");
    EXPECT_EQ(again->raw_cell(), model.raw_cell());
    EXPECT_EQ(again->parameters().hash(), model.parameters().hash());
    const auto refined = model.refined(prove_cell(model).netlist());
    EXPECT_EQ(model_file(*refined).meta("format"), "espalier model 4");
    save_model(folder / "refined.safetensors", *refined);
    const auto found = load_model_as<LatticeModel>(folder / "refined.safetensors");
    EXPECT_EQ(found->raw_cell(), refined->raw_cell());
    // Both can be trained on, soft again where a search has made the circuit.
    for (const char* name : {"four.safetensors", "refined.safetensors"}) {
      const auto next =
          configure("checkerboard-small", {{"from", folder / name}, {"train-steps", "1"}}).make_objective();
      const std::unique_ptr<Model> start = next->snapshot(next->parameters().values(), {});
      EXPECT_EQ(verify(dynamic_cast<const LatticeModel&>(*start).raw_cell(), model.raw_cell()).verdict,
                VerifyReport::Verdict::kEqual)
          << name;
    }
  }
}

// Older versions would leave the wires as they were drawn.
TEST(LoadedModel, OneWithWiresThatWereLearnedIsTheSameAfterItsFile) {
  ModelRun run = ModelRun::create(
      configure("checkerboard-small",
                {{"train-steps", "9"}, {"lr", "1"}, {"candidates", "3"}, {"start-wire-logit", "1"}, {"refine", "0"}}),
      {});
  ThreadPool pool(1);
  run.train(pool);
  const std::unique_ptr<Model> any = run.best_model();
  const auto& model = dynamic_cast<const LatticeModel&>(*any);
  EXPECT_EQ(model.parameters().num_parameters(), model.automaton().logits());
  EXPECT_EQ(model.count_gates().raw, model.automaton().gates());
  SafetensorsFile file = model_file(model);
  EXPECT_EQ(file.meta("format"), "espalier model 5");
  const TempFolder folder;
  save_model(folder / "chosen.safetensors", model);
  const auto again = load_model_as<LatticeModel>(folder / "chosen.safetensors");
  EXPECT_EQ(again->raw_cell(), model.raw_cell());
  EXPECT_EQ(again->parameters().hash(), model.parameters().hash());
  EXPECT_EQ(again->automaton().update().layers(), model.automaton().update().layers());
  EXPECT_EQ(again->automaton().options().candidates, 3);
  const auto refined = model.refined(prove_cell(model).netlist());
  EXPECT_EQ(model_file(*refined).meta("format"), "espalier model 5");
  save_model(folder / "refined.safetensors", *refined);
  for (const char* name : {"chosen.safetensors", "refined.safetensors"}) {
    const auto next = configure("checkerboard-small", {{"from", folder / name}, {"train-steps", "1"}}).make_objective();
    const std::unique_ptr<Model> start = next->snapshot(next->parameters().values(), {});
    const auto& soft = dynamic_cast<const LatticeModel&>(*start);
    EXPECT_EQ(soft.automaton().options().candidates, 3) << name;
    EXPECT_EQ(verify(soft.raw_cell(), model.raw_cell()).verdict, VerifyReport::Verdict::kEqual) << name;
  }
  // What does not fit together is refused.
  file.metadata.erase("seal");
  const auto refused = [&](auto change) {
    SafetensorsFile bad = file;
    change(bad);
    EXPECT_THROW(load_model(bad, "a file"), Error);
  };
  EXPECT_NO_THROW(load_model(file, "a file"));
  refused([](auto& f) { f.metadata["option.candidates"] = "2"; });
  refused([](auto& f) { f.metadata["option.candidates"] = "0"; });
  refused([](auto& f) { f.metadata.erase("option.candidates"); });
  refused([](auto& f) { f.tensors.erase("wiring.update.0.candidates"); });
  refused([](auto& f) { f.tensors.erase("update.0.wires"); });
  refused([](auto& f) { f.tensors["wiring.update.1.candidates"] = f.tensors["wiring.update.0.candidates"]; });
}

TEST(LoadedModel, AnAutomatonIsPutThroughItsTrials) {
  const std::vector<Trial> trials = run_trials(*loaded<LatticeModel>("life"));
  ASSERT_FALSE(trials.empty());
  EXPECT_EQ(trials[0].name, "boards");
  EXPECT_EQ(trials[0].score, 0.7265625);
}

// One step is the shortest time that damage can be mended in.
TEST(LoadedModel, APictureFromAPoolIsJudgedForStayingAndMendingAfterItsFile) {
  const TempFolder folder;
  RunConfig config = pooled_picture(folder);
  config.set("steps", "1");
  ModelRun run = ModelRun::create(config, {});
  ThreadPool pool(1);
  run.train(pool);
  const std::unique_ptr<Model> trained = run.best_model();
  save_model(folder / "pooled.safetensors", *trained);
  const auto model = load_model_as<LatticeModel>(folder / "pooled.safetensors");
  std::map<std::string, double> scores;
  for (const Trial& trial : run_trials(*model)) scores[trial.name] = trial.score;
  for (const char* name : {"at 2 T", "at 3 T", "mends", "stays", "heals"}) {
    ASSERT_TRUE(scores.contains(name)) << name;
    EXPECT_GT(scores.at(name), 0) << name;
    EXPECT_LE(scores.at(name), 1) << name;
  }
  double before = 0;
  for (const Trial& trial : run_trials(dynamic_cast<const LatticeModel&>(*trained)))
    if (trial.name == "mends") before = trial.score;
  EXPECT_EQ(scores.at("mends"), before);
}

TEST(LoadedModel, APictureFromAPoolIsJudgedWithTheUpdatesItWasTrainedWith) {
  const TempFolder folder;
  const auto judged = [&](const char* fire_rate) {
    RunConfig config = pooled_picture(folder);
    config.set("steps", "1");
    config.set("fire-rate", fire_rate);
    ModelRun run = ModelRun::create(config, {});
    ThreadPool pool(1);
    run.train(pool);
    const std::unique_ptr<Model> trained = run.best_model();
    const auto& model = dynamic_cast<const LatticeModel&>(*trained);
    Netlist blinks = empty_cell(model.channels());
    for (int c = 0; c < model.channels(); ++c) {
      const Net centre = patch_net(kPatch / 2, c, model.channels());
      blinks.add_output("next" + std::to_string(c), blinks.add_gate(Gate::kNotA, centre, centre));
    }
    std::map<std::string, double> scores;
    for (const Trial& trial : run_trials(*model.refined(blinks))) scores[trial.name] = trial.score;
    return scores;
  };
  const auto all_at_once = judged("1"), at_random = judged("0.5");
  for (const char* name : {"stays", "mends"}) EXPECT_NE(all_at_once.at(name), at_random.at(name)) << name;
}

TEST(LoadedModel, ItsCellComesAsTrainedSimplifiedOrAcrossStepsEachWithWhatIsProved) {
  const auto model = loaded<LatticeModel>("board");
  const ProvedCircuit raw = prove_cell(*model, {.form = CellForm::kAsTrained});
  EXPECT_EQ(raw.netlist(), model->raw_cell());
  EXPECT_EQ(raw.netlist().name, "checkerboard-small");  // the task in its file
  EXPECT_THAT(raw.proof(), HasSubstr("nothing proved"));
  const ProvedCircuit small = prove_cell(*model);
  EXPECT_EQ(verify(raw.netlist(), small.netlist()).verdict, VerifyReport::Verdict::kEqual);
  EXPECT_THAT(small.proof(), HasSubstr("equal: 4 of 4 outputs proved"));
  EXPECT_TRUE(small.kept_channels().empty());
  const ProvedCircuit across = prove_cell(*model, {.form = CellForm::kAcrossSteps});
  EXPECT_EQ(across.netlist(), across_steps(*model, small.netlist(), false).cell);
  EXPECT_EQ(across.netlist().outputs.size(), across.kept_channels().size());
  EXPECT_THAT(across.proof(), HasSubstr("equal: 4 of 4 outputs proved"));  // the whole way from what was trained
  EXPECT_THAT(across.proof(), HasSubstr("of 4 channels"));
}

TEST(LoadedModel, AnExportHasTheBoardOfWhatWasLearned) {
  const auto model = loaded<LatticeModel>("pattern");  // 3 x 3, from a cell in the middle
  for (const CellForm form : {CellForm::kSimplified, CellForm::kAcrossSteps}) {
    const ProvedCircuit circuit = prove_cell(*model, {.form = form});
    const ExportOptions options = export_options(*model, circuit);
    EXPECT_EQ(options.height, 3);
    EXPECT_EQ(options.periodic, model->periodic());
    ASSERT_TRUE(options.start);
    EXPECT_TRUE(options.start->get(1, 1, 0));
    EXPECT_EQ(export_circuit(circuit, options).size(), 2u);  // which refuses a start of other channels
  }
}

TEST(LoadedModel, ClaimsAboutItsBoardsAreDecided) {
  const auto model = loaded<LatticeModel>("life");  // which has not learned it well
  const BoardProof proof = prove(*model, {.kind = ModelClaim::Kind::kEquals});
  EXPECT_EQ(proof.verdict, BoardProof::Verdict::kRefuted);
  const auto [content, property] = export_board(*loaded<LatticeModel>("pattern"), {.from_start = true});
  EXPECT_TRUE(content.starts_with("aag "));
  EXPECT_THAT(property, HasSubstr("3 x 3 board"));
}

TEST(LoadedModel, CircuitsAreLoadedFromModelsRunsAndNetlistsAlike) {
  const LoadedCircuit folder = load_circuit(stored("board"));
  ASSERT_TRUE(folder.model);
  EXPECT_EQ(load_circuit(stored("board/model.safetensors")).netlist(), folder.netlist());
  const TempFolder temporary;
  const auto files = export_circuit(prove_cell(*folder.model, {.form = CellForm::kAsTrained}),
                                    {.format = CircuitFormat::kJson, .file = temporary / "cell"});
  std::ofstream(files[0].path) << files[0].content;
  EXPECT_EQ(load_circuit(files[0].path).netlist(), folder.netlist());
  const LoadedCircuit netlist = load_circuit(files[0].path);
  EXPECT_FALSE(netlist.model);
  for (const CellForm form : {CellForm::kAsTrained, CellForm::kSimplified, CellForm::kAcrossSteps}) {
    const ProvedCircuit cell = prove_cell(*folder.model, {.form = form});
    EXPECT_EQ(prove_circuit(folder, {.form = form}).circuit.netlist(), cell.netlist());
    EXPECT_EQ(prove_circuit(folder, {.form = form}).circuit.proof(), cell.proof());
    if (form == CellForm::kAcrossSteps)
      EXPECT_THROW(prove_circuit(netlist, {.form = form}), Error);
    else
      EXPECT_EQ(prove_circuit(netlist, {.form = form}).circuit.netlist(), cell.netlist());
  }
  EXPECT_THROW(load_circuit(stored("table")), Error);
  EXPECT_THROW(load_model(files[0].path), Error);
}

// A classifier of plain gates over the rows of a table: the interfaces together are all that it has to answer.
class GateClassifier : public CircuitModel, public RowModel {
 public:
  std::string kind() const override { return "gate classifier"; }
  Parameters& parameters() override { return parameters_; }
  const Parameters& parameters() const override { return parameters_; }
  void describe(SafetensorsFile&) const override {}
  Facts facts() const override { return {}; }
  Netlist raw_netlist() const override {
    return import_circuit(".model m\n.inputs a b\n.outputs y\n.names a b t\n11 1\n.names t b y\n11 1\n.end\n",
                          "and.blif");
  }
  std::vector<std::string> columns() const override { return {"a", "b"}; }
  const std::string& target() const override { return classes_.front(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<double> predict(const CsvTable&, const ThreadPool&, UnknownWords) const override { return {}; }
  Evaluation evaluate(const CsvTable&, const ThreadPool&, UnknownWords) const override { return {1, true, 0}; }
  std::vector<UnknownWord> unknown_words(const CsvTable&) const override { return {}; }

 private:
  Parameters parameters_;
  std::vector<std::string> classes_{"no", "yes"};
};

TEST(LoadedModel, AKindMayBeAPlainCircuitAndPredictRows) {
  const std::shared_ptr<const Model> any = std::make_shared<GateClassifier>();
  const auto* rows = dynamic_cast<const RowModel*>(any.get());
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->evaluate({}).passed);
  EXPECT_TRUE(any->pictures({}).empty());
  const LoadedCircuit loaded{{}, std::dynamic_pointer_cast<const CircuitModel>(any)};
  ASSERT_TRUE(loaded.model);
  EXPECT_FALSE(loaded.has_steps());
  const ExportableCircuit made = prove_circuit(loaded);
  EXPECT_EQ(made.circuit.counts().gates(), 1u);  // (a and b) and b
  EXPECT_FALSE(made.options.start);
  EXPECT_EQ(prove_cell(*loaded.model, {.form = CellForm::kAsTrained}).counts().gates(), 2u);
  for (const auto& refused : {std::function([&] { prove_circuit(loaded, {.form = CellForm::kAcrossSteps}); }),
                              std::function([&] { across_steps(*loaded.model, made.circuit.netlist(), false); })})
    EXPECT_THAT(message_of<Error>(refused), HasSubstr("a gate classifier without steps"));
}

TEST(LoadedModel, ATablePredictsAndIsJudged) {
  const auto model = loaded<TableModel>("table");
  std::ostringstream text;
  text << std::ifstream(stored("table/rows.csv")).rdbuf();
  const CsvTable table = parse_csv(text.str(), "rows");
  const std::vector<double> said = model->predict(table, ThreadPool(2));
  ASSERT_EQ(model->classes().size(), 2u);
  ASSERT_EQ(said.size(), 2 * table.rows.size());
  EXPECT_NEAR(said[0], 0.8090, 5e-5);
  EXPECT_NEAR(said[0] + said[1], 1, 1e-12);
  const std::size_t column = table.column(model->target());
  std::size_t right = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    right += table.rows[r][column] == model->classes()[said[2 * r] < said[2 * r + 1]];
  EXPECT_DOUBLE_EQ(model->evaluate(table).score, static_cast<double>(right) / static_cast<double>(table.rows.size()));
  EXPECT_THROW(model->evaluate(CsvTable{table.header, {}, {}}), Error);
}

TEST(LoadedModel, ARewriterRewritesAndKnowsWhatIsExact) {
  const auto model = loaded<RewriteModel>("simplify");
  const auto [passes, settled, dot] = model->rewrite("(- x (* 0 z))", 10);
  EXPECT_THAT(passes, ElementsAre("(- x (* 0 z))", "(- x 0)", "x"));
  EXPECT_TRUE(settled);
  EXPECT_THAT(dot, HasSubstr("digraph"));
  EXPECT_EQ(model->exact("(- x (* 0 z))"), "x");
}

TEST(LoadedModel, AnotherKindIsRefusedByName) {
  try {
    loaded<LatticeModel>("table");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a table network, expected a logic automaton"));
  }
}

// A listener can show what a run has learned so far.
TEST(LoadedModel, ASnapshotIsAModelLikeAnyOther) {
  espalier::Run run =
      espalier::Run::create(configure("checkerboard-small", {{"train-steps", "3"}, {"refine", "0"}}), {});
  int boards = 0;
  run.listen([&](const RunEvent& event) {
    if (event.kind == RunEvent::Kind::kSeedStarted) run.control().snapshot();
    const auto* model = dynamic_cast<const LatticeModel*>(event.snapshot.get());
    if (!model) return;
    for (const bool soft : {false, true}) {
      const auto stepper = make_stepper(*model, model->start(8, 8, 1), run_options(*model), soft);
      stepper->advance(2, ThreadPool(1));
      boards += stepper->state().width == 8;
    }
  });
  ThreadPool pool(2);
  run.train(pool);
  EXPECT_EQ(boards, 2);
}

// What an automaton of one's own learned from examples makes a model, too.
TEST(LoadedModel, ExamplesOfOnesOwnMakeAModelThatIsSavedAndJudged) {
  const Automaton automaton({.channels = 1, .kernels = 4, .perceive = {8, 4, 2}, .update = {16, 8, 4, 2, 1}}, 1);
  Parameters parameters;
  automaton.add_parameters(parameters, 5);
  const BoardPairs pairs{"nothing", 2, 3, 3, 1, 1, std::vector<std::uint8_t>(18), std::vector<std::uint8_t>(18)};
  const LatticeModel model(automaton, {.batch = 1, .height = 3, .width = 3, .steps = 2}, pairs, parameters.values(), 1);
  const TempFolder folder;
  save_model(folder / "own.safetensors", model);
  const auto again = load_model_as<LatticeModel>(folder / "own.safetensors");
  EXPECT_EQ(again->learned(), model.learned());
  EXPECT_EQ(run_trials(*again)[0].score, run_trials(model)[0].score);
}

}  // namespace
}  // namespace espalier
