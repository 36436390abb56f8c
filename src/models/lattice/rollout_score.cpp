#include "models/lattice/rollout_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "espalier/error.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/repair_cell.hpp"
#include "models/lattice/trials.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

constexpr std::size_t kSampleBoards = 8;
constexpr std::uint64_t kSampleBatch = 1u << 31;  // numbers of mini-batches that no training uses
// Boards under resets: how many, how long the parent runs on them before its mutants do, and how long these.
constexpr std::size_t kResetBoards = 2, kResetWarm = 64, kResetSteps = 32;
constexpr std::size_t kResetEvery = 4, kResetSide = 10;  // steps between two squares, as often as on a larger board
constexpr std::size_t kJudgeEvery = 4;
constexpr std::uint32_t kHardWeight = 64;  // of a wrong bit on boards that are to be right, against one under resets

// Two boards of words, one read and one written; a rim of one cell around each plane.
class LaneBoards {
 public:
  LaneBoards(const RolloutShape& shape, std::size_t words)
      : shape_(shape), words_(words), row_((shape.width + 2) * words), plane_((shape.height + 2) * row_) {
    for (auto& board : boards_) board.resize(shape.channels * plane_);
  }

  SimPlaces places() const {
    const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(8 * n); };
    SimPlaces result;
    for (int p = 0; p < kPatch; ++p)
      for (std::size_t c = 0; c < shape_.channels; ++c)
        result.inputs.push_back(
            {SimPlace::kBoard, bytes(c * plane_) + (p / 3 - 1) * bytes(row_) + (p % 3 - 1) * bytes(words_)});
    for (std::size_t c = 0; c < shape_.channels; ++c) result.outputs.push_back({SimPlace::kNext, bytes(c * plane_)});
    return result;
  }

  // The same bits in every lane.
  void start(const std::uint8_t* bits) {
    for (std::size_t c = 0; c < shape_.channels; ++c)
      for (std::size_t y = 0; y < shape_.height; ++y)
        for (std::size_t x = 0; x < shape_.width; ++x)
          std::fill_n(now() + at(c, y, x), words_, *bits++ ? ~std::uint64_t{0} : 0);
  }

  void step(LaneEngine& engine, const std::uint8_t* fire) {
    if (shape_.periodic) wrap();
    for (std::size_t y = 0; y < shape_.height; ++y) {
      if (!fire) {
        engine.run(now() + at(0, y, 0), next() + at(0, y, 0), shape_.width);
        continue;
      }
      // Cells that do not fire are not computed at all.
      for (std::size_t x = 0; x < shape_.width;) {
        std::size_t end = x;
        while (end < shape_.width && fire[y * shape_.width + end]) ++end;
        if (end > x) engine.run(now() + at(0, y, x), next() + at(0, y, x), end - x);
        for (x = end; x < shape_.width && !fire[y * shape_.width + x]; ++x)
          for (std::size_t c = 0; c < shape_.channels; ++c)
            std::copy_n(now() + at(c, y, x), words_, next() + at(c, y, x));
      }
    }
    present_ ^= 1;
  }

  void count_wrong(const std::uint8_t* target, const BoardSquare& unjudged, LaneCounter& counter) const {
    for (std::size_t c = 0; c < shape_.judged; ++c)
      for (std::size_t y = 0; y < shape_.height; ++y)
        for (std::size_t x = 0; x < shape_.width; ++x, ++target)
          if (!unjudged.holds(y, x)) counter.add(boards_[present_].data() + at(c, y, x), *target != 0);
  }

  void clear(const BoardSquare& d) {
    for (std::size_t c = 0; c < shape_.channels; ++c)
      for (std::size_t y = d.top; y < d.top + d.height; ++y) std::fill_n(now() + at(c, y, d.left), words_ * d.width, 0);
  }

 private:
  std::uint64_t* now() { return boards_[present_].data(); }
  std::uint64_t* next() { return boards_[present_ ^ 1].data(); }
  std::size_t at(std::size_t c, std::size_t y, std::size_t x) const {
    return c * plane_ + (y + 1) * row_ + (x + 1) * words_;
  }
  void wrap() {
    for (std::size_t c = 0; c < shape_.channels; ++c) {
      std::uint64_t* plane = now() + c * plane_;
      for (std::size_t y = 1; y <= shape_.height; ++y) {
        std::uint64_t* row = plane + y * row_;
        std::copy_n(row + shape_.width * words_, words_, row);
        std::copy_n(row + words_, words_, row + (shape_.width + 1) * words_);
      }
      std::copy_n(plane + shape_.height * row_, row_, plane);
      std::copy_n(plane + row_, row_, plane + (shape_.height + 1) * row_);
    }
  }

  RolloutShape shape_;
  std::size_t words_, row_, plane_;
  AlignedVector<std::uint64_t> boards_[2];  // [C][H + 2][W + 2][words]
  int present_ = 0;
};

}  // namespace

void score_lanes(const RolloutStage& stage, const Netlist& parent, const MutantGroup& group, const LaneOptions& options,
                 std::span<std::uint32_t, kLanes> wrong) {
  const auto& [shape, examples] = stage;
  const std::size_t words = lane_words(options);
  LaneBoards boards(shape, words);
  const SimPlaces places = boards.places();
  for (std::size_t first = 0; first < kLaneWords; first += words) {
    LaneEngine engine(parent, group, first, places, options);
    LaneCounter counter(words);
    for (std::size_t n = 0; n < examples.count; ++n) {
      const RolloutExamples::Damage damage =
          examples.damage.empty() ? RolloutExamples::Damage{.steps = shape.steps} : examples.damage[n];
      const std::uint8_t* const target = &examples.target[n * shape.judged * shape.cells()];
      boards.start(&examples.start[n * shape.channels * shape.cells()]);
      for (std::size_t t = 0; t < damage.steps; ++t) {
        if (t < damage.until) boards.clear(damage.square);
        boards.step(engine, examples.fire.empty() ? nullptr : &examples.fire[(n * shape.steps + t) * shape.cells()]);
        if (examples.resets.empty()) continue;
        boards.clear(examples.resets[n * shape.steps + t]);
        if (2 * t > shape.steps && t % kJudgeEvery == 0) boards.count_wrong(target, {}, counter);
      }
      const bool hidden = damage.until >= damage.steps;
      boards.count_wrong(target, hidden ? damage.square : BoardSquare{}, counter);
    }
    for (std::size_t lane = 0; lane < 64 * words; ++lane) wrong[64 * first + lane] = counter.count(lane);
  }
}

// --- Channels.

std::vector<int> needed_channels(const Netlist& cell, int judged, int spare) {
  const int C = cell_channels(cell);
  std::vector<char> needed(static_cast<std::size_t>(C)), live(cell.nets());
  std::vector<Net> stack;
  const auto need = [&](Net net) {
    if (!live[net]) live[net] = 1, stack.push_back(net);
  };
  const auto need_channel = [&](int c) {
    if (std::exchange(needed[static_cast<std::size_t>(c)], 1) == 0) need(cell.outputs[static_cast<std::size_t>(c)].net);
  };
  for (int c = 0; c < judged; ++c) need_channel(c);
  while (!stack.empty()) {
    const Net net = stack.back();
    stack.pop_back();
    if (cell.is_input(net)) {
      need_channel(static_cast<int>(net) % C);
    } else {
      const NetlistGate& g = cell.gate_of_net(net);
      if (reads_a(g.gate)) need(g.a);
      if (reads_b(g.gate)) need(g.b);
    }
  }
  std::vector<int> channels;
  for (int c = 0; c < C; ++c)
    if (needed[static_cast<std::size_t>(c)] || spare-- > 0) channels.push_back(c);
  return channels;
}

namespace {

// Channels [from] -> [to] of `all`; kNoNet where one is not there.
Netlist rename_channels(const Netlist& cell, int from_channels, const std::vector<int>& to, int to_channels) {
  Netlist result = empty_cell(to_channels);
  result.name = cell.name;
  const Net none = result.add_constant(false);
  std::vector<Net> net(cell.nets(), none);
  for (int p = 0; p < kPatch; ++p)
    for (int c = 0; c < from_channels; ++c)
      if (const int t = to[static_cast<std::size_t>(c)]; t >= 0)
        net[patch_net(p, c, from_channels)] = patch_net(p, t, to_channels);
  for (std::size_t g = 0; g < cell.gates.size(); ++g)
    net[cell.net_of_gate(g)] = result.add_gate(cell.gates[g].gate, net[cell.gates[g].a], net[cell.gates[g].b]);
  std::vector<Net> next(static_cast<std::size_t>(to_channels), none);
  for (int c = 0; c < from_channels; ++c)
    if (const int t = to[static_cast<std::size_t>(c)]; t >= 0)
      next[static_cast<std::size_t>(t)] = net[cell.outputs[static_cast<std::size_t>(c)].net];
  for (int c = 0; c < to_channels; ++c) result.add_output(fmt::format("next{}", c), next[static_cast<std::size_t>(c)]);
  return clean(result);
}

}  // namespace

Netlist narrow_cell(const Netlist& cell, const std::vector<int>& channels) {
  const int C = cell_channels(cell);
  std::vector<int> to(static_cast<std::size_t>(C), -1);
  for (std::size_t i = 0; i < channels.size(); ++i) to[static_cast<std::size_t>(channels[i])] = static_cast<int>(i);
  return rename_channels(cell, C, to, static_cast<int>(channels.size()));
}

Netlist widen_cell(const Netlist& cell, const std::vector<int>& channels, int all) {
  return rename_channels(cell, static_cast<int>(channels.size()), channels, all);
}

// --- A model's goal.

RolloutScore::RolloutScore(const LatticeGoal& goal, const RolloutOptions& rollout, int all_channels, bool periodic,
                           std::uint64_t seed, std::vector<int> channels, const LaneOptions& options, bool demands)
    : goal_(goal),
      rollout_(rollout),
      all_channels_(all_channels),
      seed_(seed),
      channels_(std::move(channels)),
      options_(options),
      data_(goal.data(rollout, all_channels, seed)) {
  constexpr std::size_t kFewBoards = 8;
  rollout_.fire_rate = static_cast<float>(goal.judged_fire_rate(rollout));
  damaged_ = goal.damaged() && rollout_.fire_rate >= 1;
  sampled_ =
      rollout_.fire_rate < 1 || goal.fits_a_part(seed) || (data_.validation.boards() > kFewBoards && rollout.steps > 1);
  validation_.push_back({narrowed(data_.validation), data_.validation_target});
  if (rollout_.fire_rate < 1)
    fire_ = std::make_unique<BoardBatch>(
        draw_fire(validation_[0].start, rollout.steps, rollout.fire_rate, seed, kValidationFireStep));
  if (demands && !sampled_)
    for (const LatticeData& larger : goal.larger(rollout, all_channels))
      validation_.push_back({narrowed(larger.validation), larger.validation_target});
  for (const Validation& v : validation_) stages_.push_back(stage_of(v, periodic));
  if (sampled_ && damaged_ && !goal.graded().empty())
    reset_target_ = goal.target(rollout, 2 * rollout.height, 2 * rollout.width);
  if (sampled_) draw_sample(0, SearchAim::kBits, {});
}

BoardBatch RolloutScore::narrowed(const BoardBatch& start) const {
  BoardBatch narrow(start.boards(), start.height(), start.width(), static_cast<int>(channels_.size()));
  for (std::size_t w = 0; w < start.words(); ++w)
    for (std::size_t y = 0; y < start.height(); ++y)
      for (std::size_t x = 0; x < start.width(); ++x)
        for (std::size_t c = 0; c < channels_.size(); ++c)
          narrow.set_word(w, y, x, static_cast<int>(c), start.word(w, y, x, channels_[c]));
  return narrow;
}

RolloutStage RolloutScore::stage_of(const Validation& v, bool periodic) const {
  RolloutStage stage;
  stage.shape = {v.start.height(),
                 v.start.width(),
                 static_cast<std::size_t>(rollout_.steps),
                 channels_.size(),
                 static_cast<std::size_t>(v.target.channels()),
                 periodic};
  if (sampled_) return stage;
  stage.examples.count = v.start.boards();
  const auto append = [](std::vector<std::uint8_t>& bits, const BoardBatch& boards, std::size_t n) {
    for (int c = 0; c < boards.channels(); ++c)
      for (std::size_t y = 0; y < boards.height(); ++y)
        for (std::size_t x = 0; x < boards.width(); ++x) bits.push_back(boards.get(n, y, x, c));
  };
  for (std::size_t n = 0; n < stage.examples.count; ++n) {
    append(stage.examples.start, v.start, n);
    append(stage.examples.target, v.target, n);
  }
  return stage;
}

void RolloutScore::draw_sample(std::uint64_t generation, SearchAim aim, const Netlist& parent) {
  if (!sampled_) return;
  const std::size_t batch = static_cast<std::size_t>(rollout_.batch), cells = shape().cells();
  const std::size_t draws = (kSampleBoards + batch - 1) / batch, all = static_cast<std::size_t>(all_channels_);
  std::vector<float> initial(batch * all * cells), target(batch * shape().judged * cells);
  RolloutExamples& examples = stages_[0].examples = {};
  examples.count = draws * batch;
  for (std::size_t d = 0; d < draws; ++d) {
    data_.draw(kSampleBatch + generation * draws + d, initial, target);
    for (std::size_t n = 0; n < batch; ++n)
      for (const int c : channels_)
        for (std::size_t i = 0; i < cells; ++i)
          examples.start.push_back(initial[(n * all + static_cast<std::size_t>(c)) * cells + i] > 0.5f);
    for (const float v : target) examples.target.push_back(v > 0.5f);
  }
  if (aim != SearchAim::kBits && damaged_) draw_damage(generation);
  resets_ = {};
  if (aim == SearchAim::kGrade && graded()) draw_resets(generation, parent);
  if (rollout_.fire_rate >= 1) return;
  const Random random(seed_, Purpose::kFire, static_cast<std::uint32_t>(kSampleBatch + generation));
  examples.fire.resize(examples.count * shape().steps * cells);
  for (std::size_t i = 0; i < examples.fire.size(); ++i) examples.fire[i] = random.uniform(i) < rollout_.fire_rate;
  if (aim == SearchAim::kFlaws && !damaged_ && goal_.draws_boards()) draw_failures(generation, parent);
}

// A circuit that is right on hundreds of boards and wrong on one in thousands has no wrong bit on a few fresh boards,
// and mutants could not tell what would be better: half of the sample are boards on which the parent fails, where there
// are such among thousands that nothing else sees.
void RolloutScore::draw_failures(std::uint64_t generation, const Netlist& parent) {
  const std::uint64_t draw = kFittingDraw + generation;
  const JudgingBoards drawn = goal_.judging(rollout_, all_channels_, seed_, draw);
  const BoardBatch fire = draw_fire_words(drawn.start, rollout_.steps, rollout_.fire_rate, seed_ ^ draw);
  const BoardBatch start = narrowed(drawn.start);
  BoardBatch boards = start;
  BatchSimulator(parent, {.periodic = shape().periodic, .fire = &fire})
      .run(boards, static_cast<std::uint64_t>(rollout_.steps));
  const std::size_t judged = shape().judged, width = shape().width, cells = shape().cells();
  const auto failing = [&](std::size_t word) {
    std::uint64_t differ = 0;
    for (std::size_t c = 0; c < judged; ++c)
      for (std::size_t i = 0; i < cells; ++i)
        differ |= boards.word(word, i / width, i % width, static_cast<int>(c)) ^
                  drawn.target.word(word, i / width, i % width, static_cast<int>(c));
    return differ;
  };
  RolloutExamples& examples = stages_[0].examples;
  std::size_t place = 0;
  const auto put = [&](std::vector<std::uint8_t>& bits, const BoardBatch& from, std::size_t n, std::size_t planes) {
    for (std::size_t c = 0; c < planes; ++c)
      for (std::size_t i = 0; i < cells; ++i)
        bits[(place * planes + c) * cells + i] = from.get(n, i / width, i % width, static_cast<int>(c));
  };
  for (std::size_t w = 0; w < start.words(); ++w)
    for (std::uint64_t fails = failing(w); fails && place < examples.count / 2; fails &= fails - 1, ++place) {
      const std::size_t n = 64 * w + static_cast<std::size_t>(std::countr_zero(fails));
      put(examples.start, start, n, shape().channels);
      put(examples.target, drawn.target, n, judged);
      put(examples.fire, fire, n, shape().steps);
    }
}

// Half of the boards have a dead square of up to half their side, and time to go round it or to heal.
void RolloutScore::draw_damage(std::uint64_t generation) {
  RolloutExamples& examples = stages_[0].examples;
  const RolloutShape& shape = stages_[0].shape;
  const Random random(seed_, Purpose::kDamage, static_cast<std::uint32_t>(generation));
  const std::size_t most = std::min(shape.height, shape.width) / 2;
  for (std::size_t n = 0; n < examples.count; ++n) {
    RolloutExamples::Damage& d = examples.damage.emplace_back();
    d.steps = shape.steps;
    if (n % 2 || most < 2) continue;
    d.steps = 2 * shape.steps;
    BoardSquare& s = d.square;
    s.height = s.width = 2 + random.choice(4 * n, most - 1);
    s.top = random.choice(4 * n + 1, shape.height - s.height + 1);
    s.left = random.choice(4 * n + 2, shape.width - s.width + 1);
    d.until = n % 4 ? shape.steps : d.steps;
    if (n % 4) d.steps = d.until + 2 * s.height;  // the time that the trial gives it
  }
}

// Boards of twice the size, as the parent leaves them after a while of resets: mutants begin where they would be in the
// middle of a long run, and a few steps show which of them lose less.
void RolloutScore::draw_resets(std::uint64_t generation, const Netlist& parent) {
  const std::size_t height = reset_target_->height(), width = reset_target_->width(), channels = channels_.size();
  const std::size_t side = std::min({kResetSide, height / 2, width / 2});
  resets_.shape = {height, width, kResetSteps, channels, shape().judged, shape().periodic};
  RolloutExamples& examples = resets_.examples;
  examples.count = kResetBoards;
  const auto append = [&](std::vector<std::uint8_t>& bits, const Board& board, std::size_t planes) {
    for (std::size_t c = 0; c < planes; ++c)
      for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x) bits.push_back(board.get(y, x, static_cast<int>(c)));
  };
  Simulator simulator(parent, height, width, {.periodic = shape().periodic});
  for (std::size_t n = 0; n < kResetBoards; ++n) {
    const std::uint64_t number = kSampleBatch + generation * kResetBoards + n;
    const Random random(seed_, Purpose::kDamage, static_cast<std::uint32_t>(number));
    const auto square = [&](std::size_t t) -> BoardSquare {
      if (t % kResetEvery) return {};
      return {random.choice(2 * t, height - side + 1), random.choice(2 * t + 1, width - side + 1), side, side};
    };
    Board board(height, width, static_cast<int>(channels));
    board.randomize(random.bits(0));
    for (std::size_t t = 0; t < kResetWarm; t += kResetEvery) {
      simulator.run(board, kResetEvery);
      const BoardSquare s = square(t);
      board.clear_rectangle(s.top, s.left, s.height, s.width);
    }
    append(examples.start, board, channels);
    append(examples.target, *reset_target_, shape().judged);
    for (std::size_t t = 0; t < kResetSteps; ++t) examples.resets.push_back(square(kResetWarm + t));
  }
}

void RolloutScore::score(const Netlist& parent, const MutantGroup& group,
                         std::span<std::uint32_t, kLanes> wrong) const {
  std::array<std::uint32_t, kLanes> of_stage;
  std::ranges::fill(wrong, 0);
  for (const RolloutStage& stage : stages_) {
    score_lanes(stage, parent, group, options_, of_stage);
    for (std::size_t lane = 0; lane < kLanes; ++lane) wrong[lane] += of_stage[lane];
  }
  if (!resets_.examples.count) return;
  score_lanes(resets_, parent, group, options_, of_stage);
  for (std::size_t lane = 0; lane < kLanes; ++lane) wrong[lane] = kHardWeight * wrong[lane] + of_stage[lane];
}

std::optional<Netlist> RolloutScore::repair(const Netlist& circuit, std::uint64_t seed) const {
  if (sampled_) return std::nullopt;
  return repair_cell(stages_, circuit, Random(seed, Purpose::kRefine, ~std::uint32_t{0}));
}

std::uint64_t RolloutScore::judge(const Netlist& circuit, const ThreadPool& pool) const {
  std::uint64_t wrong = 0;
  BatchSimulator simulator(circuit, {.periodic = shape().periodic, .fire = fire_.get()});
  for (const Validation& v : validation_) {
    BoardBatch boards = v.start;
    simulator.run(boards, static_cast<std::uint64_t>(rollout_.steps), pool);
    wrong += count_differences(boards, v.target);
  }
  return wrong;
}

}  // namespace espalier
