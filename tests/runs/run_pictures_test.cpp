// The pictures of a run say what its model is, and in one unit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decoded_gif.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/model.hpp"
#include "small_runs.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_chart_of(const std::string& folder, const std::string& how) {
  const LoadedModel loaded = load_model(folder);
  const auto& model = dynamic_cast<const LatticeModel&>(*loaded.model);
  const NetlistCounts cell = count_netlist(model.raw_cell());
  const GateCounts logits = model.count_gates();
  const auto gates = model.is_refined() ? static_cast<long>(cell.active) : logits.active;
  const std::string chart = read_text(folder + "/gates.svg");
  EXPECT_THAT(chart, HasSubstr(fmt::format("Gates {}: {} (wires: ", how, gates)));
  for (const char* none : {">A<", ">B<", ">TRUE<", ">FALSE<"}) EXPECT_THAT(chart, Not(HasSubstr(none)));
  const auto trained = logits.raw - logits.constants;
  for (const auto& [name, value] : model.facts())
    if (name == "gates") {
      EXPECT_EQ(std::get<std::int64_t>(value), model.is_refined() ? static_cast<long>(cell.gates()) : trained);
    }
}

TEST(RunPictures, AreOfTheCircuitThatSearchFoundAndSayThatItDid) {
  const TempFolder folder;
  ThreadPool pool(1);
  RunConfig config = small_picture(folder);
  config.train.steps = 4;
  TrainingRun::create(config, {.folder = folder / "trained"}).train(pool);
  config.set("refine", "200000");
  ASSERT_TRUE(TrainingRun::create(config, {.folder = folder / "searched"}).train(pool).best().solved);
  expect_chart_of(folder / "trained", "as trained");
  expect_chart_of(folder / "searched", "as found by search");
  const std::string trained = read_text(folder / "trained/loss.svg"),
                    searched = read_text(folder / "searched/loss.svg");
  EXPECT_THAT(trained, Not(HasSubstr("search over circuits")));
  EXPECT_THAT(searched, HasSubstr("search over circuits"));
  EXPECT_THAT(searched, HasSubstr("0 at the bottom"));  // which is what the search came to
}

// Every board of this task is the same, so a step over twice as many boards has the same loss per board.
TEST(RunPictures, ShowLossesPerBoardHoweverManyBatchesMakeAStep) {
  const TempFolder folder;
  ThreadPool pool(1);
  std::string first;
  for (const char* batches : {"1", "2", "4"}) {
    RunConfig config = steady_picture(folder, 1);
    config.set("eval-every", "1");
    config.set("accumulate", batches);
    const std::string out = folder / (std::string("run-") + batches);
    TrainingRun::create(config, {.folder = out}).train(pool);
    const std::string chart = read_text(out + "/loss.svg");
    if (first.empty()) first = chart;
    EXPECT_EQ(chart, first) << batches;
  }
}

TEST(RunPictures, GrowthIsHeldAndMarkedAtTheTrainedStep) {
  const TempFolder folder;
  ThreadPool pool(1);
  TrainingRun::create(steady_picture(folder, 1), {.folder = folder / "run"}).train(pool);
  const DecodedGif growth = decode_gif(read_bytes(folder / "run/growth.gif"));
  ASSERT_EQ(growth.frames.size(), 9u);  // twice the 4 steps that are trained, and the start
  EXPECT_EQ(growth.delays, (std::vector<int>{12, 12, 12, 12, 100, 12, 12, 12, 150}));
  for (const std::size_t frame : {std::size_t{0}, std::size_t{4}, std::size_t{8}}) {
    const Image& image = growth.frames[frame];
    const int strip = image.height - 1, middle = image.width / 2;
    EXPECT_EQ(image.at(strip, middle), (Rgb{255, 255, 255})) << frame;
    // Filled up to the step that is shown, in another colour beyond the mark.
    EXPECT_EQ(image.at(strip, 10) == image.at(strip, image.width - 10), frame == 0) << frame;
  }
  const Image &at_mark = growth.frames[4], &at_end = growth.frames[8];
  EXPECT_EQ(at_mark.at(at_mark.height - 1, 10), at_end.at(at_end.height - 1, 10));
  EXPECT_FALSE(at_mark.at(at_mark.height - 1, at_mark.width - 10) == at_end.at(at_end.height - 1, at_end.width - 10));
}

}  // namespace
}  // namespace espalier
