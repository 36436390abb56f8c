// Runs whose files were damaged or whose data changed between two sessions: refused, or the same bits in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/life_rule.hpp"
#include "base/npz.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/message/simplify_data.hpp"
#include "runs/small_runs.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using Kind = RunEvent::Kind;
namespace fs = std::filesystem;

// A run that was stopped after 17 of 24 steps, with checkpoints after 15 and 17.
class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    ThreadPool pool(1);
    const RunConfig config = steady_picture(folder_, 24);
    whole_ = TrainingRun::create(config, {}).train(pool).best().weights_hash;
    stop_after(config, 17);
    now_ = read_text(file_);
    before_ = read_text(previous_);
    metrics_ = read_text(path_ + "/metrics.csv");
  }

  void stop_after(const RunConfig& config, std::uint64_t step) const {
    ThreadPool pool(1);
    TrainingRun run = TrainingRun::create(config, {.folder = path_, .force = true, .checkpoint_every = 5});
    run.listen([&](const RunEvent& event) {
      if (event.kind == Kind::kStep && event.trainer->state().step == step) run.control().stop();
    });
    run.train(pool);
  }

  // Without the patience of a real write, which waits for the disk. Never into the old file: the two checkpoints may be
  // two names of one.
  static void put(const std::string& path, std::string_view text) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << text;
  }

  // As the folder was.
  void put_back() const {
    put(file_, now_);
    put(previous_, before_);
    put(path_ + "/metrics.csv", metrics_);
  }

  struct Resumed {
    std::string hash, message, first_error;
    std::uint64_t began = 0;
  };
  Resumed resume() const {
    ThreadPool pool(1);
    Resumed result;
    try {
      TrainingRun run = TrainingRun::resume(path_);
      const Events events(run);
      result.hash = run.train(pool).best().weights_hash;
      for (const auto& seen : events.of(Kind::kMessage)) result.message += seen.text;
      result.began = events.of(Kind::kSeedStarted).at(0).step;
    } catch (const Error& error) {
      result.first_error = error.what();
      EXPECT_EQ(result.first_error.find('\n'), std::string::npos);
      EXPECT_LT(result.first_error.size(), 2000u);
    }
    return result;
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "run", file_ = path_ + "/checkpoint.safetensors",
                    previous_ = path_ + "/checkpoint-previous.safetensors";
  std::string whole_, now_, before_, metrics_;
};

TEST_F(DamageTest, UnharmedItGoesOnFromTheNewest) {
  const Resumed resumed = resume();
  EXPECT_EQ(resumed.hash, whole_);
  EXPECT_EQ(resumed.began, 17u);
  EXPECT_EQ(resumed.message, "");
}

TEST_F(DamageTest, AnyBitThatFlipsFallsBackToThePreviousCheckpoint) {
  const Random random(11, Purpose::kTrial);
  for (std::uint64_t i = 0; i < 100; ++i) {
    put_back();
    // Half of them in the header, which is a small part of the file.
    const std::size_t range = i % 2 ? now_.size() : std::min<std::size_t>(now_.size(), 3000);
    const std::size_t bit = random.choice(i, 8 * range);
    std::string flipped = now_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    put(file_, flipped);
    const Resumed resumed = resume();
    ASSERT_EQ(resumed.hash, whole_) << "bit " << bit << " " << resumed.first_error;
    EXPECT_EQ(resumed.began, 15u) << "bit " << bit << ": a damaged file was used";
    EXPECT_THAT(resumed.message, HasSubstr("checkpoint.safetensors cannot be used"));
    EXPECT_THAT(resumed.message, HasSubstr("step 15"));
  }
}

TEST_F(DamageTest, WithoutAPreviousOneAnyBitThatFlipsIsRefused) {
  const Random random(12, Purpose::kTrial);
  for (std::uint64_t i = 0; i < 300; ++i) {
    fs::remove(previous_);
    const std::size_t range = i % 2 ? now_.size() : std::min<std::size_t>(now_.size(), 3000);
    const std::size_t bit = random.choice(i, 8 * range);
    std::string flipped = now_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    put(file_, flipped);
    const Resumed resumed = resume();
    ASSERT_NE(resumed.first_error, "") << "bit " << bit;
    ASSERT_EQ(read_text(file_), flipped) << "what was refused was changed";
  }
}

TEST_F(DamageTest, CutFilesFallBackToo) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{100}, now_.size() / 2, now_.size() - 1}) {
    put_back();
    write_atomically(file_, std::string_view(now_).substr(0, length));
    const Resumed resumed = resume();
    EXPECT_EQ(resumed.hash, whole_) << length << resumed.first_error;
    EXPECT_THAT(resumed.message, HasSubstr("cannot be used"));
  }
}

TEST_F(DamageTest, BothDamagedIsRefusedAndBothAreKept) {
  write_atomically(file_, std::string_view(now_).substr(0, 50));
  write_atomically(previous_, std::string_view(before_).substr(0, 60));
  EXPECT_NE(resume().first_error, "");
  EXPECT_EQ(fs::file_size(file_), 50u);
  EXPECT_EQ(fs::file_size(previous_), 60u);
}

// After the fall the good checkpoint must not be overwritten by the damaged one before there is a new one.
TEST_F(DamageTest, KilledRightAfterTheFallNothingIsLost) {
  write_atomically(file_, std::string_view("damaged"));
  {
    ThreadPool pool(1);
    TrainingRun run = TrainingRun::resume(path_);
    run.listen([&](const RunEvent& event) {
      if (event.kind == Kind::kStep) throw std::runtime_error("as good as a kill");
    });
    EXPECT_THROW(run.train(pool), std::runtime_error);
  }
  const Resumed resumed = resume();
  EXPECT_EQ(resumed.hash, whole_) << resumed.first_error;
  EXPECT_EQ(resumed.began, 15u);
}

TEST_F(DamageTest, TheNewestMissingStartsFromWhatIsLeft) {
  fs::remove(file_);
  const Resumed resumed = resume();
  EXPECT_EQ(resumed.hash, whole_) << resumed.first_error;
  EXPECT_EQ(resumed.began, 15u);
  EXPECT_THAT(resumed.message, HasSubstr("missing"));
}

TEST_F(DamageTest, AnotherConfigIsRefused) {
  RunConfig other = steady_picture(folder_, 24);
  other.train.schedule.lr = 0.01;
  write_atomically(path_ + "/config.json", std::string_view(other.text()));
  EXPECT_THAT(resume().first_error, HasSubstr("config.json"));
  write_atomically(path_ + "/config.json", std::string_view("{broken"));
  EXPECT_THAT(resume().first_error, HasSubstr("config.json"));
}

TEST_F(DamageTest, MetricsThatAreAPipeOrRubbishDoNotHangIt) {
  fs::remove(path_ + "/metrics.csv");
  ASSERT_EQ(mkfifo((path_ + "/metrics.csv").c_str(), 0600), 0);
  EXPECT_THAT(resume().first_error, HasSubstr("metrics.csv"));
  fs::remove(path_ + "/metrics.csv");
  EXPECT_EQ(resume().hash, whole_) << "missing metrics are no reason to stop";
  put_back();
  write_atomically(path_ + "/metrics.csv", std::string_view("\xff\xfe no table\nof any kind\n,,,,"));
  EXPECT_EQ(resume().hash, whole_);
}

// --- Data that changed.

void expect_refused_after_change(const TempFolder& folder, const RunConfig& config, const std::string& file,
                                 const std::function<void()>& change) {
  const std::string path = folder / ("changed-" + config.task), good = read_text(file);
  ThreadPool pool(1);
  const std::string whole = TrainingRun::create(config, {}).train(pool).best().weights_hash;
  {
    TrainingRun run = TrainingRun::create(config, {.folder = path, .checkpoint_every = 1});
    run.listen([&](const RunEvent& event) {
      if (event.kind == Kind::kCheckpoint && event.trainer->state().step == 3) run.control().stop();
    });
    run.train(pool);
  }
  const std::string checkpoint = read_text(path + "/checkpoint.safetensors");
  change();
  const std::string message = message_of<Error>([&] { TrainingRun::resume(path).train(pool); });
  EXPECT_THAT(message, HasSubstr("changed")) << config.task;
  EXPECT_THAT(message, HasSubstr(file)) << config.task;
  EXPECT_EQ(read_text(path + "/checkpoint.safetensors"), checkpoint);
  fs::remove(file);
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::resume(path).train(pool); }), HasSubstr(file));
  write_atomically(file, std::string_view(good));
  EXPECT_EQ(TrainingRun::resume(path).train(pool).best().weights_hash, whole) << config.task;
}

TEST(ChangedData, ATargetIsRefusedByName) {
  const TempFolder folder;
  expect_refused_after_change(folder, steady_picture(folder, 8), folder / "target.txt",
                              [&] { write_atomically(folder / "target.txt", std::string_view("##.\n.##\n##.\n")); });
}

TEST(ChangedData, ATableIsRefusedByName) {
  const TempFolder folder;
  RunConfig config = small_table(folder);
  config.train.steps = 8;
  const std::string rows = read_text(folder / "rows.csv");
  expect_refused_after_change(folder, config, folder / "rows.csv",
                              [&] { write_atomically(folder / "rows.csv", std::string_view(rows + "8.7,red,b\n")); });
}

TEST(ChangedData, LinesOfExpressionsAreRefusedByName) {
  const TempFolder folder;
  const std::string file = folder / "lines.jsonl";
  SimplifyDataOptions options;
  options.train = 60;
  options.validation = options.test = options.deep = 0;
  options.depth = 3;
  const SimplifyData made = make_simplify_data(options, 1);
  std::string text;
  for (const Expression& e : made.train) text += simplify_line(e, made.words) + "\n";
  write_atomically(file, std::string_view(text));
  RunConfig config = small_simplify();
  config.set("data", file);
  config.set("train-steps", "8");
  config.set("batch-size", "16");
  expect_refused_after_change(folder, config, file, [&] {
    write_atomically(file, std::string_view(text).substr(0, text.rfind('\n', text.size() - 2) + 1));
  });
}

TEST(ChangedData, PairsOfBoardsAreRefusedByName) {
  const TempFolder folder;
  const std::string file = folder / "pairs.npz";
  std::vector<std::uint8_t> start(6 * 3 * 4), target(6 * 3 * 4);
  const Random random(1, Purpose::kData);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = random.coin(i);
  write_npz(file, {{"start", numpy_array({6, 3, 4}, start)}, {"target", numpy_array({6, 3, 4}, target)}});
  const RunConfig config = configure("boards", {{"data", file},
                                                {"channels", "2"},
                                                {"kernels", "4"},
                                                {"perceive", "8,4,2"},
                                                {"update", "16,8,4,2"},
                                                {"until-solved", "false"},
                                                {"train-steps", "8"}});
  expect_refused_after_change(folder, config, file, [&] {
    target[0] = 1;
    write_npz(file, {{"start", numpy_array({6, 3, 4}, start)}, {"target", numpy_array({6, 3, 4}, target)}});
  });
}

TEST(ChangedData, ARuleIsRefusedByName) {
  const TempFolder folder;
  const std::string file = folder / "rule.txt";
  RuleTable rule = parse_life_rule("B36/S23");
  write_atomically(file, std::string_view(format_rule_table(rule)));
  const RunConfig config = configure("rule", {{"table", file},
                                              {"perceive", "8,4,2,1"},
                                              {"update", "32,16,8,4,2,1"},
                                              {"until-solved", "false"},
                                              {"train-steps", "8"}});
  expect_refused_after_change(folder, config, file, [&] {
    rule[0] = 1;
    write_atomically(file, std::string_view(format_rule_table(rule)));
  });
}

}  // namespace
}  // namespace espalier
