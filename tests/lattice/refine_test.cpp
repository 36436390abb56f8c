// Mutants of a cell in lanes against each simulated alone; models refined, saved, resumed and refused.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "espalier/error.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "models/lattice/refine_model.hpp"
#include "models/lattice/repair_cell.hpp"
#include "models/lattice/trials.hpp"
#include "netlist/cell.hpp"
#include "netlist/circuits.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr int kH = 6, kW = 7, kSteps = 5, kC = 3;

Netlist random_cell(std::uint64_t seed, int channels = kC) {
  Netlist cell = test::random_netlist(seed, 9 * channels, 60, channels, 60);
  for (int c = 0; c < channels; ++c) cell.outputs[static_cast<std::size_t>(c)].name = "next" + std::to_string(c);
  return cell;
}

MutantGroup some_mutants(const Netlist& cell) {
  MutantGroup group;
  const Random random(4, Purpose::kData);
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random.choice(draw++, n)); };
  for (std::uint32_t g = 0; g < cell.gates.size(); ++g) {
    group.moves.push_back({Move::At::kFunction, g, static_cast<Gate>(below(16)), 0});
    group.moves.push_back({Move::At::kPinA, g, static_cast<Gate>(below(16)), below(cell.net_of_gate(g))});
  }
  for (std::uint32_t o = 0; o < cell.outputs.size(); ++o)
    group.moves.push_back({Move::At::kOutput, o, Gate::kXor, below(cell.nets())});
  group.lanes.resize(group.moves.size());
  for (std::size_t lane = 1; lane < kLanes; ++lane)
    for (int k = 0; k < 4; ++k) group.give(below(group.moves.size()), lane);
  return group;
}

RolloutExamples some_boards(std::size_t count, bool fire) {
  const Random random(9, Purpose::kTrial);
  RolloutExamples examples;
  examples.count = count;
  std::uint64_t draw = 0;
  examples.start.resize(count * kC * kH * kW);
  examples.target.resize(count * kH * kW);
  if (fire) examples.fire.resize(count * kSteps * kH * kW);
  for (auto* bits : {&examples.start, &examples.target, &examples.fire})
    for (std::uint8_t& bit : *bits) bit = random.coin(draw++);
  return examples;
}

TEST(Refine, ALaneHasTheWrongBitsOfItsMutantSimulatedAlone) {
  for (const bool periodic : {false, true})
    for (const bool fire : {false, true}) {
      const RolloutShape shape{kH, kW, kSteps, kC, 1, periodic};
      const RolloutExamples examples = some_boards(3, fire);
      const Netlist cell = random_cell(periodic + 2 * fire);
      const MutantGroup group = some_mutants(cell);
      std::array<std::uint32_t, kLanes> wrong;
      score_lanes({shape, examples}, cell, group, {}, wrong);
      BoardBatch start(3, kH, kW, kC), wanted(3, kH, kW, 1), fires(3, kH, kW, kSteps);
      for (std::size_t n = 0; n < 3; ++n)
        for (std::size_t y = 0; y < kH; ++y)
          for (std::size_t x = 0; x < kW; ++x) {
            for (std::size_t c = 0; c < kC; ++c)
              start.set(n, y, x, static_cast<int>(c), examples.start[((n * kC + c) * kH + y) * kW + x]);
            wanted.set(n, y, x, 0, examples.target[(n * kH + y) * kW + x]);
            for (std::size_t t = 0; fire && t < kSteps; ++t)
              fires.set(n, y, x, static_cast<int>(t), examples.fire[((n * kSteps + t) * kH + y) * kW + x]);
          }
      for (std::size_t lane = 0; lane < kLanes; lane += 3) {
        BoardBatch boards = start;
        BatchSimulator(mutated(cell, group.of(lane)), {.periodic = periodic, .fire = fire ? &fires : nullptr})
            .run(boards, kSteps, calling_thread());
        ASSERT_EQ(wrong[lane], count_differences(boards, wanted)) << lane;
      }
      for (const int bits : {64, 128, 256, 512})
        for (const SimulatorEngine engine : {SimulatorEngine::kAuto, SimulatorEngine::kInterpreter}) {
          if (bits > widest_word() || (engine == SimulatorEngine::kAuto && bits < 256)) continue;
          std::array<std::uint32_t, kLanes> other;
          score_lanes({shape, examples}, cell, group, {engine, bits}, other);
          EXPECT_EQ(wrong, other) << bits;
        }
    }
}

TEST(Refine, BoardsUnderResetsAreJudgedInTheirSecondHalfAndAtTheEnd) {
  constexpr std::size_t kLong = 12;
  const RolloutShape shape{kH, kW, kLong, kC, 1, false};
  RolloutExamples examples = some_boards(2, false);
  for (std::size_t t = 0; t < 2 * kLong; ++t)
    examples.resets.push_back(t % 3 ? BoardSquare{t % 4, t % 5, 2, 2} : BoardSquare{});
  const Netlist cell = random_cell(5);
  const MutantGroup group = some_mutants(cell);
  std::array<std::uint32_t, kLanes> wrong;
  score_lanes({shape, examples}, cell, group, {}, wrong);
  for (std::size_t lane = 0; lane < kLanes; lane += 7) {
    std::uint32_t expected = 0;
    Simulator simulator(mutated(cell, group.of(lane)), kH, kW, {.periodic = false});
    for (std::size_t n = 0; n < 2; ++n) {
      Board board(kH, kW, kC);
      for (std::size_t i = 0; i < kC * kH * kW; ++i)
        board.set(i / kW % kH, i % kW, static_cast<int>(i / kW / kH), examples.start[n * kC * kH * kW + i]);
      for (std::size_t t = 0; t < kLong; ++t) {
        simulator.run(board, 1);
        const BoardSquare& s = examples.resets[n * kLong + t];
        board.clear_rectangle(s.top, s.left, s.height, s.width);
        if (t != 8 && t != kLong - 1) continue;
        for (std::size_t i = 0; i < kH * kW; ++i)
          expected += board.get(i / kW, i % kW, 0) != examples.target[n * kH * kW + i];
      }
    }
    ASSERT_EQ(wrong[lane], expected) << lane;
  }
}

TEST(Refine, ANarrowedCellWidenedAgainDoesTheSameToTheJudgedChannels) {
  const Netlist cell = random_cell(11, 6);
  const std::vector<int> channels = needed_channels(cell, 1, 0);
  const Netlist back = widen_cell(narrow_cell(cell, channels), channels, 6);
  Board one(20, 20, 6), other(20, 20, 6);
  one.randomize(1);
  other.randomize(1);
  Simulator(cell, 20, 20).run(one, 9, calling_thread());
  Simulator(back, 20, 20).run(other, 9, calling_thread());
  for (std::size_t y = 0; y < 20; ++y)
    for (std::size_t x = 0; x < 20; ++x) ASSERT_EQ(one.get(y, x, 0), other.get(y, x, 0));
}

Pattern some_picture() {
  Pattern picture{8, 9, 1, std::vector<std::uint8_t>(72)};
  const Random random(5, Purpose::kData);
  for (std::size_t i = 0; i < 72; ++i) picture.bits[i] = random.coin(i);
  return picture;
}

// Untrained: the weights are noise.
std::unique_ptr<LatticeModel> noise_model(std::shared_ptr<const LatticeGoal> goal, RolloutOptions rollout,
                                          int channels = 12, Boundary boundary = Boundary::kZero) {
  LatticeOptions options;
  std::vector<int> update{channels == 1 ? 16 : 48};
  while (update.back() > channels) update.push_back(std::max(channels, (update.back() + 1) / 2));
  options.automaton = {channels, 3, {8, 4, 2}, update, WiringKind::kUnique, boundary};
  options.rollout = rollout;
  LatticeObjective objective(options, std::move(goal), 3);
  const Random random(6, Purpose::kInit);
  std::uint64_t draw = 0;
  for (float& v : objective.parameters().values()) v = random.normal(draw++);
  auto model = objective.snapshot(objective.parameters().values(), {});
  return std::unique_ptr<LatticeModel>(dynamic_cast<LatticeModel*>(model.release()));
}
std::unique_ptr<LatticeModel> picture_model() {
  return noise_model(picture_goal(some_picture(), 4, 4), {1, 8, 9, 10, 1});
}

SearchState finish(ModelRefiner& refiner, const ThreadPool& pool) {
  while (!refiner.search().ended()) refiner.search().step(pool);
  return refiner.search().state();
}

TEST(Refine, APictureOfNoiseIsReachedExactlyFromAnUntrainedCircuit) {
  const auto model = picture_model();
  ModelRefiner refiner(*model, {.evaluations = 400'000, .patience = 10'000}, calling_thread());
  EXPECT_GT(refiner.before().wrong, 10u);
  EXPECT_EQ(finish(refiner, ThreadPool(2)).best_score.wrong, 0u);
  EXPECT_TRUE(run_trials(*refiner.best(), {}, calling_thread()).front().exact);
}

// What comes round a small periodic board is not there on a larger one: both are searched, and both are built right.
TEST(Refine, APictureFromOneCellIsReachedOnLargerBoardsToo) {
  const auto model = noise_model(picture_goal(some_picture(), 4, 4), {1, 8, 9, 8, 1}, 12, Boundary::kPeriodic);
  const SearchOptions options{.evaluations = 400'000, .patience = 10'000};
  ModelRefiner refiner(*model, options, calling_thread());
  EXPECT_EQ(finish(refiner, ThreadPool(2)).best_score.wrong, 0u);
  const std::vector<Trial> trials = run_trials(*refiner.best(), {.reset_steps = 1}, calling_thread());
  EXPECT_TRUE(trials[0].exact);
  EXPECT_EQ(trials[1].name, "double");
  EXPECT_TRUE(trials[1].exact);
  // A cell that was built for the small board alone fails: the test is about something.
  ModelRefiner small(*model, options, calling_thread(), {}, false);
  finish(small, ThreadPool(2));
  EXPECT_FALSE(run_trials(*small.best(), {.reset_steps = 1}, calling_thread())[1].exact);
}

TEST(Refine, EveryRuleIsReachedExactly) {
  const auto model =
      noise_model(rule_goal("B3/S23", parse_life_rule("B3/S23")), {1, 3, 3, 1, 1}, 1, Boundary::kPeriodic);
  ModelRefiner refiner(*model, {.evaluations = 100'000, .patience = 2000}, calling_thread());
  EXPECT_EQ(finish(refiner, ThreadPool(2)).best_score.wrong, 0u);
  for (const Trial& trial : run_trials(*refiner.best(), {}, calling_thread())) EXPECT_TRUE(trial.exact) << trial.name;
}

TEST(Refine, GivesTheSameModelForAnyNumberOfThreadsAlsoWithFreshBoards) {
  const Oversubscribe many;
  for (const float fire : {1.0f, 0.6f}) {
    const auto model = noise_model(checkerboard_goal(), {2, 8, 8, 6, fire}, 2, Boundary::kPeriodic);
    const SearchOptions options{.evaluations = 6000, .groups = 3};
    ModelRefiner first(*model, options, calling_thread());
    const SearchState one = finish(first, ThreadPool(1));
    for (const int threads : kThreadCounts) {
      ModelRefiner other(*model, options, calling_thread());
      const SearchState state = finish(other, ThreadPool(threads));
      EXPECT_EQ(state.parent, one.parent) << threads;
      EXPECT_EQ(state.best, one.best) << threads;
    }
  }
}

TEST(Refine, NeverMakesAModelWorse) {
  const auto model = noise_model(checkerboard_goal(), {2, 8, 8, 6, 1}, 4, Boundary::kPeriodic);
  ModelRefiner refiner(*model, {.evaluations = 5000}, calling_thread());
  finish(refiner, calling_thread());
  const auto wrong = [&](const LatticeModel& m) {  // on the boards that the search is judged by
    const LatticeData data = m.goal().data(m.rollout(), m.channels(), m.seed());
    return score_boards(m.quick_cell(), data.validation, data.validation_target, m.rollout().steps, true, nullptr,
                        calling_thread())
        .wrong_per_board;
  };
  EXPECT_LE(wrong(*refiner.best()), wrong(*model));
}

TEST(Refine, GoesOnFromItsFileWithTheSameBits) {
  const auto model = noise_model(checkerboard_goal(), {2, 8, 8, 6, 1}, 2, Boundary::kPeriodic);
  const SearchOptions options{.evaluations = 20'000, .shrink = 3000};
  ModelRefiner whole(*model, options, calling_thread());
  const SearchState wanted = finish(whole, calling_thread());
  ModelRefiner first(*model, options, calling_thread());
  for (int i = 0; i < 4; ++i) first.search().step(calling_thread());
  ModelRefiner second(*model, options, calling_thread());
  const TempFolder folder;
  write_safetensors(folder.path() + "/search", first.checkpoint());
  second.restore(read_safetensors(folder.path() + "/search"), calling_thread());
  const SearchState state = finish(second, calling_thread());
  EXPECT_EQ(state.parent, wanted.parent);
  EXPECT_EQ(state.best, wanted.best);
  EXPECT_EQ(state.evaluations, wanted.evaluations);
  EXPECT_EQ(state.best_score, wanted.best_score);

  const auto other = picture_model();
  ModelRefiner stranger(*other, options, calling_thread());
  EXPECT_THROW(stranger.restore(first.checkpoint(), calling_thread()), Error);
  // More mutants may follow; whatever else is different would lead to other bits.
  const auto goes_on = [&](auto change) {
    SearchOptions other_options = options;
    change(other_options);
    ModelRefiner another(*model, other_options, calling_thread());
    try {
      another.restore(first.checkpoint(), calling_thread());
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(goes_on([](SearchOptions& o) { o.evaluations = o.shrink = 30'000; }));
  EXPECT_FALSE(goes_on([](SearchOptions& o) { o.seed = 2; }));
  EXPECT_FALSE(goes_on([](SearchOptions& o) { o.groups = 3; }));
  EXPECT_FALSE(goes_on([](SearchOptions& o) { o.moves = 50; }));
  EXPECT_FALSE(goes_on([](SearchOptions& o) { o.room = 9; }));
  EXPECT_FALSE(goes_on([](SearchOptions& o) { o.gates_first = true; }));
}

// A checkerboard that comes from the west and the south, as one seed had found it.
std::unique_ptr<LatticeModel> solved_checkerboard() {
  constexpr int kChannels = 4;
  const auto at = [](int position, int channel) { return patch_net(position, channel, kChannels); };
  Netlist cell = empty_cell(kChannels);
  const Net none = cell.add_gate(Gate::kNor, at(0, 1), at(7, 2));
  const Net next = cell.add_gate(Gate::kOr, at(6, 1), none);
  cell.add_output("next0", next);
  cell.add_output("next1", at(6, 0));
  cell.add_output("next2", at(7, 0));
  cell.add_output("next3", cell.add_constant(false));
  return noise_model(checkerboard_goal(), {2, 8, 8, 12, 1}, kChannels)->refined(cell);
}

TEST(Refine, TrialsThatNoneCanPassAreImprovedWhileTheOthersStayExact) {
  const Oversubscribe many;
  const auto model = solved_checkerboard();
  const SearchOptions options{.evaluations = 1000, .improve = 40'000, .moves = 64};
  ModelRefiner refiner(*model, options, calling_thread());
  const SearchScore before = refiner.before();
  EXPECT_EQ(before.wrong + before.flaws, 0u);
  EXPECT_GT(before.grade, 0u);
  const SearchState one = finish(refiner, ThreadPool(1));
  EXPECT_GE(one.evaluations, options.improve);
  EXPECT_LT(one.best_score.grade, before.grade);
  const std::vector<Trial> trials = run_trials(*refiner.best(), {}, calling_thread());
  for (const std::size_t exact : {0, 1, 2, 3}) EXPECT_TRUE(trials[exact].exact) << trials[exact].name;
  EXPECT_EQ(trials[5].name, "resets");
  EXPECT_LT(trials[5].score, trials[5].limit);
  EXPECT_LT(trials[5].limit, 1);
  EXPECT_EQ(trials[3].limit, 1);

  for (const int threads : {2, 5}) {
    ModelRefiner other(*model, options, calling_thread());
    const SearchState state = finish(other, ThreadPool(threads));
    EXPECT_EQ(state.parent, one.parent) << threads;
    EXPECT_EQ(state.best, one.best) << threads;
  }
  ModelRefiner first(*model, options, calling_thread()), second(*model, options, calling_thread());
  for (int i = 0; i < 6; ++i) first.search().step(calling_thread());
  second.restore(first.checkpoint(), calling_thread());
  const SearchState state = finish(second, ThreadPool(2));
  EXPECT_EQ(state.parent, one.parent);
  EXPECT_EQ(state.best, one.best);
  EXPECT_EQ(state.best_score, one.best_score);
}

TEST(Refine, WhereTooMuchIsLostTheSearchBeginsAgainAndTheBestCircuitIsKept) {
  const Oversubscribe many;
  const auto model = solved_checkerboard();
  LatticeOptions options;
  options.automaton = model->automaton().options();
  options.rollout = model->rollout();
  options.refine = 1000;
  options.improve = 2000;  // far too few to learn anything
  const LatticeObjective objective(options, checkerboard_goal(), 3);
  ModelRefiner alone(*model, {.seed = 3, .evaluations = options.refine, .improve = options.improve}, calling_thread());
  const std::uint64_t mutants = finish(alone, calling_thread()).evaluations;
  const auto losses = [](const LatticeModel& m) {
    return trial_losses(m, m.goal().graded(), calling_thread(), {.runs = 4, .steps = 4000});
  };
  std::optional<Netlist> expected;
  for (const int threads : {1, 3}) {
    const ThreadPool pool(threads);
    const auto search = objective.refine(*model, 0, pool);
    for (std::uint64_t tried = 0; search->step(pool); tried = search->progress().done)
      EXPECT_GE(search->progress().done, tried);
    EXPECT_GE(search->progress().done, 3 * options.improve);
    EXPECT_GT(search->progress().done, mutants);
    const auto best = search->model(pool);
    const auto& found = dynamic_cast<const LatticeModel&>(*best);
    EXPECT_LE(losses(found), losses(*alone.best()));
    EXPECT_THAT(failed_trials(found, found.goal().demands(), kChoosingDraw, pool), testing::IsEmpty());
    if (!expected) expected = found.raw_cell();
    EXPECT_EQ(found.raw_cell(), *expected) << threads;
  }
}

TEST(Refine, ARefinedModelComesBackFromItsFileWithItsCircuit) {
  const auto model = picture_model();
  ModelRefiner refiner(*model, {.evaluations = 3000, .patience = 1000}, calling_thread());
  finish(refiner, calling_thread());
  const auto best = refiner.best();
  const TempFolder folder;
  ModelNotes notes{{"provenance", format_provenance(refiner.provenance())}};
  notes["refined.from"] = "somewhere";
  save_model(folder.path() + "/m", *best, notes);
  const LoadedModel loaded = load_model(folder.path() + "/m");
  const auto* back = dynamic_cast<const LatticeModel*>(loaded.model.get());
  ASSERT_NE(back, nullptr);
  EXPECT_TRUE(back->is_refined());
  EXPECT_EQ(back->raw_cell(), best->raw_cell());
  EXPECT_EQ(loaded.notes.at("refined.from"), "somewhere");
  EXPECT_EQ(model_file(*back).tensors_hash(), model_file(*best).tensors_hash());

  SafetensorsFile broken = model_file(*best);
  broken.tensors.at("cell.outputs").bytes[3] = std::byte{0x7f};  // a net that is not there
  EXPECT_THROW(load_model(broken, "broken"), Error);
  broken = model_file(*best);
  broken.tensors.at("cell.gates").bytes[0] = std::byte{99};
  EXPECT_THROW(load_model(broken, "broken"), Error);
  EXPECT_THROW(model->refined(random_cell(1)), Error);
}

}  // namespace
}  // namespace espalier
