// What ranks are built on, without mpirun: shares, sums of slots, agreement, bands of boards, and weights that differ.
#include <gtest/gtest.h>

#include <cstring>

#include "base/rank_bytes.hpp"
#include "espalier/error.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/parameters.hpp"
#include "espalier/random.hpp"
#include "espalier/run.hpp"
#include "espalier/simulator.hpp"
#include "runs/thread_ranks.hpp"

namespace espalier {
namespace {

TEST(RankShares, CoverEveryItemOnceInWholeUnits) {
  for (std::size_t items = 0; items < 40; ++items)
    for (const std::size_t unit : {1, 2, 8})
      for (int size = 1; size < 10; ++size) {
        std::size_t at = 0;
        for (int r = 0; r < size; ++r) {
          const RankShare share = share_of(items, unit, r, size);
          EXPECT_EQ(share.begin, at);
          EXPECT_TRUE(share.begin % unit == 0 || share.begin == items);
          at = share.end;
        }
        EXPECT_EQ(at, items);
      }
}

// Signed zeros, huge and tiny numbers: any other order or association would show.
TEST(RankSlots, TheTotalIsTheOneOfASingleProcessToTheBit) {
  constexpr std::size_t kFloats = 300;
  for (const std::size_t count : {2, 3, 5, 8, 11, 16, 24, 32})
    for (const std::size_t unit : {1, 2, 4}) {
      const auto fill = [&](GradientSlots& slots, std::size_t begin, std::size_t end) {
        const Random random(7, Purpose::kData, static_cast<std::uint32_t>(count));
        for (std::size_t s = begin; s < end; ++s)
          for (std::size_t i = 0; i < kFloats; ++i) {
            const std::uint64_t key = s * kFloats + i;
            const float x = random.normal(2 * key) * std::exp(5 * random.normal(2 * key + 1));
            slots.slot(s)[i] = i % 7 == 0 ? -0.0f : i % 5 == 0 ? 0.0f : x;
          }
      };
      GradientSlots all(count, kFloats);
      fill(all, 0, count);
      std::vector<float> wanted(kFloats, 0.5f);
      all.add_to(wanted);
      for (const int size : {2, 3, 4, 7, 8})
        as_ranks(size, [&](Ranks& ranks) {
          ThreadPool pool(1);
          pool.join(&ranks);
          GradientSlots slots(count, kFloats);
          const GradientSlots::Share own = slots.share(pool, unit);
          fill(slots, own.begin, own.end);
          std::vector<float> total(kFloats, 0.5f);
          slots.add_shared(total, own, pool);
          EXPECT_EQ(std::memcmp(total.data(), wanted.data(), kFloats * sizeof(float)), 0)
              << count << " slots in " << unit << "s over " << size << " ranks";
        });
    }
}

TEST(RankGatherings, AreThereWhenTheyAreFinishedWhateverComesBetween) {
  as_ranks(3, [](Ranks& ranks) {
    std::vector<int> all(3), wanted{10, 11, 12};
    all[static_cast<std::size_t>(ranks.rank())] = 10 + ranks.rank();
    const std::uint64_t before = ranks.bytes_sent();
    const auto gathering =
        ranks.begin_gather(std::as_writable_bytes(std::span(all)), share_starts(3, 1, 3, sizeof(int)));
    EXPECT_EQ(ranks.bytes_sent() - before, 2 * sizeof(int));
    EXPECT_EQ(ranks.all_gather(2 * ranks.rank()), (std::vector<int>{0, 2, 4}));
    gathering->finish();
    EXPECT_EQ(all, wanted);
  });
}

// Whole boards of a batch over ranks, the last states travelling during the backward pass.
TEST(RankRollouts, LossAndGradientsAreThoseOfOneProcess) {
  const Automaton automaton({4, 2, {8, 4, 2}, {32, 16, 8, 4}, WiringKind::kUnique, Boundary::kPeriodic}, 3);
  constexpr int kBatch = 7, kCells = 6 * 9;
  std::vector<float> boards(kBatch * 4 * kCells), target(kBatch * 2 * kCells);
  const Random random(5, Purpose::kData);
  for (std::size_t i = 0; i < boards.size(); ++i) boards[i] = random.uniform(i) < 0.5f ? 0.0f : 1.0f;
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = random.uniform(1'000'000 + i);
  struct Result {
    double loss;
    std::vector<float> gradients;
    std::vector<std::uint8_t> last;
    bool operator==(const Result&) const = default;
  };
  const auto result = [&](const ThreadPool& pool) {
    Parameters parameters;
    automaton.add_parameters(parameters, 2);
    Rollout rollout(automaton, {.batch = kBatch, .height = 6, .width = 9, .steps = 5, .fire_rate = 0.7f});
    rollout.soften(parameters.values(), {}, pool);
    Result r;
    ForwardPass pass;
    for (int again = 0; again < 2; ++again) {  // one loss is begun and never ended
      pass = rollout.forward(boards, 1, 2, pool);
      rollout.begin_loss(target, 2, pool);
    }
    rollout.backward(pass, pool);
    r.loss = rollout.end_loss(pool);
    rollout.add_gradients(parameters.gradients(), pool);
    r.last = rollout.last_bits(pool);
    r.gradients.assign(parameters.gradients().begin(), parameters.gradients().end());
    return r;
  };
  const Result alone = result(calling_thread());
  for (const int size : {2, 3, 8})
    as_ranks(size, [&](Ranks& ranks) {
      ThreadPool pool(1);
      pool.join(&ranks);
      EXPECT_TRUE(result(pool) == alone) << "rank " << ranks.rank() << " of " << size;
    });
}

// Boards that go on from step to step are the same on every rank, whichever has run them.
TEST(RankRollouts, APoolOfBoardsIsThatOfOneProcess) {
  const RunConfig config = configure("letter", {{"by", "training"},
                                                {"channels", "12"},
                                                {"update", "96,48,24,12"},
                                                {"steps", "3"},
                                                {"batch", "5"},
                                                {"pool", "8"},
                                                {"pool-damage", "2"},
                                                {"accumulate", "2"},
                                                {"start-logit", "3"},
                                                {"lr", "0.3"}});
  const auto result = [&](const ThreadPool& pool) {
    const auto objective = config.make_objective();
    Trainer trainer(*objective, config.train, pool);
    for (int step = 0; step < 6; ++step) trainer.step();
    return objective->parameters().hash() + objective->state().tensors_hash();
  };
  const std::string alone = result(calling_thread());
  for (const int size : {2, 3, 8})
    as_ranks(size, [&](Ranks& ranks) {
      ThreadPool pool(1);
      pool.join(&ranks);
      EXPECT_EQ(result(pool), alone) << "rank " << ranks.rank() << " of " << size;
      EXPECT_TRUE(ranks.any(ranks.bytes_sent() > 0));
    });
}

TEST(RankAgreement, TheOneThatDiffersFromMostIsNamed) {
  as_ranks(4, [](Ranks& ranks) {
    ranks.check_same("data", "equal");
    try {
      ranks.check_same("data", ranks.rank() == 0 ? "other" : "equal");
      ADD_FAILURE() << "no error on rank " << ranks.rank();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("a difference in the data on rank 0 (host0)"), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(ranks.any(ranks.rank() == 3));
    EXPECT_FALSE(ranks.any(false));
  });
}

// As if memory were broken: a rank that learns faster has other weights after the first step.
TEST(RankAgreement, WeightsThatDifferStopTheRunAndNameStepRankAndHost) {
  as_ranks(3, [](Ranks& ranks) {
    RunOptions options;
    options.ranks = &ranks;
    options.check_ranks = true;
    espalier::Run run = espalier::Run::create(
        configure("checkerboard-small",
                  {{"seeds", "1"}, {"train-steps", "3"}, {"lr", ranks.rank() == 2 ? "0.5" : "0.01"}}),
        options);
    ThreadPool pool(1);
    try {
      run.train(pool);
      ADD_FAILURE() << "no error on rank " << ranks.rank();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("weights after step 1"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 2 (host2)"), std::string::npos) << error.what();
    }
  });
}

TEST(RankBands, AreTheBoardOfOneProcess) {
  Netlist cell;  // of two channels, with every neighbour in it
  for (int p = 0; p < 18; ++p) cell.add_input("p" + std::to_string(p));
  auto all = cell.add_gate(Gate::kXor, 0, 1);
  for (int p = 2; p < 18; ++p) all = cell.add_gate(p % 3 ? Gate::kXor : Gate::kOr, all, static_cast<std::uint32_t>(p));
  cell.add_output("a", all);
  cell.add_output("b", cell.add_gate(Gate::kAnd, 1, 16));
  for (const bool periodic : {true, false})
    for (const double rate : {1.0, 0.7}) {
      SimulatorOptions options;
      options.periodic = periodic;
      options.fire_rate = rate;
      options.random_reset = 4;
      options.dead = {{8, 30, 9, 50, 2, 6}};
      Board whole(23, 130, 2);
      whole.randomize(5);
      Simulator(cell, 23, 130, options).run(whole, 12);
      for (const int size : {2, 3, 8})
        as_ranks(size, [&](Ranks& ranks) {
          SimulatorOptions own = options;
          own.ranks = &ranks;
          Simulator simulator(cell, 23, 130, own);
          Board band(simulator.rows(), 130, 2);
          band.randomize(5, simulator.first_row(), 23);
          simulator.run(band, 12);
          for (int c = 0; c < 2; ++c)
            for (std::size_t y = 0; y < band.height(); ++y)
              EXPECT_TRUE(std::equal(band.row(y, c), band.row(y, c) + 3, whole.row(simulator.first_row() + y, c)));
        });
    }
}

}  // namespace
}  // namespace espalier
