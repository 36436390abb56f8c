// The cases of the signature. Trained ones are rows of options, as on the command line; the others are functions. To
// add one, add a row, or a function and a line at the end.
#include "bench/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "base/files.hpp"
#include "bench/signature_hash.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/run.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/cell_wrapper.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "netlist/cell.hpp"
#include "runs/checkpoint.hpp"
#include "synth/external_tool.hpp"

namespace espalier {
namespace {

// --- Training runs.

// Five colours on 9 x 7 cells: neither a whole number of blocks nor a square.
constexpr const char* kPattern = R"(.......
..rrr..
.r...g.
.b...g.
.b.y.g.
.b.yyg.
.w...g.
..www..
.......
)";

// Words and numbers with gaps; "kind" and "value" are there to be learned.
std::string table_text() {
  std::string text = "left,right,colour,value,kind\n";
  const AlignedVector<float> draw = numbers(3 * 120, 1);
  for (std::size_t i = 0; i < 120; ++i) {
    const float *x = &draw[3 * i], value = x[0] * x[1] + 0.3f * x[2];
    text += fmt::format("{:.3f},{},{},{:.3f},{}\n", x[0], i % 17 == 3 ? "?" : fmt::format("{:.3f}", x[1]),
                        x[2] > 0.5f    ? "red"
                        : x[2] > -0.5f ? "green"
                                       : "blue",
                        value,
                        value > 0.4f    ? "high"
                        : value > -0.4f ? "middle"
                                        : "low");
  }
  return text;
}

// "life --train-steps 3 --reference true": a task, then options; of two that are equal the last one counts.
RunConfig parse_options(const std::string& text) {
  std::istringstream words(text);
  std::string task, option, value;
  words >> task;
  RunConfig config(find_task(task));
  while (words >> option >> value) config.set(option.substr(2), value);
  return config;
}

// Pairs of boards in two channels, two steps apart: Life, and cells that move to the left.
std::unique_ptr<Objective> make_boards(RunConfig& config) {
  BoardPairs pairs{"pairs", 23, 7, 9, 2, 2, {}, {}};
  const Random random(1, Purpose::kTrial);
  std::uint64_t draw = 0;
  for (int n = 0; n < pairs.count; ++n) {
    std::array<Board, 2> boards{Board(7, 9, 1), Board(7, 9, 1)};
    for (std::size_t cell = 0; cell < 63; ++cell)
      for (Board& board : boards) {
        board.set(cell / 9, cell % 9, 0, random.coin(draw++));
        pairs.start.push_back(board.get(cell / 9, cell % 9, 0));
      }
    Simulator(life_cell(), 7, 9, {.periodic = false}).run(boards[0], 2);
    for (std::size_t cell = 0; cell < 63; ++cell) {
      pairs.target.push_back(boards[0].get(cell / 9, cell % 9, 0));
      pairs.target.push_back(cell % 9 < 7 && boards[1].get(cell / 9, cell % 9 + 2, 0));
    }
  }
  LatticeOptions options;
  Fields fields = fields_of(options);
  for (const Field& field : fields.list()) fields.at(field.name()).set(config.fields().at(field.name()).value());
  return std::make_unique<LatticeObjective>(options, boards_goal(std::move(pairs), {0.3, 0.0}), config.seed);
}

std::string model_to_start_from(bool refined, const WorkFolder& folder);

// Tasks that learn from a file read it once, when their objective is made.
std::unique_ptr<Objective> make_objective(RunConfig config) {
  const WorkFolder folder;
  const auto give = [&](const char* option, const std::string& text) {
    const std::string path = folder.file(option);
    write_atomically(path, std::string_view(text));
    config.set(option, path);
  };
  const auto given = [&](const char* option) {
    const Field* field = config.fields().find(option);
    return field ? field->text() : "";
  };
  if (config.fields().find("data") && config.fields().find("boundary")) return make_boards(config);
  if (config.fields().find("csv")) {
    give("csv", table_text());
  } else if (config.fields().find("target")) {
    std::string rows = given("target");
    std::ranges::replace(rows, '/', '\n');
    give("target", rows.empty() ? kPattern : rows);
  } else if (config.fields().find("rule") && given("rule").empty()) {
    std::string table;
    const Random random(3, Purpose::kTrial);
    for (std::uint64_t i = 0; i < 512; ++i) table += random.coin(i) ? '1' : '0';
    give("table", table);
  }
  if (const std::string from = given("from"); !from.empty())
    config.set("from", model_to_start_from(from == "refined", folder));
  return config.make_objective();
}

struct Training {
  Training(const std::string& options, const ThreadPool& pool)
      : config(parse_options(options)), objective(make_objective(config)), trainer(*objective, config.train, pool) {}

  void train(std::uint64_t until) {
    trainer.run([until](const Trainer& t, bool) { return t.state().step < until; });
  }

  RunConfig config;
  std::unique_ptr<Objective> objective;
  Trainer trainer;
};

// Of a table's network only what lives, by id, however its shape is stored.
void hash_weights(Hasher& hash, const Training& run, std::span<const float> values, const SafetensorsFile& state) {
  const std::unique_ptr<Model> model = run.objective->snapshot(values, state);
  const auto* table = dynamic_cast<const TableModel*>(model.get());
  table ? hash_network(hash, table->network()) : hash_floats(hash, values);
}

void hash_run(Hasher& hash, const Training& run) {
  const TrainState& s = run.trainer.state();
  hash_weights(hash, run, run.objective->parameters().values(), run.objective->state());
  hash_weights(hash, run, s.best_values, s.best_state);
  for (const double value : {s.loss, s.last.score, s.last.loss, s.best.score, s.best.loss}) hash_number(hash, value);
  hash_ints(hash, s.step, s.best_step);
}

std::string hash_of(const Training& run) {
  Hasher hash;
  hash_run(hash, run);
  return hash.hex();
}

// Trains in one go, then again cut in two (a table while it grows, and while it is pruned), with a checkpoint carried
// over to a fresh trainer.
void hash_training(Hasher& hash, const std::string& options, const ThreadPool& pool) {
  Training whole(options, pool);
  const std::uint64_t steps = whole.trainer.options().steps;
  whole.train(steps);
  hash_run(hash, whole);
  for (const std::uint64_t cut : {steps * 2 / 5, steps * 7 / 10}) {
    Training first(options, pool), second(options, pool);
    first.train(cut);
    const std::vector<std::byte> checkpoint = make_checkpoint(first.trainer, {}).serialize();
    restore_checkpoint(second.trainer, SafetensorsFile::parse(checkpoint, "checkpoint"), {});
    second.train(steps);
    if (hash_of(second) != hash_of(whole))
      fail("signature", fmt::format("{} after step {} was resumed", hash_of(second), cut),
           fmt::format("{}, as of the unbroken run", hash_of(whole)), fmt::format("the run is {}", options));
  }
}

// What `train --from` begins with: weights of a quick training, or a circuit that a search has made of them.
std::string model_to_start_from(bool refined, const WorkFolder& folder) {
  Training run("checkerboard-small --train-steps 40 --lr 0.3 --refine 2000", calling_thread());
  run.train(40);
  std::unique_ptr<Model> model = run.trainer.best_model();
  if (refined) {
    const std::unique_ptr<Refinement> search = run.objective->refine(*model, 0, calling_thread());
    while (search->step(calling_thread())) {
    }
    model = search->model(calling_thread());
  }
  save_model(folder.file("from"), *model);
  return folder.file("from");
}

// Training, then a search such as it is made on the way, and the one at the end.
void hash_search(Hasher& hash, const std::string& options, const ThreadPool& pool) {
  Training run(options, pool);
  run.train(run.trainer.options().steps);
  const std::unique_ptr<Model> best = run.trainer.best_model();
  for (const std::uint64_t round : {1, 0}) {
    const std::unique_ptr<Refinement> search = run.objective->refine(*best, round, pool);
    while (search->step(pool)) {
    }
    const Evaluation evaluation = search->evaluate(pool);
    hash_number(hash, evaluation.score);
    hash_number(hash, evaluation.loss);
    hash_netlist(hash, dynamic_cast<const LatticeModel&>(*search->model(pool)).raw_cell());
  }
}

// At such a rate the straight-through end goes back to its best weights.
void hash_going_back(Hasher& hash, const ThreadPool& pool) {
  const char* options =
      "pattern --by training --target ##./.##/#.. --train-steps 60 --eval-every 2 --channels 4 --perceive 8,4,2 "
      "--update "
      "32x2,16,8,4 "
      "--steps 4 --lr 0.3 --straight-from 0.3 --start-logit 4 --gumbel-final 0 --until-solved false";
  hash_training(hash, options, pool);
  Training run(options, pool);
  run.train(60);
  if (run.trainer.state().returns == 0) fail("signature", "no return to the best weights", "one or more", options);
}

struct Trained {
  const char *name, *options;
};
struct TrainedGroup {
  const char *room, *options;  // for all rows
  std::vector<Trained> rows;
  void (*add_numbers)(Hasher& hash, const std::string& options, const ThreadPool& pool) = hash_training;
};

const std::vector<TrainedGroup>& trained_groups() {
  static const std::vector<TrainedGroup> groups{
      {"lattice",
       "checkerboard-small --train-steps 60 --eval-every 25 --lr 0.3",
       {{"plain", ""},
        {"odd-board", "--batch 3 --height 7 --width 9 --steps 6"},
        {"periodic", "--boundary periodic --batch 5 --height 5 --width 7"},
        {"random-wiring", "--wiring random"},
        {"perceive-8", "--perceive 8 --update 80,40,20,10,5,4"},
        {"perceive-8-4", "--perceive 8,4 --update 48,24,12,6,4"},
        {"perceive-8-4-2-1", "--perceive 8,4,2,1 --batch 3 --height 7 --width 5"},
        {"perceive-not-a-tree", "--perceive 8,8,4 --update 64,32,16,8,4 --height 5"},
        {"perceive-periodic-not-a-tree",
         "--perceive 8,5,3 --boundary periodic --kernels 3 --channels 3 --update 24,12,6,3"},
        {"asynchronous", "--fire-rate 0.6 --batch 3 --height 9"},
        {"asynchronous-periodic", "--fire-rate 0.6 --boundary periodic --width 11 --wiring random"},
        {"gumbel", "--gumbel 0.5 --gumbel-final 2 --gumbel-from 0.2 --start-logit 4"},
        {"straight-through", "--straight-from 0.4"},
        {"temperature", "--temperature 2 --temperature-final 0.3"},
        {"start-logit", "--start-logit 3"},
        {"accumulate", "--accumulate 3 --batch 1"},
        {"entries", "--parametrisation entries --gumbel 0.5 --start-logit 4"},
        {"walsh", "--parametrisation walsh --gumbel-final 0.5 --straight-from 0.7"},
        {"candidates", "--candidates 4"},
        {"candidates-noise", "--candidates 3 --start-wire-logit 2 --gumbel-final 1 --straight-from 0.7"},
        {"candidates-entries", "--candidates 8 --parametrisation entries --gumbel 0.5 --wiring random"},
        {"everything",
         "--fire-rate 0.7 --gumbel 1 --gumbel-final 0.2 --temperature-final 0.5 --straight-from 0.7 "
         "--accumulate 2 --start-logit 4 --boundary periodic --batch 3 --width 7"}}},
      {"lattice",
       "",
       {{"life", "life --train-steps 80 --batch 7 --lr 0.3"},
        {"life-candidates", "life --train-steps 50 --batch 7 --lr 0.3 --candidates 4"},
        {"life-random-wiring", "life --train-steps 50 --wiring random --lr 0.3 --start-logit 4"},
        {"checkerboard", "checkerboard --train-steps 4"},
        {"checkerboard-async", "checkerboard-async --train-steps 4 --height 9 --width 11 --steps 8"},
        {"lizard-whole", "lizard --by training --train-steps 4 --straight-from 0.7"},
        {"letter-whole", "letter --by training --train-steps 4 --seed 5"},
        {"lizard", "lizard --by training --train-steps 12 --lr 0.3 --channels 16 --update 64x3,32,16 --steps 6"},
        {"letter", "letter --by training --train-steps 12 --lr 0.3 --channels 12 --update 96x2,48,24,12 --steps 6"},
        {"pattern",
         "pattern --by training --train-steps 30 --lr 0.3 --channels 8 --update 64x2,32,16,8 --steps 5 --batch 3 "
         "--fire-rate 0.6"},
        {"pattern-seed",
         "pattern --by training --train-steps 30 --lr 0.3 --channels 5 --kernels 3 --update 40,20,10,5 --steps 5 "
         "--seed-row "
         "4 "
         "--seed-column 3 --boundary periodic"},
        {"pattern-pool",
         "pattern --by training --train-steps 40 --lr 0.3 --channels 8 --update 64x2,32,16,8 --steps 5 --batch 4 "
         "--pool 9 "
         "--pool-damage 2 "
         "--accumulate 2 --start-logit 4"},
        {"rule", "rule --rule B36/S23 --train-steps 50 --batch 7 --lr 0.3"},
        {"rule-table", "rule --train-steps 30 --lr 0.3"},
        {"boards",
         "boards --train-steps 30 --lr 0.3 --channels 4 --kernels 4 --steps 2 --update 64x2,32,16,8,4 --batch 5"},
        {"from", "checkerboard-small --from trained --train-steps 40 --lr 0.2"},
        {"from-refined", "checkerboard-small --from refined --train-steps 40 --lr 0.2"}}},
      {"search",
       "",
       {{"picture",
         "pattern --by training --target ##./.##/#.. --train-steps 4 --eval-every 2 --channels 4 --perceive 8,4,2 "
         "--update "
         "32x2,16,8,4 "
         "--steps 4 --refine 20000"},
        {"checkerboard", "checkerboard-small --train-steps 30 --lr 0.3 --refine 5000"},
        {"life", "life --train-steps 20 --lr 0.3 --refine 20000"}},
       hash_search},
      {"train",
       "checkerboard-small --train-steps 40 --eval-every 15 --steps 5 --lr 0.2",
       {{"adamw", "--beta1 0.8 --beta2 0.9 --epsilon 1e-5 --weight-decay 0.1 --clip-value 0"},
        {"sgd", "--optimizer sgd --lr 1 --weight-decay 0 --clip-value 0"},
        {"sgd-momentum", "--optimizer sgd --momentum 0.9 --lr 0.3 --weight-decay 0.02"},
        {"clip-value", "--optimizer sgd --clip-value 0.05 --lr 2"},
        {"clip-norm", "--optimizer sgd --momentum 0.5 --clip-norm 0.1 --lr 2"},
        {"clip-both", "--clip-norm 0.3 --clip-value 0.02"},
        {"schedule-step", "--schedule step --lr-step 4 --lr-gamma 0.7"},
        {"schedule-cosine", "--schedule cosine --lr-final 0.1"},
        {"warmup", "--warmup 6"},
        {"warmup-cosine", "--warmup 4 --schedule cosine --optimizer sgd --momentum 0.9 --lr 1"},
        {"patience", "--patience 2 --eval-every 1 --lr 1e-6"},
        // Several chunks of the flat passes.
        {"many-weights", "--train-steps 4 --channels 8 --update 512x3,256,128,64,32,16,8 --clip-norm 0.1"}}},
      {"table",
       "table --train-steps 150 --eval-every 40 --impute true --target kind --hidden 9",
       {{"classify", ""},
        {"regress", "--target value --hidden 7,5 --weight-decay 0"},
        {"grow", "--grow 6 --weight-decay 0.5 --activation sigmoid"},
        {"prune", "--prune 60 --density 0.7 --activation relu"},
        {"grow-and-prune", "--grow 5 --prune 50 --target value --activation leaky-relu --eval-every 7"},
        {"scaled", "--fan-in-scaling true --grow 4 --prune 40 --no-skip true"},
        {"sgd", "--optimizer sgd --momentum 0.9 --lr 0.05 --clip-norm 0.5 --weight-decay 0.01 --batch-size 13"},
        {"linear", "--activation linear --accumulate 2 --target value"},
        {"no-skip", "--hidden 3 --no-skip true --test-fraction 0.5 --warmup 10"}}},
      {"simplify",
       "simplify --train-steps 20 --eval-every 8 --train-examples 120 --validation-examples 20 --test-examples 0 "
       "--deep-examples 0 --depth 3 --features 12 --batch-size 48",
       {{"mean", ""},
        {"share", "--share true --depth 4 --features 17"},
        {"sum", "--aggregation sum --norm none --activation tanh"},
        {"max", "--aggregation max --activation leaky-relu --layers 2"},
        {"linear", "--norm none --activation linear --layers 1 --optimizer sgd --lr 0.05"},
        {"no-layers", "--layers 0 --accumulate 2"},
        {"whole", "--train-examples 600 --depth 5 --features 48 --batch-size 128 --seed 7"}}},
      {"reference",
       "",
       {{"lattice", "checkerboard-small --reference true --train-steps 5 --batch 1 --steps 3 --height 5 --lr 0.3"},
        {"lattice-async",
         "checkerboard-small --reference true --train-steps 5 --batch 2 --steps 2 --height 3 --fire-rate 0.6 "
         "--gumbel 1 --straight-from 0.5 --boundary periodic --wiring random --perceive 8,8,4"},
        {"life", "life --reference true --train-steps 3 --batch 2"},
        {"life-walsh", "life --reference true --train-steps 3 --batch 2 --parametrisation walsh"},
        {"life-candidates", "life --reference true --train-steps 3 --batch 2 --candidates 3 --gumbel 1"},
        {"pattern",
         "pattern --by training --reference true --train-steps 5 --lr 0.5 --channels 4 --kernels 2 --update 12,8,4 "
         "--steps "
         "3"},
        {"table", "table --reference true --train-steps 20 --impute true --target kind --hidden 5 --grow 2 --prune 30"},
        {"simplify",
         "simplify --reference true --train-steps 2 --train-examples 30 --validation-examples 10 "
         "--test-examples 0 --deep-examples 0 --depth 3 --features 8 --batch-size 10"}}}};
  return groups;
}

// --- What a trained cell becomes.

// Steps so large that soon many gates are others than at the start; whether they make sense does not matter.
std::unique_ptr<Model> trained(const ThreadPool& pool, const std::string& task) {
  Training run(task + " --train-steps 200 --eval-every 200 --lr 0.3", pool);
  run.train(200);
  return run.objective->snapshot(run.objective->parameters().values(), run.objective->state());
}

LatticeModel trained_model(const ThreadPool& pool, const std::string& task = "checkerboard-small") {
  return dynamic_cast<const LatticeModel&>(*trained(pool, task));
}

// Every way a board can be run: boundaries, asynchronous cells, random resets, and a rectangle dead for a while.
std::vector<SimulatorOptions> simulations() {
  std::vector<SimulatorOptions> list;
  for (const bool periodic : {true, false})
    for (const double fire_rate : {1.0, 0.6})
      for (const std::size_t reset : {0, 5}) list.push_back({periodic, fire_rate, 3, {{4, 9, 7, 12, 2, 9}}, reset});
  return list;
}

void hash_hard_rollouts(Hasher& hash, const ThreadPool& pool) {
  const LatticeModel model = trained_model(pool);
  const Netlist cell = harden_folded(model.automaton(), model.parameters().values());
  BoardBatch start(77, 6, 11, model.channels());
  const Random random(5, Purpose::kTrial);
  const auto each_bit = [&](const auto& visit) {
    for (int n = 0; n < static_cast<int>(start.boards()); ++n)
      for (int y = 0; y < static_cast<int>(start.height()); ++y)
        for (int x = 0; x < static_cast<int>(start.width()); ++x)
          for (int c = 0; c < start.channels(); ++c) visit(n, y, x, c);
  };
  std::uint64_t draw = 0;
  each_bit([&](int n, int y, int x, int c) { start.set(n, y, x, c, random.coin(draw++)); });
  for (const bool periodic : {true, false})
    for (const double rate : {1.0, 0.6}) {
      const BoardBatch fire = draw_fire(start, 9, rate, 7, 1);
      BoardBatch end = start;
      BatchSimulator(cell, {.periodic = periodic, .fire = rate < 1 ? &fire : nullptr}).run(end, 9, pool);
      each_bit([&](int n, int y, int x, int c) { hash_ints(hash, end.get(n, y, x, c)); });
    }
}

void hash_steppers(Hasher& hash, const ThreadPool& pool) {
  const LatticeModel model = trained_model(pool);
  const BoardState start = model.start(23, 70, 11);
  for (const SimulatorOptions& options : simulations())
    for (const bool soft : {false, true}) {
      const auto stepper = make_stepper(model, start, options, soft);
      for (const std::uint64_t steps : {1, 11}) {
        stepper->advance(steps, pool);
        hash_floats(hash, stepper->state().values);
      }
    }
}

void hash_trials(Hasher& hash, const ThreadPool& pool) {
  for (const Trial& trial : run_trials(trained_model(pool), {.seed = 2, .reset_steps = 50}, pool))
    hash_number(hash, trial.score);
}

void hash_circuits(Hasher& hash, const ThreadPool& pool) {
  SimplifyOptions options;
  options.resubstitute_options.walks = 5;
  for (const char* task : {"checkerboard-small", "life"}) {  // too many inputs for complete tables, and few enough
    const LatticeModel model = trained_model(pool, task);
    hash_netlist(hash, model.raw_cell());
    hash_netlist(hash, model.quick_cell());
    hash_netlist(hash, simplify(model.raw_cell(), options));
  }
}

// What is built around a cell so that its picture stays, heals, or needs no common step.
void hash_kept(Hasher& hash, const ThreadPool&) {
  Netlist cell = empty_cell(1);
  cell.add_output("next0", cell.add_gate(Gate::kXor, 1, 3));
  for (const Wrapper wrapper : {Wrapper::kPersist, Wrapper::kHeal, Wrapper::kAsync})
    hash_netlist(hash, wrapped_cell(cell, {wrapper, 3, 5, 5, 2, 2}, 0));
}

void hash_all_wirings(Hasher& hash, const ThreadPool&) {
  const Random random(1, Purpose::kWiring);
  hash_wirings(hash, {moore_wiring(random), unique_wiring(40, 20, random), unique_wiring(40, 300, random),
                      random_wiring(40, 20, random), random_wiring(40, 300, random), random_wiring(40, 7, random)});
  for (const WiringKind kind : {WiringKind::kUnique, WiringKind::kRandom}) {
    const Automaton automaton({3, 5, {8, 4, 2}, {32, 16, 8, 4, 3}, kind, Boundary::kZero}, 9);
    hash_wirings(hash, automaton.perceive().layers());
    hash_wirings(hash, automaton.update().layers());
  }
}

void hash_candidates(Hasher& hash, const ThreadPool&) {
  const Automaton automaton(
      {.channels = 3, .kernels = 5, .update = {32, 16, 8, 4, 3}, .wiring = WiringKind::kUnique, .candidates = 6}, 9);
  for (const Wiring& w : automaton.update().layers())
    for (const std::int32_t candidate : w.candidates) hash_ints(hash, candidate);
}

}  // namespace

std::string signature(const ThreadPool& pool, const SignatureWatcher& watcher, const std::string& filter) {
  Hasher all;
  bool found = false;
  const auto add = [&](const std::string& name, const auto& add_numbers) {
    if (name.find(filter) == std::string::npos) return;
    found = true;
    Hasher hash;
    add_numbers(hash, pool);
    all.add(hash.hex());
    watcher(name, hash.hex());
  };
  add("lattice/wiring", hash_all_wirings);
  for (const TrainedGroup& group : trained_groups())
    for (const Trained& row : group.rows)
      add(fmt::format("{}/{}", group.room, row.name), [&](Hasher& hash, const ThreadPool& p) {
        group.add_numbers(hash, fmt::format("{} {}", group.options, row.options), p);
      });
  for (const SignatureCase& c : graph_signature_cases()) add(c.name, c.add_numbers);
  add("hard/rollout", hash_hard_rollouts);
  add("hard/steppers", hash_steppers);
  add("hard/trials", hash_trials);
  add("hard/circuit", hash_circuits);
  add("hard/kept", hash_kept);
  add("lattice/goes-back", hash_going_back);
  add("lattice/candidate-wiring", hash_candidates);
  if (!found) fail("signature", fmt::format("the filter \"{}\"", filter), "a part of a case's name");
  return all.hex();
}

}  // namespace espalier
