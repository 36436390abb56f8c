// A picture grown from one living cell or from nothing; shown at the last step, or kept from there on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "models/lattice/cell_wrapper.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/lattice/rollout_score.hpp"
#include "models/lattice/trials.hpp"

namespace espalier {
namespace {

constexpr std::array<const char*, 4> kWrapperNames{"nothing", "persist", "heal", "async"};

class PictureGoal : public LatticeGoal {
 public:
  PictureGoal(const Pattern& target, int seed_row, int seed_column, Wrapper wrapper, bool pooled)
      : target_(target), seed_row_(seed_row), seed_column_(seed_column), wrapper_(wrapper), pooled_(pooled) {}
  std::string kind() const override { return "picture"; }
  std::string name() const override { return fmt::format("picture of {} x {}", target_.height, target_.width); }
  int loss_channels() const override { return target_.channels; }

  void fit(RolloutOptions& r, int channels, bool periodic) const override {
    if (r.height == 0) r.height = target_.height;
    if (r.width == 0) r.width = target_.width;
    check_size("picture", r, target_.height, target_.width);
    check_channels("picture", channels, target_.channels);
    if (seed_row_ >= r.height || seed_column_ >= r.width)
      fail("picture", fmt::format("a seed at ({}, {})", seed_row_, seed_column_),
           fmt::format("a cell of the {} x {} grid, or -1 for none", r.height, r.width));
    if ((seed_row_ < 0) != (seed_column_ < 0))
      fail("picture", fmt::format("a seed at ({}, {})", seed_row_, seed_column_),
           "both a row and a column, or -1 for both");
    if (wrapper_ == Wrapper::kAsync && seed_row_ < 0)
      fail("picture", "asynchronous growth out of nothing", "a seed, which tells cells apart",
           "give the options \"seed-row\" and \"seed-column\", and a periodic boundary");
    // A larger picture takes longer: the cells in its middle hear of the rim, or of the seed, only then.
    // What is built needs some more, in which patterns tell cells apart.
    constexpr int kUsual = 15, kSpare = 4;
    if (r.steps == 0)
      r.steps = std::max(kUsual, std::min(farthest(r), least_steps(r, periodic)) + std::max(kSpare, farthest(r) / 4));
  }

  // A cell hears of the rim of a board with a zero boundary, and of the seed, from as far away as there were steps;
  // cells that have heard the same are in the same state.
  int least_steps(const RolloutOptions& r, bool periodic) const override {
    for (int steps = 1; steps <= farthest(r); ++steps) {
      std::map<std::array<int, 6>, std::vector<bool>> shown;
      bool told_apart = true;
      for (int y = 0; y < r.height && told_apart; ++y)
        for (int x = 0; x < r.width && told_apart; ++x) {
          std::vector<bool> wanted;
          for (int c = 0; c < target_.channels; ++c) wanted.push_back(target_.at(c, y, x));
          told_apart = shown.try_emplace(heard(r, periodic, y, x, steps), wanted).first->second == wanted;
        }
      if (told_apart) return steps;
    }
    return kNever;
  }

  LatticeData data(const RolloutOptions& r, int channels, std::uint64_t) const override {
    LatticeData data = on_board(r, channels, r.height, r.width);
    const std::size_t cells = static_cast<std::size_t>(r.height) * r.width;
    data.draw = [r, cells, row = seed_row_, column = seed_column_, bits = target_.bits](
                    std::uint64_t, std::span<float> initial, std::span<float> target) {
      for (std::size_t i = 0; i < initial.size(); ++i) {
        const auto cell = static_cast<int>(i % cells);
        initial[i] = cell / r.width == row && cell % r.width == column ? 1.0f : 0.0f;
      }
      for (std::size_t i = 0; i < target.size(); ++i) target[i] = bits[i % bits.size()];
    };
    return data;
  }

  JudgingBoards judging(const RolloutOptions& r, int channels, std::uint64_t, std::uint64_t) const override {
    LatticeData one = on_board(r, channels, r.height, r.width);
    return {std::move(one.validation), std::move(one.validation_target), "the one board there is"};
  }

  // The living cell in the same place relative to the middle as in training.
  BoardState start(const RolloutOptions& trained, int channels, int height, int width, std::uint64_t,
                   RowRange rows) const override {
    BoardState state(channels, rows.count, width);
    const int y = seed_row_ + (height - trained.height) / 2 - rows.first;
    const int x = seed_column_ + (width - trained.width) / 2;
    if (seed_row_ >= 0 && y >= 0 && y < rows.count && x >= 0 && x < width)
      for (int c = 0; c < channels; ++c) state.at(c, y, x) = 1;
    return state;
  }
  bool one_start() const override { return true; }
  // In the middle of the board.
  Board target(const RolloutOptions&, int height, int width) const override {
    if (height < target_.height || width < target_.width)
      fail("picture", fmt::format("a board of {} x {}", height, width),
           fmt::format("at least {} x {}, the picture's size", target_.height, target_.width));
    Board board(height, width, target_.channels);
    const int top = (height - target_.height) / 2, left = (width - target_.width) / 2;
    for (int c = 0; c < target_.channels; ++c)
      for (int y = 0; y < target_.height; ++y)
        for (int x = 0; x < target_.width; ++x) board.set(top + y, left + x, c, target_.at(c, y, x));
    return board;
  }
  // It is judged after its trained steps and need not last.
  BoardView view(const RolloutOptions& r) const override {
    return {r.height, r.width, static_cast<std::uint64_t>(r.steps)};
  }

  std::vector<Trial> trials(const LatticeModel& model, const TrialOptions& options,
                            const ThreadPool& pool) const override {
    const TrialRunner runner(model, options, pool);
    const auto steps = static_cast<std::uint64_t>(model.rollout().steps);
    std::vector<Trial> trials;
    if (runner.wanted("double")) trials.push_back(runner.undisturbed("double", stage(model, 2), steps));
    if (runner.wanted("larger")) trials.push_back(runner.undisturbed("larger", stage(model, 4), 4 * steps));
    if (pooled_) {
      for (const std::uint64_t times : {2, 3})
        if (const std::string name = fmt::format("at {} T", times); runner.wanted(name))
          trials.push_back(runner.undisturbed(name, stage(model, 1), times * steps));
      if (runner.wanted("mends")) trials.push_back(runner.heals("mends", stage(model, 1), steps, steps));
    }
    if ((pooled_ || wrapper_ != Wrapper::kNone) && runner.wanted("stays"))
      trials.push_back(runner.stays(stage(model, 1), steps));
    if ((pooled_ || wrapper_ == Wrapper::kHeal) && runner.wanted("heals"))
      trials.push_back(runner.heals("heals", stage(model, 1), steps,
                                    2 * static_cast<std::uint64_t>(target_.height + target_.width) + 2 * steps));
    if (wrapper_ == Wrapper::kAsync && runner.wanted("stays, asynchronous"))
      trials.push_back(runner.stays_asynchronous(stage(model, 1), steps));
    // What heals needs time for the way across the board.
    const auto way = static_cast<std::uint64_t>(4 * (target_.height + target_.width));
    runner.add_damage_trials(trials, stage(model, 1), std::max(4 * steps, wrapper_ == Wrapper::kHeal ? way : 0));
    return trials;
  }

  // What grows from a cell does so on any board; what grows from the rim does not. A cell that knows its place on one
  // board is not asked for it.
  std::vector<std::string> demands() const override {
    return seed_row_ < 0 || wrapper_ == Wrapper::kHeal ? std::vector<std::string>()
                                                       : std::vector<std::string>{"double"};
  }
  // Nothing comes round a board of 2 T + 2 cells in T steps, so what grows there grows alike on every larger one.
  std::vector<LatticeData> larger(const RolloutOptions& r, int channels) const override {
    if (demands().empty()) return {};
    const auto side = [&](int trained, int picture) {
      return std::min(2 * picture, std::max(trained + 2, 2 * r.steps + 2));
    };
    std::vector<LatticeData> boards;
    boards.push_back(on_board(r, channels, side(r.height, target_.height), side(r.width, target_.width)));
    return boards;
  }
  std::vector<std::string> kept() const override {
    switch (wrapper_) {
      case Wrapper::kNone: return {};
      case Wrapper::kPersist: return {"stays"};
      case Wrapper::kHeal: return {"stays", "heals"};
      case Wrapper::kAsync: return {"stays", "stays, asynchronous"};
    }
    return {};
  }
  Netlist finished(const Netlist& cell, const RolloutOptions& trained, int channels) const override {
    const std::vector<int> needed = needed_channels(cell, loss_channels(), 0);
    return wrapped_cell(
        narrow_cell(cell, needed),
        {wrapper_, trained.steps, trained.height, trained.width, seed_row_, seed_column_, loss_channels()}, channels);
  }

  void save(SafetensorsFile& file, std::uint64_t) const override {
    file.metadata["target"] = format_pattern(target_);
    file.metadata["goal.seed-row"] = std::to_string(seed_row_);
    file.metadata["goal.seed-column"] = std::to_string(seed_column_);
    if (pooled_) file.metadata["goal.pool"] = "true";
    if (wrapper_ != Wrapper::kNone) file.metadata["goal.keep"] = kWrapperNames[static_cast<std::size_t>(wrapper_)];
  }

 private:
  static int farthest(const RolloutOptions& r) { return std::max(r.height, r.width); }
  // How far the four sides and the seed lie, 0 for what is too far.
  std::array<int, 6> heard(const RolloutOptions& r, bool periodic, int y, int x, int steps) const {
    const auto near = [&](int distance) { return !periodic && distance <= steps ? distance : 0; };
    std::array<int, 6> heard{near(y + 1), near(x + 1), near(r.height - y), near(r.width - x), 0, 0};
    if (seed_row_ < 0) return heard;
    const auto offset = [&](int from, int to, int side) {
      const int way = from - to;
      if (!periodic) return way;
      return way > side / 2 ? way - side : way < -(side - 1) / 2 ? way + side : way;
    };
    const int down = offset(y, seed_row_, r.height), right = offset(x, seed_column_, r.width);
    if (std::max(std::abs(down), std::abs(right)) <= steps) heard[4] = down + r.height, heard[5] = right + r.width;
    return heard;
  }
  LatticeData on_board(const RolloutOptions& r, int channels, int height, int width) const {
    LatticeData data{BoardBatch(1, height, width, channels), BoardBatch(1, height, width, target_.channels)};
    const BoardState from = start(r, channels, height, width, 0, {0, height});
    const Board to = target(r, height, width);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) data.validation.set(0, y, x, c, from.at(c, y, x) > 0.5f);
        for (int c = 0; c < target_.channels; ++c) data.validation_target.set(0, y, x, c, to.get(y, x, c));
      }
    return data;
  }
  // The picture in the middle of a larger board.
  TrialStage stage(const LatticeModel& model, int factor) const {
    const int h = target_.height * factor, w = target_.width * factor;
    TrialStage stage{Board(h, w, model.channels()), target(model.rollout(), h, w)};
    const BoardState start = model.start(h, w, 0);
    for (int c = 0; c < model.channels(); ++c)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) stage.start.set(y, x, c, start.at(c, y, x) > 0.5f);
    return stage;
  }

  Pattern target_;
  int seed_row_, seed_column_;
  Wrapper wrapper_;
  bool pooled_;
};

int stored_number(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.meta(key);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || value < -1 || value > 1'000'000)
    fail("load model", fmt::format("\"{}\" as {}", text, key), "a number");
  return static_cast<int>(value);
}

}  // namespace

std::shared_ptr<const LatticeGoal> picture_goal(const Pattern& target, int seed_row, int seed_column, Wrapper wrapper,
                                                bool pooled) {
  return std::make_shared<PictureGoal>(target, seed_row, seed_column, wrapper, pooled);
}

std::shared_ptr<const LatticeGoal> load_picture(const SafetensorsFile& file) {
  Wrapper wrapper = Wrapper::kNone;
  if (const auto found = file.metadata.find("goal.keep"); found != file.metadata.end()) {
    const auto name = std::ranges::find_if(kWrapperNames, [&](const char* n) { return found->second == n; });
    if (name == kWrapperNames.end())
      fail("load model", fmt::format("a picture with \"{}\" as goal.keep", found->second), "persist, heal or async",
           "the file was made by a newer version");
    wrapper = static_cast<Wrapper>(name - kWrapperNames.begin());
  }
  return picture_goal(parse_pattern(file.meta("target"), "the model's target"), stored_number(file, "goal.seed-row"),
                      stored_number(file, "goal.seed-column"), wrapper, file.metadata.contains("goal.pool"));
}

}  // namespace espalier
